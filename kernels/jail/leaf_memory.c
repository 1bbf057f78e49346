/* leaf_memory - what the memory limit did to a tree. */
#include <stdio.h>

#include "jail/control.h"
#include "jail/groups.h"

/* Version 1 has no count of the group's own calamities (failcnt is not one: reclaim counts, and
 * where swap is limited too it stays 0). A peak just below the limit tells: charges are made in
 * small batches. */
static void read_v1(int base_fd, const struct jail_group *group, struct jail_memory *memory) {
    char path[2 * LEAF_NAME_MAX];
    uint64_t limit = group->limits.memory_bytes;
    snprintf(path, sizeof path, "%s/memory.max_usage_in_bytes", group->name);
    control_read_number(base_fd, path, &memory->peak_bytes);
    memory->is_limit_reached = memory->peak_bytes >= limit - limit / 16;
}

static void read_v2(int base_fd, const struct jail_group *group, struct jail_memory *memory) {
    char path[2 * LEAF_NAME_MAX];
    uint64_t events = 0;
    snprintf(path, sizeof path, "%s/memory.peak", group->name);
    if (control_read_number(base_fd, path, &memory->peak_bytes) < 0) { /* before Linux 5.19 */
        snprintf(path, sizeof path, "%s/memory.current", group->name);
        control_read_number(base_fd, path, &memory->peak_bytes);
    }
    snprintf(path, sizeof path, "%s/memory.events", group->name);
    control_read_key(base_fd, path, "oom", &events);
    memory->is_limit_reached = events > 0;
}

void jail_leaf_read(const struct jail_group *group, uint64_t tree, struct jail_memory *ret_memory) {
    const struct groups *groups = jail_groups(group->prepared);
    struct jail_memory memory = {0};
    for (size_t i = 0; i < groups->count; i++) {
        const struct hierarchy *hierarchy = &groups->hierarchies[i];
        char path[2 * LEAF_NAME_MAX];
        if (!(hierarchy->controllers & CONTROLLER_MEMORY))
            continue;
        leaf_path(hierarchy, group, tree, hierarchy->is_v2 ? "memory.events" : "memory.oom_control",
                  path);
        control_read_key(hierarchy->base_fd, path, "oom_kill", &memory.victims);
        (hierarchy->is_v2 ? read_v2 : read_v1)(hierarchy->base_fd, group, &memory);
    }
    *ret_memory = memory;
}
