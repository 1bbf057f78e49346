#include "warden/tls_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "warden/say.h"

void tls_files_init(struct tls_files *files) {
    for (int i = 0; i < TLS_FILES_MAX; i++)
        files->fds[i] = -1;
}

void tls_files_finish(struct tls_files *files) {
    for (int i = 0; i < TLS_FILES_MAX; i++)
        cleanup_fd_at(&files->fds[i]);
    tls_files_init(files);
}

/* A named pipe would never be opened, and a socket never end. */
static int open_file(const char *parameter, const char *path, int *ret_fd, struct err *err) {
    struct stat info;
    if (!*path)
        return 0;
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &info) < 0)
        return err_errno(err, errno, "%s: open %s", parameter, path);
    if (!S_ISREG(info.st_mode))
        return err_set(err, EINVAL, "%s: %s is no file", parameter, path);
    *ret_fd = take_fd(&fd);
    return 0;
}

int tls_files_open(struct tls_files *files, const struct params *params, struct err *err) {
    const struct {
        const char *parameter, *path;
    } rows[TLS_FILES_MAX] = {{"certfile", params->certfile},
                             {"keyfile", params->keyfile},
                             {"client_ca", params->client_ca}};
    int result = 0;
    for (int i = 0; result == 0 && i < TLS_FILES_MAX; i++)
        result = open_file(rows[i].parameter, rows[i].path, &files->fds[i], err);
    return result;
}

bool tls_files_open_again(struct tls_files *files, const struct params *params) {
    struct tls_files newer;
    struct err err;
    tls_files_init(&newer);
    if (tls_files_open(&newer, params, &err) < 0) {
        say("certificates stay as they were: %s", err.text);
        tls_files_finish(&newer);
        return false;
    }
    tls_files_finish(files);
    *files = newer;
    return true;
}

void tls_files_tell(const struct tls_files *files, struct outbox *outbox) {
    struct rpc_tls packet = {
        .head.kind = RPC_TLS, .has_key = files->fds[1] >= 0, .has_client_ca = files->fds[2] >= 0};
    int copies[TLS_FILES_MAX];
    size_t count = 0;
    if (files->fds[0] < 0)
        return;
    for (int i = 0; i < TLS_FILES_MAX; i++)
        if (files->fds[i] >= 0)
            copies[count++] = fcntl(files->fds[i], F_DUPFD_CLOEXEC, 0);
    outbox_put_take(outbox, &packet, (struct slice){0}, copies, count);
}
