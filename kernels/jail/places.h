/* places - where this process's control groups are: one place per hierarchy, which the kernel
 * describes in two halves, /proc/self/cgroup (which group) and /proc/self/mountinfo (where its
 * hierarchy can be seen). Pure functions of those texts. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* What limits a session; bits of a set. */
enum controller { CONTROLLER_MEMORY = 1, CONTROLLER_PIDS = 2, CONTROLLER_CPU = 4 };
enum { CONTROLLERS_ALL = CONTROLLER_MEMORY | CONTROLLER_PIDS | CONTROLLER_CPU };

/* Three controllers of version 1, each on its own at most, and version 2. */
enum { PLACES_MAX = 4 };

struct place {
    bool is_v2;
    unsigned controllers; /* of version 1; 0 of version 2: cgroup.controllers tells */
    char path[PATH_MAX];  /* the own group's folder */
};

/* The set of controllers that words, parted by commas or blanks, name; others are passed over. */
unsigned controllers_read(const char *words);
/* Their names, for people and for cgroup.subtree_control: prefix before each, blanks between. */
void controllers_write(unsigned controllers, const char *prefix, char ret_text[64]);

/* At most one place per hierarchy, those that can be seen alone. Returns how many. */
size_t places_find(const char *cgroup, const char *mountinfo, struct place places[PLACES_MAX]);
