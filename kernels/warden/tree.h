/* tree - one tree of a jail, as trees.c and sockets.c know it. */
#pragma once

#include "init/init.h"
#include "warden/warden.h"

/* In one jail at once. */
enum { TREES_MAX = 16 };

struct tree {
    struct jail *jail;
    struct list link;
    uint64_t number;
    char *name;                /* of its kernelspec */
    struct source process;     /* pid 1's pidfd */
    struct source link_source; /* the warden's end of the pair of init.h */
    bool is_link_watched;
    bool is_killed;
    struct init_report last;
    size_t last_size; /* of its output */
    int run_fd;       /* the folder of its sockets; -1 once they are told */
    int folder_watch; /* inotify's number of that folder; -1 where there is none */
    unsigned folder_changes;
    uint64_t victims;   /* of the memory limit, as far as they were noticed */
    int64_t victims_ms; /* when the last one was; 0: none was */
};

/* An entry of the jail's list that runs nothing yet. Its end frees it; tree_destroy does where it
 * was never watched or has been reaped. */
struct tree *tree_create(struct jail *jail, uint64_t number, const char *name);
void tree_destroy(struct tree *tree);
/* -- oom.c */
/* Says so where want of memory has ended a process of the tree since the last call. */
bool oom_note(struct tree *tree);
/* Whether the tree's main process, or pid 1, which got SIGKILL, was such a one; tells limit and
 * peak. */
bool oom_explains(const struct tree *tree, struct rpc_tree_ended *ended);

/* NULL where there is none of that number. */
struct tree *tree_find(const struct warden *warden, uint64_t number);
