/* groups - the control groups of one warden, on whatever the host has: a folder of its own in each
 * hierarchy, below the warden's own group; in it one group per session, which has the limits, and
 * where it matters one leaf in that per tree. Files of the room that deal with them: places
 * (where), control (reading, writing), groups (the warden's), group (a session's), leaf* (a
 * tree's).
 *
 * A host may have both versions: then controllers of version 1 hold the limits, and version 2,
 * which has none of them, ends trees (cgroup.kill). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "jail/jail.h"
#include "jail/places.h"

struct hierarchy {
    bool is_v2, has_leaves;
    unsigned controllers;
    unsigned enabled; /* version 2: those that were switched on in the own group for us */
    int own_fd;       /* the folder of the warden's own group */
    int base_fd;      /* the warden's folder in it; locked while the warden lives */
    bool is_moved;    /* version 2: the warden has left its own group, see groups.c */
};

struct groups {
    struct hierarchy hierarchies[PLACES_MAX];
    size_t count;
    unsigned controllers; /* of all of them */
    char name[64];        /* of the folders: cellblock-PID-RANDOM */
    char lacks[256];      /* a sentence on what is missing and why; "" where nothing is */
};

/* Never fails: what cannot be had is named in lacks. */
void groups_init(struct groups *groups);
/* The sessions' groups are gone. */
void groups_finish(struct groups *groups);
/* Takes away what wardens that are gone left in the own group. */
void groups_remove_stale(const struct hierarchy *hierarchy);
struct groups *jail_groups(struct jail_prepared *prepared);

/* Removes a group that holds nothing but empty groups. -EBUSY where something is in it. */
int group_remove(int folder_fd, const char *name);
/* Writes every limit that the hierarchy holds into the group. */
int group_write_limits(const struct hierarchy *hierarchy, int group_fd,
                       const struct jail_limits *limits, struct err *err);

enum { LEAF_NAME_MAX = 96 };
/* A tree's group, relative to base_fd: the leaf, or where there are none the session's. */
void leaf_name(const struct hierarchy *hierarchy, const struct jail_group *group, uint64_t tree,
               char ret_name[LEAF_NAME_MAX]);
/* The path of a file in it. */
void leaf_path(const struct hierarchy *hierarchy, const struct jail_group *group, uint64_t tree,
               const char *file, char ret_path[2 * LEAF_NAME_MAX]);
