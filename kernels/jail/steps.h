/* steps - what the files of this room share: one entry per step. */
#pragma once

#include "base/err.h"
#include "jail/jail.h"

struct jail_step {
    const char *name;
    int (*enter)(const struct jail_plan *plan, struct err *err);
};

extern const struct jail_step step_namespaces, step_mounts, step_privileges, step_descriptors;
