/* filter - the system call filter of jails: built once, loaded by every tree. */
#pragma once

#include <linux/filter.h>

#include "base/err.h"

/* The newest call that was judged (file_setattr, Linux 6.17). Later ones do not exist for a jail,
 * so libc falls back as on an older kernel. */
enum { FILTER_HIGHEST = 469 };

struct filter {
    struct sock_filter *code;
    unsigned short count;
};

/* Builds it from seccomp.def. */
int filter_init(struct filter *filter, struct err *err);
void filter_finish(struct filter *filter);
/* For the rest of this process's life, and its children's. Needs no_new_privs. */
int filter_load(const struct filter *filter, struct err *err);
