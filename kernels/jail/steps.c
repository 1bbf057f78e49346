/* steps - the order. What needs privileges comes before they go, what needs the host's files before
 * the root is changed, what the filter refuses before the filter; then close_range, which takes
 * every descriptor with it, and the limit of descriptors, which nobody could keep before. */
#include "jail/steps.h"

/* clang-format off */
static const struct jail_step *const steps[] = {
    &step_oom,
    &step_groups, /* behind oom: where a session has no memory left, this process is chosen */
    &step_namespaces,
    &step_audit,
    &step_root,
    &step_system,
    &step_etc,
    &step_dev,
    &step_proc,
    &step_sys,
    &step_workspace,
    &step_trees, /* behind the workspace: a tree may lie below /tmp */
    &step_pivot,
    &step_privileges,
    &step_keyring,
    &step_limits,
    &step_filter,
    &step_descriptors,
    &step_open_files,
};
/* clang-format on */

int jail_enter(const struct jail_plan *plan, struct err *err) {
    struct jail_build build = {.plan = plan, .root_fd = -1, .empty_fd = -1};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        int result = steps[i]->enter(&build, err);
        if (result < 0)
            return err_wrap(err, "%s", steps[i]->name);
    }
    return 0;
}
