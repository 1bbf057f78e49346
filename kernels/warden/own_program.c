/* own_program - see own_program.h. Its one complication: in a chroot /proc/self/exe is right only
 * until jail_prepare has moved the root, so it is asked once, before. */
#include "warden/own_program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U /* Linux 6.3; older kernels refuse it and need no word for it */
#endif

static char folder[PATH_MAX];

int own_program_find(struct err *err) {
    ssize_t size = readlink("/proc/self/exe", folder, sizeof folder - 1);
    if (size < 0)
        return err_errno(err, errno, "read /proc/self/exe");
    folder[size] = 0;
    *strrchr(folder, '/') = 0;
    return 0;
}

int own_program_open(const char *name, int *ret_fd, struct err *err) {
    cleanup_mem char *path = mem_format("%s/%s", folder, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(err, errno, "open %s", path);
    *ret_fd = fd;
    return 0;
}

static int create_memfd(const char *name) {
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
    return fd < 0 && errno == EINVAL ? memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING) : fd;
}

static int copy_file(int from, int to) {
    struct stat info;
    if (fstat(from, &info) < 0)
        return -errno;
    for (off_t left = info.st_size; left > 0;) {
        ssize_t count = sendfile(to, from, NULL, (size_t)left);
        if (count <= 0)
            return count < 0 ? -errno : -EIO;
        left -= count;
    }
    return 0;
}

int own_program_load(const char *name, int *ret_fd, struct err *err) {
    cleanup_fd int from = -1;
    int result = own_program_open(name, &from, err);
    if (result < 0)
        return result;
    cleanup_fd int fd = create_memfd(name);
    if (fd < 0)
        return err_errno(err, errno, "memfd_create");
    result = copy_file(from, fd);
    if (result < 0)
        return err_errno(err, -result, "copy %s", name);
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
        return err_errno(err, errno, "seal %s", name);
    *ret_fd = take_fd(&fd);
    return 0;
}
