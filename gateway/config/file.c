/* file - a configuration file: NAME = VALUE lines, read by libinih. Lines come from a reader of our
 * own, because libinih tells a handler no line numbers and cuts long lines in silence. */
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <string.h>

#include "base/cleanup.h"
#include "config/loader.h"

enum { FILE_BYTES_MAX = 64 * 1024 };

struct reading {
    struct loader *loader;
    const char *path;
    const char *at; /* what is still to be read */
    int line;
    struct err err; /* code 0: none yet */
};

/* Like fgets; ends early once there is an error. */
static char *read_line(char *buffer, int size, void *stream) {
    struct reading *reading = stream;
    if (reading->err.code || !*reading->at)
        return NULL;
    const char *end = strchrnul(reading->at, '\n');
    size_t length = (size_t)(end - reading->at) + (*end == '\n');
    reading->line++;
    if (length >= (size_t)size) {
        err_set(&reading->err, EINVAL,
                "the line is longer than %d bytes (lists can be given in several lines)", size - 2);
        return NULL;
    }
    memcpy(buffer, reading->at, length);
    buffer[length] = 0;
    reading->at += length;
    return buffer;
}

static int check_section(const char *section, struct err *err) {
    if (!*section)
        return 0;
    if (strcmp(section, "data") == 0)
        return err_set(err, EINVAL,
                       "[data]: there are no sections; write data = NAME=/host/folder");
    return err_set(err, EINVAL, "[%.60s]: there is no such section; names stand without one",
                   section);
}

static int unknown_name(const char *name, struct err *err) {
    const struct param_row *near = param_nearest(name, NULL);
    return err_set(err, EINVAL, "there is no parameter %.60s%s%s%s", name,
                   near ? ", did you mean " : "", near ? near->name : "", near ? "?" : "");
}

static int put_value(struct reading *reading, const char *name, const char *value,
                     struct err *err) {
    const struct param_row *row = param_find(name);
    if (!row || strcmp(row->name, name) != 0)
        return unknown_name(name, err);
    if (strcmp(name, "config") == 0)
        return err_set(err, EINVAL, "config: a configuration file cannot name another");
    if (loader_has(reading->loader, row) && !row->type->is_list)
        return err_set(err, EINVAL, "%s: given twice", name);
    int r = loader_put(reading->loader, row, value, err);
    return r < 0 ? err_wrap(err, "%s", name) : 0;
}

/* libinih's handler: 0 is an error. */
static int on_value(void *context, const char *section, const char *name, const char *value) {
    struct reading *reading = context;
    if (reading->err.code)
        return 0;
    return check_section(section, &reading->err) == 0 &&
           put_value(reading, name, value, &reading->err) == 0;
}

static int parse(struct reading *reading, struct err *err) {
    int line = ini_parse_stream(read_line, reading, on_value, reading);
    if (line > 0 && (!reading->err.code || line < reading->line)) {
        reading->line = line;
        err_set(&reading->err, EINVAL, "the line is not NAME = VALUE");
    }
    if (!reading->err.code)
        return 0;
    *err = reading->err;
    return err_wrap(err, "%s, line %d", reading->path, reading->line);
}

static int read_whole(const char *path, char *buffer, size_t size, struct err *err) {
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(err, errno, "read %s", path);
    size_t used = 0;
    for (ssize_t got; used < size; used += (size_t)got) {
        got = read(fd, buffer + used, size - used);
        if (got < 0)
            return err_errno(err, errno, "read %s", path);
        if (got == 0)
            break;
    }
    if (used == size)
        return err_set(err, EFBIG, "%s is larger than %zu bytes", path, size - 1);
    buffer[used] = 0;
    if (strlen(buffer) != used)
        return err_set(err, EINVAL, "%s holds a NUL byte", path);
    return 0;
}

int loader_read_file(struct loader *loader, const char *path, struct err *err) {
    cleanup_mem char *buffer = mem_alloc(FILE_BYTES_MAX + 1);
    int r = read_whole(path, buffer, FILE_BYTES_MAX + 1, err);
    if (r < 0)
        return r;
    loader_begin_source(loader);
    struct reading reading = {.loader = loader, .path = path, .at = buffer};
    r = parse(&reading, err);
    explicit_bzero(buffer, FILE_BYTES_MAX + 1);
    return r;
}
