/* root - the skeleton of the new root, a tmpfs, and the moment it becomes the root. Its one
 * complication: until then it is mounted on top of the old "/", which hides nothing, because a
 * process's root is the mount it was given, not what lies on it. So paths still mean the host's
 * files and the new root is reached by its descriptor. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jail/attach.h"
#include "jail/show.h"
#include "jail/steps.h"

static int make_skeleton(struct jail_build *build, struct err *err) {
    const struct jail_tmpfs skeleton = {.size_bytes = 16ULL << 20, .inodes = 16384, .mode = 0755};
    int result = jail_make_tmpfs(&skeleton, &build->root_fd, err);
    if (result < 0)
        return result;
    if (move_mount(build->root_fd, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0)
        return err_errno(err, errno, "attach the new root");
    /* What is mounted on this one later is not in it. */
    return attach_folder(build->root_fd, "/dev", &build->empty_fd, err);
}

static int enter_root(struct jail_build *build, struct err *err) {
    /* Nothing that is mounted here shows up at the host's, nor the other way. */
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return err_errno(err, errno, "make / private");
    int result = show_read_mounts(&build->mounts, err);
    return result < 0 ? result : make_skeleton(build, err);
}

const struct jail_step step_root = {"root", enter_root};

static int enter_pivot(struct jail_build *build, struct err *err) {
    struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY};
    if (mount_setattr(build->root_fd, "", AT_EMPTY_PATH, &read_only, sizeof read_only) < 0)
        return err_errno(err, errno, "make the root read-only");
    if (fchdir(build->root_fd) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
        return err_errno(err, errno, "pivot_root");
    /* The old root now lies on top of the new one; both are ".". */
    if (umount2(".", MNT_DETACH) < 0)
        return err_errno(err, errno, "leave the old root");
    if (chdir("/home/user") < 0)
        return err_errno(err, errno, "enter /home/user");
    return 0;
}

const struct jail_step step_pivot = {"pivot", enter_pivot};
