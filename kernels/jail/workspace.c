/* workspace - what of a session outlives its trees, and the folder of this tree's sockets. */
#include <sys/mount.h>

#include "base/cleanup.h"
#include "jail/attach.h"
#include "jail/steps.h"

/* The same folder by both names, mounted and not linked, because trees of the host below either are
 * mounted in it, which follows no link. */
static int attach_temporary(const struct jail_build *build, struct err *err) {
    cleanup_fd int fd = -1;
    int result = attach_mount(build->root_fd, build->plan->temporary_fd, "/tmp", err);
    if (result == 0)
        result = attach_folder(build->root_fd, "/tmp", &fd, err);
    return result < 0 ? result
                      : attach_part(build->root_fd, fd, "/var/tmp",
                                    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, err);
}

/* A last place for temporary files (TEMP in the environment), empty in every tree: where all others
 * are full, ipykernel would run no cell that could tidy up. */
static int attach_spare(const struct jail_build *build, struct err *err) {
    const struct jail_tmpfs spare = {.size_bytes = 256ULL << 10,
                                     .inodes = 64,
                                     .mode = 0700,
                                     .user = build->plan->user,
                                     .group = build->plan->group};
    cleanup_fd int fd = -1;
    int result = jail_make_tmpfs(&spare, &fd, err);
    return result < 0 ? result : attach_mount(build->root_fd, fd, "/run/spare", err);
}

static int enter(struct jail_build *build, struct err *err) {
    const struct jail_plan *plan = build->plan;
    int result = attach_temporary(build, err);
    if (result == 0)
        result = attach_mount(build->root_fd, plan->workspace_fd, "/home/user", err);
    if (result == 0)
        result = attach_mount(build->root_fd, plan->run_fd, "/run/kernel", err);
    return result < 0 ? result : attach_spare(build, err);
}

const struct jail_step step_workspace = {"workspace", enter};
