/* cellblock-echo - a Jupyter kernel without an interpreter: the fixture of tests and benchmarks.
 * Usage: cellblock-echo CONNECTION_FILE. Its language is in docs/echo.md. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "base/cleanup.h"
#include "echo/kernel.h"
#include "report/report.h"

enum { FILE_MAX = 64 * 1024 }; /* bytes of a connection file */

static int read_file(const char *path, struct text *text, struct err *err) {
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(err, errno, "open");
    char buffer[4096];
    ssize_t size;
    while ((size = read(fd, buffer, sizeof buffer)) > 0 && text->size <= FILE_MAX)
        text_append(text, slice_make(buffer, (size_t)size));
    if (size < 0)
        return err_errno(err, errno, "read");
    return size > 0 ? err_set(err, EFBIG, "more than %d bytes", FILE_MAX) : 0;
}

static int read_connection(const char *path, struct connection *ret_connection, struct err *err) {
    cleanup_text struct text text = {0};
    int error = read_file(path, &text, err);
    if (!error)
        error = connection_read(text_slice(&text), ret_connection, err);
    return error ? err_wrap(err, "connection file %s", path) : 0;
}

static int fail(const struct err *err) {
    fprintf(stderr, "cellblock-echo: %s\n", err->text);
    return EXIT_FAILURE;
}

static int run_kernel(const struct connection *connection) {
    struct kernel kernel;
    struct err err = {0};
    int status = kernel_init(&kernel, connection, &err) ? fail(&err) : kernel_run(&kernel);
    kernel_finish(&kernel);
    return status;
}

static int run(int argc, char **argv) {
    if (argc != 2)
        return fail(&(struct err){EINVAL, "usage: cellblock-echo CONNECTION_FILE"});
    struct connection connection;
    struct err err = {0};
    if (read_connection(argv[1], &connection, &err))
        return fail(&err);
    int status = run_kernel(&connection);
    connection_finish(&connection);
    return status;
}

int main(int argc, char **argv) {
    const char *id = getenv("KERNEL_ID");
    report_begin("echo", id ? id : "-");
    json_set_alloc_funcs(mem_alloc, mem_free); /* counted with the rest */
    return report_end(run(argc, argv));
}
