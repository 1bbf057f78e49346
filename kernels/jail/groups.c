/* groups - see groups.h. Its one complication is version 2: a group with processes cannot hand out
 * controllers (cgroups(7), "no internal processes"), so a warden that wants them moves into a group
 * of its own below, and back at its end. Its second: a warden that was killed leaves its folder.
 * The next one removes what nobody has locked any more. */
#include "jail/groups.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "jail/control.h"

#define NAME_PREFIX "cellblock-"
#define OWN_LEAF "warden"

enum { OPEN_FOLDER = O_RDONLY | O_DIRECTORY | O_CLOEXEC, NAME_TRIES = 8 };

/* -- removing */

/* Calls act for every group in the folder. */
static void each_group(int folder_fd, const char *prefix, void (*act)(int, const char *)) {
    int fd = openat(folder_fd, ".", OPEN_FOLDER);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (!folder)
        return;
    for (struct dirent *entry; (entry = readdir(folder));)
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.' &&
            strncmp(entry->d_name, prefix, strlen(prefix)) == 0)
            act(folder_fd, entry->d_name);
    closedir(folder);
}

static void remove_inner(int folder_fd, const char *name) {
    group_remove(folder_fd, name);
}

int group_remove(int folder_fd, const char *name) {
    if (unlinkat(folder_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return 0;
    if (errno != EBUSY)
        return -errno;
    cleanup_fd int inner = openat(folder_fd, name, OPEN_FOLDER);
    if (inner >= 0)
        each_group(inner, "", remove_inner);
    return unlinkat(folder_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT ? 0 : -errno;
}

/* Every warden holds a lock on its folder, which goes with it however it ends. */
static void remove_if_unlocked(int folder_fd, const char *name) {
    cleanup_fd int fd = openat(folder_fd, name, OPEN_FOLDER);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        group_remove(folder_fd, name);
}

void groups_remove_stale(const struct hierarchy *hierarchy) {
    each_group(hierarchy->own_fd, NAME_PREFIX, remove_if_unlocked);
}

/* -- a folder of one's own */

/* Whether the folder still has its name: a warden that cleans up may have been faster than the
 * lock. */
static bool is_there(int folder_fd, const char *name, int fd) {
    struct stat named, held;
    return fstatat(folder_fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && fstat(fd, &held) == 0 &&
           named.st_ino == held.st_ino;
}

static int make_base(struct hierarchy *hierarchy, const char *name) {
    for (int i = 0; i < NAME_TRIES; i++) {
        if (mkdirat(hierarchy->own_fd, name, 0755) < 0 && errno != EEXIST)
            return -errno;
        cleanup_fd int fd = openat(hierarchy->own_fd, name, OPEN_FOLDER);
        if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || !is_there(hierarchy->own_fd, name, fd))
            continue;
        hierarchy->base_fd = take_fd(&fd);
        return 0;
    }
    return -EBUSY;
}

/* -- version 2's controllers */

static int switch_on(struct hierarchy *hierarchy, unsigned controllers) {
    char words[64], now[CONTROL_TEXT_MAX];
    int result = control_read(hierarchy->own_fd, "cgroup.subtree_control", now, sizeof now);
    if (result < 0)
        return result;
    unsigned missing = controllers & ~controllers_read(now);
    controllers_write(missing, "+", words);
    if (missing)
        result = control_write(hierarchy->own_fd, "cgroup.subtree_control", words);
    if (result == 0)
        hierarchy->enabled = missing;
    controllers_write(controllers, "+", words);
    return result < 0 ? result : control_write(hierarchy->base_fd, "cgroup.subtree_control", words);
}

static void switch_off(struct hierarchy *hierarchy) {
    char words[64];
    controllers_write(hierarchy->controllers, "-", words);
    control_write(hierarchy->base_fd, "cgroup.subtree_control", words);
    controllers_write(hierarchy->enabled, "-", words);
    if (hierarchy->enabled)
        control_write(hierarchy->own_fd, "cgroup.subtree_control", words);
    hierarchy->enabled = 0;
}

static void move_back(struct hierarchy *hierarchy) {
    if (hierarchy->is_moved)
        control_write(hierarchy->own_fd, "cgroup.procs", "0");
    hierarchy->is_moved = false;
    unlinkat(hierarchy->base_fd, OWN_LEAF, AT_REMOVEDIR);
}

static int move_out(struct hierarchy *hierarchy) {
    if (mkdirat(hierarchy->base_fd, OWN_LEAF, 0755) < 0)
        return -errno;
    int result = control_write(hierarchy->base_fd, OWN_LEAF "/cgroup.procs", "0");
    hierarchy->is_moved = result == 0;
    return result;
}

static int take_controllers(struct hierarchy *hierarchy, unsigned wanted) {
    char there[CONTROL_TEXT_MAX];
    int result = control_read(hierarchy->own_fd, "cgroup.controllers", there, sizeof there);
    if (result < 0)
        return result;
    wanted &= controllers_read(there);
    if (!wanted)
        return 0;
    result = switch_on(hierarchy, wanted);
    if (result == -EBUSY && (result = move_out(hierarchy)) == 0)
        result = switch_on(hierarchy, wanted);
    hierarchy->controllers = wanted;
    if (result < 0) {
        switch_off(hierarchy);
        move_back(hierarchy);
        hierarchy->controllers = 0;
    }
    return result;
}

/* -- version 1 */

/* Sessions together weigh, on each processor, as one busy process of the warden's group does: so
 * the gateway is never far from its turn. Before Linux 5.11 limits held children only where this
 * was asked for. */
static void settle_v1(const struct hierarchy *hierarchy) {
    char text[32];
    snprintf(text, sizeof text, "%ld", 1024 * sysconf(_SC_NPROCESSORS_ONLN));
    if (hierarchy->controllers & CONTROLLER_CPU)
        control_write(hierarchy->base_fd, "cpu.shares", text);
    if (hierarchy->controllers & CONTROLLER_MEMORY)
        control_write(hierarchy->base_fd, "memory.use_hierarchy", "1");
}

/* -- all of them */

static void close_hierarchy(const struct groups *groups, struct hierarchy *hierarchy) {
    if (hierarchy->is_v2) {
        switch_off(hierarchy);
        move_back(hierarchy);
    }
    group_remove(hierarchy->own_fd, groups->name);
    groups_remove_stale(hierarchy);
    close(hierarchy->base_fd);
    close(hierarchy->own_fd);
}

static void note_lack(struct groups *groups, const char *path, int code) {
    if (!groups->lacks[0])
        snprintf(groups->lacks, sizeof groups->lacks, "%.120s: %.100s", path, strerror(code));
}

static void add_place(struct groups *groups, const struct place *place) {
    struct hierarchy hierarchy = {.is_v2 = place->is_v2, .controllers = place->controllers};
    hierarchy.own_fd = open(place->path, OPEN_FOLDER);
    if (hierarchy.own_fd < 0) {
        note_lack(groups, place->path, errno);
        return;
    }
    groups_remove_stale(&hierarchy);
    int result = make_base(&hierarchy, groups->name);
    if (result < 0) {
        note_lack(groups, place->path, -result);
        close(hierarchy.own_fd);
        return;
    }
    if (hierarchy.is_v2)
        result = take_controllers(&hierarchy, CONTROLLERS_ALL & ~groups->controllers);
    else
        settle_v1(&hierarchy);
    if (result < 0)
        note_lack(groups, place->path, -result);
    groups->controllers |= hierarchy.controllers;
    groups->hierarchies[groups->count++] = hierarchy;
}

/* Trees need a group of their own where victims of the memory limit are counted, and where they are
 * ended. */
static void choose_leaves(struct groups *groups) {
    bool is_listed = true;
    for (size_t i = 0; i < groups->count; i++) {
        struct hierarchy *hierarchy = &groups->hierarchies[i];
        hierarchy->has_leaves =
            hierarchy->is_v2 || (hierarchy->controllers & CONTROLLER_MEMORY) != 0;
        is_listed = is_listed && !hierarchy->has_leaves;
    }
    if (is_listed && groups->count)
        groups->hierarchies[0].has_leaves = true;
}

static void say_lacks(struct groups *groups) {
    char names[64], why[sizeof groups->lacks];
    unsigned missing = CONTROLLERS_ALL & ~groups->controllers;
    snprintf(why, sizeof why, "%s", groups->lacks[0] ? groups->lacks : "the host shows none");
    controllers_write(missing, "", names);
    groups->lacks[0] = 0;
    if (missing)
        snprintf(groups->lacks, sizeof groups->lacks,
                 "limits without control groups for %s (%.120s): rlimits stand in", names, why);
}

static void read_places(struct place places[PLACES_MAX], size_t *ret_count) {
    enum { SIZE = 256 * 1024 };
    cleanup_mem char *cgroup = mem_alloc(SIZE), *mountinfo = mem_alloc(SIZE);
    *ret_count = 0;
    if (control_read(AT_FDCWD, "/proc/self/cgroup", cgroup, SIZE) == 0 &&
        control_read(AT_FDCWD, "/proc/self/mountinfo", mountinfo, SIZE) == 0)
        *ret_count = places_find(cgroup, mountinfo, places);
}

void groups_init(struct groups *groups) {
    cleanup_mem struct place *places = mem_zalloc(PLACES_MAX, sizeof *places);
    size_t count;
    uint32_t number;
    *groups = (struct groups){0};
    read_places(places, &count);
    ssize_t size = getrandom(&number, sizeof number, 0);
    snprintf(groups->name, sizeof groups->name, NAME_PREFIX "%d-%08x", (int)getpid(),
             size == (ssize_t)sizeof number ? number : 0);
    /* Version 1 first: what it has version 2 cannot give. */
    for (int is_v2 = 0; is_v2 < 2; is_v2++)
        for (size_t i = 0; i < count; i++)
            if (places[i].is_v2 == is_v2)
                add_place(groups, &places[i]);
    choose_leaves(groups);
    say_lacks(groups);
}

void groups_finish(struct groups *groups) {
    for (size_t i = 0; i < groups->count; i++)
        close_hierarchy(groups, &groups->hierarchies[i]);
    groups->count = 0;
}
