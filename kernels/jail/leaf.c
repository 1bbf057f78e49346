/* leaf - a tree's own group, and how it is entered.
 *
 * Of version 1 by the tree's own first process, which writes 0 to `tasks`: moving oneself, and one
 * thread, is the one way that never waits for an RCU grace period (tens of us against up to 13 ms).
 * So the warden itself is never in a session's group, where the memory limit could choose it, and
 * has none to leave when a start fails. Of version 2 by clone3(CLONE_INTO_CGROUP). */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jail/control.h"
#include "jail/groups.h"
#include "jail/steps.h"

void leaf_name(const struct hierarchy *hierarchy, const struct jail_group *group, uint64_t tree,
               char ret_name[LEAF_NAME_MAX]) {
    if (hierarchy->has_leaves)
        snprintf(ret_name, LEAF_NAME_MAX, "%s/%llu", group->name, (unsigned long long)tree);
    else
        snprintf(ret_name, LEAF_NAME_MAX, "%s", group->name);
}

void leaf_path(const struct hierarchy *hierarchy, const struct jail_group *group, uint64_t tree,
               const char *file, char ret_path[2 * LEAF_NAME_MAX]) {
    char name[LEAF_NAME_MAX];
    leaf_name(hierarchy, group, tree, name);
    snprintf(ret_path, 2 * LEAF_NAME_MAX, "%s/%s", name, file);
}

int jail_leaf_make(const struct jail_group *group, uint64_t tree, struct err *err) {
    const struct groups *groups = jail_groups(group->prepared);
    for (size_t i = 0; i < groups->count; i++) {
        const struct hierarchy *hierarchy = &groups->hierarchies[i];
        char name[LEAF_NAME_MAX];
        leaf_name(hierarchy, group, tree, name);
        if (hierarchy->has_leaves && mkdirat(hierarchy->base_fd, name, 0755) < 0) {
            int code = errno;
            jail_leaf_remove(group, tree);
            return err_errno(err, code, "make group %s", name);
        }
    }
    return 0;
}

void jail_leaf_remove(const struct jail_group *group, uint64_t tree) {
    const struct groups *groups = jail_groups(group->prepared);
    for (size_t i = 0; i < groups->count; i++) {
        char name[LEAF_NAME_MAX];
        leaf_name(&groups->hierarchies[i], group, tree, name);
        if (groups->hierarchies[i].has_leaves)
            unlinkat(groups->hierarchies[i].base_fd, name, AT_REMOVEDIR);
    }
}

/* -- entering */

int jail_leaf_open(const struct jail_group *group, uint64_t tree) {
    const struct groups *groups = jail_groups(group->prepared);
    for (size_t i = 0; i < groups->count; i++) {
        char name[LEAF_NAME_MAX];
        leaf_name(&groups->hierarchies[i], group, tree, name);
        if (groups->hierarchies[i].is_v2)
            return openat(groups->hierarchies[i].base_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    }
    return -1;
}

static int enter(struct jail_build *build, struct err *err) {
    const struct jail_plan *plan = build->plan;
    const struct groups *groups = jail_groups(plan->session->prepared);
    for (size_t i = 0; i < groups->count; i++) {
        char path[2 * LEAF_NAME_MAX];
        leaf_path(&groups->hierarchies[i], plan->session, plan->tree, "tasks", path);
        int result = groups->hierarchies[i].is_v2
                         ? 0
                         : control_write(groups->hierarchies[i].base_fd, path, "0");
        if (result < 0)
            return err_errno(err, -result, "enter %s", path);
    }
    /* Only now, so that its root is this group: what lies above has no name inside. */
    if (unshare(CLONE_NEWCGROUP) < 0)
        return err_errno(err, errno, "unshare control groups");
    return 0;
}

const struct jail_step step_groups = {"groups", enter};
