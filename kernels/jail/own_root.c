/* own_root - makes a chroot a root like any other. Its one complication: the "/" of a chroot is a
 * mere folder (or a mount that is not its namespace's first), so it has no propagation to change,
 * nothing can be pivoted there, and setns(2) to the caller's own namespace leads out of it. That
 * last is what finds it out here, and what makes the way back a descriptor or ".". */
#include "jail/own_root.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "jail/keep.h"

static int find_folder(int fd, struct statx *ret_info, struct err *err) {
    if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, ret_info) < 0)
        return err_errno(err, errno, "statx /");
    return 0;
}

static int go_to_first_root(struct err *err) {
    cleanup_fd int own = -1;
    int result = keeper_open_own(&own, err);
    if (result < 0)
        return result;
    /* A thread of a sanitizer's would keep setns from changing the root. */
    if (unshare(CLONE_FS) < 0 || setns(own, CLONE_NEWNS) < 0)
        return err_errno(err, errno, "enter the own mount namespace");
    return 0;
}

/* From "." in a new namespace: only what lies below it stays. */
static int pivot_here(struct err *err) {
    /* Not private: what is mounted in the chroot later is seen here too. */
    if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
        return err_errno(err, errno, "make / a slave");
    cleanup_fd int fd =
        open_tree(AT_FDCWD, ".", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
    if (fd < 0)
        return err_errno(err, errno, "clone the chroot");
    if (move_mount(fd, "", AT_FDCWD, ".", MOVE_MOUNT_F_EMPTY_PATH) < 0)
        return err_errno(err, errno, "bind the chroot to itself");
    if (fchdir(fd) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0)
        return err_errno(err, errno, "pivot_root");
    return chdir("/") < 0 ? err_errno(err, errno, "enter /") : 0;
}

int own_root_make(struct err *err) {
    struct statx own, first;
    cleanup_fd int fd = open("/", O_PATH | O_CLOEXEC);
    int result = find_folder(fd, &own, err);
    if (result == 0)
        result = go_to_first_root(err);
    cleanup_fd int first_fd = open("/", O_PATH | O_CLOEXEC);
    if (result == 0)
        result = find_folder(first_fd, &first, err);
    if (result < 0)
        return result;
    if (own.stx_mnt_id == first.stx_mnt_id && own.stx_ino == first.stx_ino)
        return 0;
    /* A working directory moves along into a new namespace, a descriptor does not. */
    if (fchdir(fd) < 0 || unshare(CLONE_NEWNS) < 0)
        return err_errno(err, errno, "unshare mounts");
    return pivot_here(err);
}
