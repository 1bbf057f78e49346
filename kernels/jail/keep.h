/* keep - the namespace that holds what sessions keep (keep.c). */
#pragma once

#include "base/err.h"
#include "jail/jail.h"

struct keeper {
    int fd, own_fd; /* mount namespaces: of kept mounts, and the warden's own */
    unsigned last_number;
};

int keeper_init(struct keeper *keeper, struct err *err);
void keeper_finish(struct keeper *keeper);
struct keeper *jail_keeper(struct jail_prepared *prepared);
/* The mount namespace that the caller is in. */
int keeper_open_own(int *ret_fd, struct err *err);
