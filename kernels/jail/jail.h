/* jail - what a process enters before it becomes pid 1 of a tree. The steps are one per file; their
 * order and the reasons for it stand in steps.c and docs/jail.md. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* What all trees have in common, made once: the compiled filter, a place for kept mounts. The
 * caller's working directory is / afterwards, and after every call that takes it. */
struct jail_prepared;
int jail_prepare(struct jail_prepared **ret_prepared, struct err *err);
void jail_prepared_destroy(struct jail_prepared *prepared);

/* A sentence on limits that the host cannot give, and what stands in for them; "" where it gives
 * all. */
const char *jail_prepared_lacks(const struct jail_prepared *prepared);

struct jail_limits {
    uint64_t memory_bytes, pids;
    uint64_t cpus_milli; /* 0: no limit */
};

/* What holds a session to its limits: control groups (groups.h). Where the host has none, all of
 * this does nothing. */
struct jail_group {
    struct jail_prepared *prepared; /* NULL: no group */
    char name[64];
    struct jail_limits limits;
    int oom_fd; /* EPOLLIN | EPOLLPRI: the memory limit was reached; -1 where that is not told */
};
/* name is nobody else's, a file name of at most 63 bytes. */
int jail_group_init(struct jail_group *group, struct jail_prepared *prepared, const char *name,
                    const struct jail_limits *limits, struct err *err);
/* On failure the old limits hold. -EBUSY: there is less memory now than is in use. */
int jail_group_change(struct jail_group *group, const struct jail_limits *limits, struct err *err);
/* To be called when oom_fd is ready, so that it is not any more. */
void jail_group_hear(const struct jail_group *group);
/* -EBUSY while something is in it: try again later. oom_fd is closed with the first try. */
int jail_group_finish(struct jail_group *group);

/* A tree's part of its session's group. */
int jail_leaf_make(const struct jail_group *group, uint64_t tree, struct err *err);
/* Where something is in it still, it goes with the group. */
void jail_leaf_remove(const struct jail_group *group, uint64_t tree);
/* What CLONE_INTO_CGROUP takes; -1 where there is nothing of the kind. */
int jail_leaf_open(const struct jail_group *group, uint64_t tree);
/* SIGKILL to all of its processes, pid 1 among them. Never waits. */
void jail_leaf_kill(const struct jail_group *group, uint64_t tree);

struct jail_memory {
    uint64_t victims;      /* processes of the tree that were ended for want of memory */
    uint64_t peak_bytes;   /* of the session */
    bool is_limit_reached; /* the session's own limit, that is; else the host had no more */
};
void jail_leaf_read(const struct jail_group *group, uint64_t tree, struct jail_memory *ret_memory);

/* What one tree enters. Descriptors and texts are borrowed. */
struct jail_plan {
    const struct jail_prepared *prepared;
    const struct jail_group *session; /* the session's, with a leaf for this tree */
    uint64_t tree;
    uid_t user;  /* the session's own */
    gid_t group; /* the session's own */
    int net_fd;  /* the session's network and ipc namespaces */
    int ipc_fd;
    int workspace_fd; /* detached mounts, of this tree alone: move_mount can attach them */
    int temporary_fd;
    int run_fd;
    const char *const *trees;        /* shown read-only at these paths */
    const char *const *tree_sources; /* what of the host they are: no links */
    size_t tree_count;
    uint64_t shared_memory_bytes; /* of /dev/shm */
    uint64_t pids, open_files;    /* limits */
    uint64_t memory_bytes;        /* what /proc tells; 0: what there is */
    uint64_t cpus_milli;          /* likewise, in thousandths of a CPU */
    const int *keep;              /* these become descriptors 3, 4, ...; all others are closed */
    size_t keep_count;
};

/* How many processors a jail with this limit is told of; 0: as many as the caller may use. */
unsigned jail_cpus(uint64_t cpus_milli);

/* Whether jails show source, a path without links, by an overlay of their own; fails with a
 * sentence that says why they bind it instead: there, inotify and file locks meet other sessions.
 * The caller's working directory is / afterwards. */
int jail_try_overlay(const char *source, struct err *err);

/* The namespaces that are made together with the process (clone3); net and ipc are the session's.
 */
extern const uint64_t jail_clone_flags;

/* Enters the jail, in a process made with jail_clone_flags; the next thing it does is exec. On
 * failure the process is half inside and must end; the sentence names the step and the call. */
int jail_enter(const struct jail_plan *plan, struct err *err);

/* New namespaces of a session, network with lo up. The caller's own are as before. */
int jail_make_namespaces(int *ret_net_fd, int *ret_ipc_fd, struct err *err);

/* A tmpfs. Detached, so nobody sees it until a tree attaches it. */
struct jail_tmpfs {
    uint64_t size_bytes;
    uint64_t inodes;
    mode_t mode;
    uid_t user;
    gid_t group;
};
int jail_make_tmpfs(const struct jail_tmpfs *tmpfs, int *ret_fd, struct err *err);

/* One that outlives the trees that show it. */
struct jail_kept {
    int fd;
    unsigned number; /* 0: none */
};
int jail_keep_tmpfs(struct jail_prepared *prepared, const struct jail_tmpfs *tmpfs,
                    struct jail_kept *ret_kept, struct err *err);
/* Another mount of the same, for one tree. */
int jail_clone_kept(struct jail_prepared *prepared, const struct jail_kept *kept, int *ret_fd,
                    struct err *err);
/* Changes size_bytes and inodes. */
int jail_resize_kept(const struct jail_kept *kept, const struct jail_tmpfs *tmpfs, struct err *err);
/* What is in it goes when the last tree that shows it does. An empty one is fine. */
void jail_drop_kept(struct jail_prepared *prepared, struct jail_kept *kept);

/* -- for processes that enter no jail (the gateway) */

/* Becomes user and group for good: no other groups, no capability in any set, none to be had by
 * exec (no_new_privs). */
int jail_drop_privileges(uid_t user, gid_t group, struct err *err);
/* fds become descriptors 3, 4, ...; 0 is /dev/null; 1 and 2 are what output is (-1: /dev/null).
 * Nothing else stays open. */
int jail_place_descriptors(const int *fds, size_t count, int output, struct err *err);
