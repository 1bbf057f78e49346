/* workspace - what of a session outlives its trees, and the folder of this tree's sockets. */
#include "jail/attach.h"
#include "jail/steps.h"

static int enter(struct jail_build *build, struct err *err) {
    const struct jail_plan *plan = build->plan;
    int result = attach_mount(build->root_fd, plan->temporary_fd, "/tmp", err);
    if (result == 0)
        result = attach_mount(build->root_fd, plan->workspace_fd, "/home/user", err);
    if (result == 0)
        result = attach_mount(build->root_fd, plan->run_fd, "/run/kernel", err);
    return result;
}

const struct jail_step step_workspace = {"workspace", enter};
