#include "jail/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

int control_write(int folder_fd, const char *path, const char *text) {
    cleanup_fd int fd = openat(folder_fd, path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

int control_read(int folder_fd, const char *path, char *ret_text, size_t size) {
    cleanup_fd int fd = openat(folder_fd, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    /* The kernel gives a page a call. */
    size_t all = 0;
    ssize_t count = 0;
    while (all < size - 1 && (count = read(fd, ret_text + all, size - 1 - all)) > 0)
        all += (size_t)count;
    ret_text[all] = 0;
    return count < 0 ? -errno : 0;
}

int control_read_number(int folder_fd, const char *path, uint64_t *ret_number) {
    char text[64];
    int result = control_read(folder_fd, path, text, sizeof text);
    if (result == 0)
        *ret_number = strtoull(text, NULL, 10);
    return result;
}

int control_read_key(int folder_fd, const char *path, const char *key, uint64_t *ret_number) {
    char text[CONTROL_TEXT_MAX], *rest = text;
    int result = control_read(folder_fd, path, text, sizeof text);
    if (result < 0)
        return result;
    size_t size = strlen(key);
    for (char *line; (line = strsep(&rest, "\n"));)
        if (strncmp(line, key, size) == 0 && line[size] == ' ') {
            *ret_number = strtoull(line + size, NULL, 10);
            return 0;
        }
    return -ENOENT;
}
