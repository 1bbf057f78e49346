/* machine - the processors and the memory that a jail is told of: its limits (machine.c). */
#pragma once

#include "base/text.h"
#include "jail/steps.h"

struct machine {
    unsigned cpus;      /* what the session may use, rounded up */
    unsigned host_cpus; /* what there are */
    uint64_t memory_bytes;
};

struct machine machine_of(const struct jail_plan *plan);

/* A file of /proc that is written here; NULL where the host's own says the same. */
struct machine_file {
    const char *path;
    bool (*write)(const struct machine *machine, struct text *ret_text); /* false: the host's */
};
extern const struct machine_file machine_files[];
enum { MACHINE_FILES = 6 };
