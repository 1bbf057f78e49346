/* spawn - processes of the warden: made with a pidfd, started with nothing of the warden's. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "jail/jail.h"

/* Like fork, with more clone flags; in the parent *ret_pidfd is the child's. group_fd: a control
 * group of version 2 that it begins in; -1: the warden's. */
pid_t spawn_fork(uint64_t clone_flags, int group_fd, int *ret_pidfd, struct err *err);

/* Waits for a process that has ended. Returns its wait status as waitpid(2) gives it. */
int spawn_reap(int pidfd);

/* pid 1 of a tree, in the jail of plan. link is pid 1's end of the pair of init.h; argv and
 * environment are as init.h says. */
struct spawn_tree {
    struct jail_plan plan;
    int link;
    int init_fd;
    char *const *argv;
    char *const *environment;
};
int spawn_tree(struct spawn_tree *tree, int *ret_pidfd, struct err *err);
