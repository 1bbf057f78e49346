/* leaf_kill - ends everything in a tree's group: by cgroup.kill where there is one, else every
 * process that is listed.
 *
 * A list has bare numbers. So each is opened as a pidfd, and gets the signal only where a second
 * list still names it. Were the pidfd a stranger's, who took over the number of a process that
 * left, then the number could be in the second list only after that stranger's end: the signal
 * reaches nobody.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>

#include "base/cleanup.h"
#include "jail/control.h"
#include "jail/groups.h"

enum { LISTED_MAX = 4096, PASSES = 4 };

static size_t list(const struct hierarchy *hierarchy, const char *path, pid_t *pids) {
    enum { SIZE = LISTED_MAX * 8 };
    cleanup_mem char *text = mem_alloc(SIZE);
    size_t count = 0;
    if (control_read(hierarchy->base_fd, path, text, SIZE) < 0)
        return 0;
    for (char *rest = text, *line; count < LISTED_MAX && (line = strsep(&rest, "\n")) && *line;)
        pids[count++] = (pid_t)strtol(line, NULL, 10);
    return count;
}

static bool is_in(pid_t pid, const pid_t *pids, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (pids[i] == pid)
            return true;
    return false;
}

/* Signals all that both lists name; returns how many there were. */
static size_t kill_pass(const struct hierarchy *hierarchy, const char *path) {
    cleanup_mem pid_t *first = mem_alloc(LISTED_MAX * sizeof(pid_t)),
                      *second = mem_alloc(LISTED_MAX * sizeof(pid_t));
    cleanup_mem int *fds = mem_alloc(LISTED_MAX * sizeof(int));
    size_t count = list(hierarchy, path, first);
    for (size_t i = 0; i < count; i++)
        fds[i] = pidfd_open(first[i], 0);
    size_t later = list(hierarchy, path, second);
    for (size_t i = 0; i < count; i++) {
        if (fds[i] < 0)
            continue;
        if (is_in(first[i], second, later))
            pidfd_send_signal(fds[i], SIGKILL, NULL, 0);
        close(fds[i]);
    }
    return count;
}

/* What was born behind a list's back is in the next one; what is left after the last dies with
 * pid 1. */
static void kill_listed(const struct hierarchy *hierarchy, const char *path) {
    for (int i = 0; i < PASSES && kill_pass(hierarchy, path) > 0; i++)
        ;
}

static bool kill_whole(const struct hierarchy *hierarchy, const struct jail_group *group,
                       uint64_t tree) {
    char path[2 * LEAF_NAME_MAX];
    leaf_path(hierarchy, group, tree, "cgroup.kill", path);
    return hierarchy->is_v2 && control_write(hierarchy->base_fd, path, "1") == 0;
}

void jail_leaf_kill(const struct jail_group *group, uint64_t tree) {
    const struct groups *groups = jail_groups(group->prepared);
    for (size_t i = 0; i < groups->count; i++)
        if (kill_whole(&groups->hierarchies[i], group, tree))
            return;
    for (size_t i = 0; i < groups->count; i++) {
        char path[2 * LEAF_NAME_MAX];
        leaf_path(&groups->hierarchies[i], group, tree, "cgroup.procs", path);
        if (groups->hierarchies[i].has_leaves) {
            kill_listed(&groups->hierarchies[i], path);
            return;
        }
    }
}
