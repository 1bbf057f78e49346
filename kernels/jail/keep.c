/* keep - mounts of a session that outlive its trees. Before Linux 6.15 only what is attached in the
 * caller's own mount namespace can be cloned, so they are attached: in a namespace that holds
 * nothing else and that only the warden's descriptors keep alive. The warden steps into it for a
 * moment. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "jail/keep.h"

int keeper_open_own(int *ret_fd, struct err *err) {
    *ret_fd = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    return *ret_fd < 0 ? err_errno(err, errno, "open the mount namespace") : 0;
}

/* A warden that cannot go back would show its sessions the wrong files. */
static void go_home(const struct keeper *keeper) {
    if (setns(keeper->own_fd, CLONE_NEWNS) < 0)
        abort();
}

static int go_in(const struct keeper *keeper, struct err *err) {
    if (setns(keeper->fd, CLONE_NEWNS) < 0)
        return err_errno(err, errno, "enter the namespace of kept mounts");
    return 0;
}

/* In the new namespace: nothing of the host's stays in it. */
static int empty_it(struct err *err) {
    const struct jail_tmpfs root = {.size_bytes = 1ULL << 20, .inodes = 200000, .mode = 0700};
    cleanup_fd int fd = -1;
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return err_errno(err, errno, "make / private");
    int result = jail_make_tmpfs(&root, &fd, err);
    if (result < 0)
        return result;
    if (move_mount(fd, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0 || fchdir(fd) < 0 ||
        syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0)
        return err_errno(err, errno, "make the root of kept mounts");
    return 0;
}

int keeper_init(struct keeper *keeper, struct err *err) {
    cleanup_fd int own = -1, fd = -1;
    int result = keeper_open_own(&own, err);
    if (result < 0)
        return result;
    if (unshare(CLONE_NEWNS) < 0)
        return err_errno(err, errno, "unshare mounts");
    result = keeper_open_own(&fd, err);
    if (result == 0)
        result = empty_it(err);
    *keeper = (struct keeper){.fd = fd, .own_fd = own};
    go_home(keeper);
    if (result < 0)
        return result;
    take_fd(&own);
    take_fd(&fd);
    return 0;
}

void keeper_finish(struct keeper *keeper) {
    close(keeper->fd);
    close(keeper->own_fd);
}

static void name_of(unsigned number, char name[16]) {
    snprintf(name, 16, "/%u", number);
}

static int attach(int fd, unsigned number, struct err *err) {
    char name[16];
    name_of(number, name);
    if (mkdir(name, 0700) < 0)
        return err_errno(err, errno, "make a place for a kept mount");
    if (move_mount(fd, "", AT_FDCWD, name, MOVE_MOUNT_F_EMPTY_PATH) == 0)
        return 0;
    int code = errno;
    rmdir(name);
    return err_errno(err, code, "attach a kept mount");
}

int jail_keep_tmpfs(struct jail_prepared *prepared, const struct jail_tmpfs *tmpfs,
                    struct jail_kept *ret_kept, struct err *err) {
    struct keeper *keeper = jail_keeper(prepared);
    cleanup_fd int fd = -1;
    int result = jail_make_tmpfs(tmpfs, &fd, err);
    if (result == 0)
        result = go_in(keeper, err);
    if (result < 0)
        return result;
    unsigned number = ++keeper->last_number;
    result = attach(fd, number, err);
    go_home(keeper);
    if (result < 0)
        return result;
    *ret_kept = (struct jail_kept){.fd = take_fd(&fd), .number = number};
    return 0;
}

int jail_clone_kept(struct jail_prepared *prepared, const struct jail_kept *kept, int *ret_fd,
                    struct err *err) {
    const struct keeper *keeper = jail_keeper(prepared);
    int result = go_in(keeper, err);
    if (result < 0)
        return result;
    int clone = open_tree(kept->fd, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    int code = errno;
    go_home(keeper);
    if (clone < 0)
        return err_errno(err, code, "clone a kept mount");
    *ret_fd = clone;
    return 0;
}

void jail_drop_kept(struct jail_prepared *prepared, struct jail_kept *kept) {
    const struct keeper *keeper = jail_keeper(prepared);
    char name[16];
    if (kept->number == 0)
        return;
    close(kept->fd);
    name_of(kept->number, name);
    if (setns(keeper->fd, CLONE_NEWNS) < 0 || umount2(name, MNT_DETACH) < 0 || rmdir(name) < 0)
        abort(); /* it was attached there by us, and nobody else has the namespace */
    go_home(keeper);
    *kept = (struct jail_kept){0};
}
