/* handover - parameters in a sealed memfd: "name=value" strings, each with its NUL, one per row
 * that is not kept back. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "config/loader.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U /* Linux 6.3; not in glibc 2.36 */
#endif

enum { HANDOVER_BYTES_MAX = 1024 * 1024 };

/* vm.memfd_noexec may demand the flag that older kernels do not know. */
static int create_memfd(void) {
    unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int fd = memfd_create("cellblock-params", flags | MFD_NOEXEC_SEAL);
    return fd < 0 && errno == EINVAL ? memfd_create("cellblock-params", flags) : fd;
}

static int write_sealed(int fd, struct slice bytes, struct err *err) {
    for (size_t done = 0; done < bytes.size;) {
        ssize_t wrote = write(fd, bytes.data + done, bytes.size - done);
        if (wrote < 0)
            return err_errno(err, errno, "write the parameters");
        done += (size_t)wrote;
    }
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
        return err_errno(err, errno, "seal the parameters");
    return 0;
}

static bool is_handed_over(const struct param_row *row) {
    return row->name && !row->type->is_kept_back;
}

int params_write_fd(const struct params *params, int *ret_fd, struct err *err) {
    struct text records = {0};
    for (size_t i = 0; i < param_row_count; i++) {
        const struct param_row *row = &param_rows[i];
        if (!is_handed_over(row))
            continue;
        text_append_format(&records, "%s=", row->name);
        row->type->print(row, param_value(row, params), &records);
        text_append(&records, slice_make("", 1));
    }
    cleanup_fd int fd = create_memfd();
    int r = fd < 0 ? err_errno(err, errno, "make a memfd for the parameters")
                   : write_sealed(fd, text_slice(&records), err);
    explicit_bzero(records.data, records.size);
    text_finish(&records);
    if (r == 0)
        *ret_fd = take_fd(&fd);
    return r;
}

/* One record; moves *at behind it. */
static int put_record(struct loader *loader, const char **at, struct err *err) {
    const char *record = *at, *equals = strchr(record, '=');
    *at = record + strlen(record) + 1;
    if (!equals)
        return err_set(err, EPROTO, "parameters: \"%.60s\" is no record", record);
    cleanup_mem char *name = mem_copy_text(record, (size_t)(equals - record));
    const struct param_row *row = param_find(name);
    if (!row)
        return err_set(err, EPROTO, "parameters: there is none called %.60s", name);
    int r = loader_put(loader, row, equals + 1, err);
    return r < 0 ? err_wrap(err, "parameters: %s", name) : 0;
}

static int put_records(struct loader *loader, const char *at, const char *end, struct err *err) {
    while (at < end) {
        int r = put_record(loader, &at, err);
        if (r < 0)
            return r;
    }
    for (size_t i = 0; i < param_row_count; i++)
        if (is_handed_over(&param_rows[i]) && !loader->given[i])
            return err_set(err, EPROTO, "parameters: %s is missing", param_rows[i].name);
    return 0;
}

static int read_records(int fd, char *buffer, size_t size, struct params *ret_params,
                        struct err *err) {
    for (size_t done = 0; done < size;) {
        ssize_t got = pread(fd, buffer + done, size - done, (off_t)done);
        if (got <= 0)
            return err_errno(err, got < 0 ? errno : EPROTO, "read the parameters");
        done += (size_t)got;
    }
    struct loader loader;
    loader_init(&loader);
    int r = put_records(&loader, buffer, buffer + size, err);
    if (r == 0) {
        *ret_params = loader.params;
        loader.params = (struct params){0};
    }
    loader_finish(&loader);
    return r;
}

int params_read_fd(int fd, struct params *ret_params, struct err *err) {
    struct stat info;
    if (fstat(fd, &info) < 0)
        return err_errno(err, errno, "read the parameters");
    if (info.st_size < 0 || info.st_size > HANDOVER_BYTES_MAX)
        return err_set(err, EPROTO, "parameters: %lld bytes are too many", (long long)info.st_size);
    size_t size = (size_t)info.st_size;
    cleanup_mem char *buffer = mem_zalloc(size + 1, 1);
    int r = read_records(fd, buffer, size, ret_params, err);
    explicit_bzero(buffer, size);
    return r;
}
