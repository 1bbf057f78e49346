/* steps - what the files of this room share: one entry per step, in the order of steps.c. */
#pragma once

#include "base/err.h"
#include "base/text.h"
#include "jail/jail.h"

/* One jail on its way. */
struct jail_build {
    const struct jail_plan *plan;
    int root_fd;        /* the new root, attached but not yet entered; -1 before */
    int empty_fd;       /* an empty folder of it */
    struct text mounts; /* the host's mountinfo */
};

struct jail_step {
    const char *name;
    int (*enter)(struct jail_build *build, struct err *err);
};

extern const struct jail_step step_namespaces, step_oom, step_groups, step_audit, step_root,
    step_system, step_etc, step_dev, step_proc, step_workspace, step_trees, step_pivot,
    step_privileges, step_sys, step_keyring, step_filter, step_descriptors, step_limits,
    step_open_files;
