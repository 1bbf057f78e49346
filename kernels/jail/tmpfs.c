/* tmpfs - memory with a size that looks like a folder. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>

#include "base/cleanup.h"
#include "jail/jail.h"

__attribute__((format(printf, 3, 0))) static int set_number(int fs, const char *name,
                                                            const char *format,
                                                            unsigned long long value,
                                                            struct err *err) {
    char text[32];
    snprintf(text, sizeof text, format, value);
    if (fsconfig(fs, FSCONFIG_SET_STRING, name, text, 0) < 0)
        return err_errno(err, errno, "tmpfs %s=%s", name, text);
    return 0;
}

static int set_limits(int fs, const struct jail_tmpfs *tmpfs, struct err *err) {
    int result = set_number(fs, "size", "%llu", tmpfs->size_bytes, err);
    return result < 0 ? result : set_number(fs, "nr_inodes", "%llu", tmpfs->inodes, err);
}

int jail_make_tmpfs(const struct jail_tmpfs *tmpfs, int *ret_fd, struct err *err) {
    cleanup_fd int fs = fsopen("tmpfs", FSOPEN_CLOEXEC);
    if (fs < 0)
        return err_errno(err, errno, "fsopen tmpfs");
    int result = set_limits(fs, tmpfs, err);
    if (result == 0)
        result = set_number(fs, "mode", "%llo", tmpfs->mode, err);
    if (result == 0)
        result = set_number(fs, "uid", "%llu", tmpfs->user, err);
    if (result == 0)
        result = set_number(fs, "gid", "%llu", tmpfs->group, err);
    if (result < 0)
        return result;
    if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return err_errno(err, errno, "create tmpfs");
    int fd = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    if (fd < 0)
        return err_errno(err, errno, "fsmount tmpfs");
    *ret_fd = fd;
    return 0;
}

int jail_resize_kept(const struct jail_kept *kept, const struct jail_tmpfs *tmpfs,
                     struct err *err) {
    cleanup_fd int fs = fspick(kept->fd, "", FSPICK_EMPTY_PATH | FSPICK_CLOEXEC);
    if (fs < 0)
        return err_errno(err, errno, "fspick tmpfs");
    int result = set_limits(fs, tmpfs, err);
    if (result < 0)
        return result;
    if (fsconfig(fs, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0) < 0)
        return err_errno(err, errno, "resize tmpfs");
    return 0;
}
