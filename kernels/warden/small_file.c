#include "warden/small_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

int small_file_read(const char *path, size_t most, struct text *ret_text, struct err *err) {
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat info;
    if (fd < 0 || fstat(fd, &info) < 0)
        return err_errno(err, errno, "open %s", path);
    if (!S_ISREG(info.st_mode))
        return err_set(err, EINVAL, "%s is no regular file", path);
    char block[16384];
    ssize_t count;
    while ((count = read(fd, block, sizeof block)) > 0) {
        text_append(ret_text, slice_make(block, (size_t)count));
        if (ret_text->size > most)
            return err_set(err, EFBIG, "%s: more than %zu bytes", path, most);
    }
    return count < 0 ? err_errno(err, errno, "read %s", path) : 0;
}
