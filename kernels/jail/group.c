/* group - what holds a session: its groups with their limits, one per hierarchy. All its trees are
 * below them, and so is what they write to files in memory: that is charged to the writer. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "jail/control.h"
#include "jail/groups.h"

/* -- limits */

enum { PERIOD_US = 100000, QUOTA_LEAST_US = 1000, VALUE_MAX = 64 };

static uint64_t quota_us(const struct jail_limits *limits) {
    uint64_t quota = limits->cpus_milli * (PERIOD_US / 1000);
    return quota < QUOTA_LEAST_US ? QUOTA_LEAST_US : quota;
}

static void write_memory(const struct jail_limits *limits, char value[VALUE_MAX]) {
    snprintf(value, VALUE_MAX, "%llu", (unsigned long long)limits->memory_bytes);
}

static void write_nothing(const struct jail_limits *limits, char value[VALUE_MAX]) {
    (void)limits;
    strcpy(value, "0");
}

static void write_pids(const struct jail_limits *limits, char value[VALUE_MAX]) {
    snprintf(value, VALUE_MAX, "%llu", (unsigned long long)limits->pids);
}

static void write_quota(const struct jail_limits *limits, char value[VALUE_MAX]) {
    if (limits->cpus_milli)
        snprintf(value, VALUE_MAX, "%llu", (unsigned long long)quota_us(limits));
    else
        strcpy(value, "-1");
}

static void write_cpu(const struct jail_limits *limits, char value[VALUE_MAX]) {
    if (limits->cpus_milli)
        snprintf(value, VALUE_MAX, "%llu %d", (unsigned long long)quota_us(limits), PERIOD_US);
    else
        snprintf(value, VALUE_MAX, "max %d", PERIOD_US);
}

/* In the order of writing. Memory with swap can never be less than memory: it is raised before and
 * lowered after; hosts without swap accounting lack it. */
static const struct {
    bool is_v2;
    enum controller controller;
    bool is_optional;
    const char *file;
    void (*write)(const struct jail_limits *limits, char value[VALUE_MAX]);
} rows[] = {
    {false, CONTROLLER_MEMORY, true, "memory.memsw.limit_in_bytes", write_memory},
    {false, CONTROLLER_MEMORY, false, "memory.limit_in_bytes", write_memory},
    {false, CONTROLLER_MEMORY, true, "memory.memsw.limit_in_bytes", write_memory},
    {false, CONTROLLER_PIDS, false, "pids.max", write_pids},
    {false, CONTROLLER_CPU, false, "cpu.cfs_quota_us", write_quota},
    {true, CONTROLLER_MEMORY, true, "memory.swap.max", write_nothing},
    {true, CONTROLLER_MEMORY, false, "memory.max", write_memory},
    {true, CONTROLLER_PIDS, false, "pids.max", write_pids},
    {true, CONTROLLER_CPU, false, "cpu.max", write_cpu},
};

int group_write_limits(const struct hierarchy *hierarchy, int group_fd,
                       const struct jail_limits *limits, struct err *err) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char value[VALUE_MAX];
        if (rows[i].is_v2 != hierarchy->is_v2 || !(hierarchy->controllers & rows[i].controller))
            continue;
        rows[i].write(limits, value);
        int result = control_write(group_fd, rows[i].file, value);
        if (result < 0 && !rows[i].is_optional)
            return err_errno(err, -result, "%s = %s", rows[i].file, value);
    }
    return 0;
}

static int open_group(const struct hierarchy *hierarchy, const struct jail_group *group,
                      int *ret_fd, struct err *err) {
    *ret_fd = openat(hierarchy->base_fd, group->name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return *ret_fd < 0 ? err_errno(err, errno, "open group %s", group->name) : 0;
}

static int write_limits_once(const struct jail_group *group, const struct jail_limits *limits,
                             struct err *err) {
    const struct groups *groups = jail_groups(group->prepared);
    int result = 0;
    for (size_t i = 0; result == 0 && i < groups->count; i++) {
        cleanup_fd int fd = -1;
        result = open_group(&groups->hierarchies[i], group, &fd, err);
        if (result == 0)
            result = group_write_limits(&groups->hierarchies[i], fd, limits, err);
    }
    return result;
}

int jail_group_change(struct jail_group *group, const struct jail_limits *limits, struct err *err) {
    int result = write_limits_once(group, limits, err);
    if (result == 0)
        group->limits = *limits;
    else
        write_limits_once(group, &group->limits, NULL);
    return result;
}

/* -- the memory limit's victims are told by a descriptor */

/* Version 1: an eventfd that the group is told of (cgroup-v1/memory.rst, 9). */
static int watch_v1(int group_fd) {
    cleanup_fd int control = openat(group_fd, "memory.oom_control", O_RDONLY | O_CLOEXEC);
    cleanup_fd int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    char text[32];
    if (control < 0 || event < 0)
        return -1;
    snprintf(text, sizeof text, "%d %d", event, control);
    return control_write(group_fd, "cgroup.event_control", text) < 0 ? -1 : take_fd(&event);
}

/* Version 2: the file itself can be polled once it has been read. */
static int watch_v2(int group_fd) {
    char text[CONTROL_TEXT_MAX];
    cleanup_fd int fd = openat(group_fd, "memory.events", O_RDONLY | O_CLOEXEC);
    return fd >= 0 && read(fd, text, sizeof text) >= 0 ? take_fd(&fd) : -1;
}

void jail_group_hear(const struct jail_group *group) {
    char text[CONTROL_TEXT_MAX];
    lseek(group->oom_fd, 0, SEEK_SET); /* an eventfd has no place */
    while (read(group->oom_fd, text, sizeof text) < 0 && errno == EINTR)
        ;
}

/* -- from the beginning to the end */

static int make(struct jail_group *group, const struct hierarchy *hierarchy, struct err *err) {
    if (mkdirat(hierarchy->base_fd, group->name, 0755) < 0)
        return err_errno(err, errno, "make group %s", group->name);
    cleanup_fd int fd = -1;
    int result = open_group(hierarchy, group, &fd, err);
    if (result == 0)
        result = group_write_limits(hierarchy, fd, &group->limits, err);
    if (result < 0 || !(hierarchy->controllers & CONTROLLER_MEMORY))
        return result;
    if (hierarchy->is_v2 && (result = control_write(fd, "cgroup.subtree_control", "+memory")) < 0)
        return err_errno(err, -result, "hand memory to leaves of %s", group->name);
    group->oom_fd = hierarchy->is_v2 ? watch_v2(fd) : watch_v1(fd);
    return 0;
}

int jail_group_init(struct jail_group *group, struct jail_prepared *prepared, const char *name,
                    const struct jail_limits *limits, struct err *err) {
    const struct groups *groups = jail_groups(prepared);
    *group = (struct jail_group){.prepared = prepared, .limits = *limits, .oom_fd = -1};
    snprintf(group->name, sizeof group->name, "%s", name);
    int result = 0;
    for (size_t i = 0; result == 0 && i < groups->count; i++)
        result = make(group, &groups->hierarchies[i], err);
    if (result < 0)
        jail_group_finish(group);
    return result;
}

int jail_group_finish(struct jail_group *group) {
    if (!group->prepared)
        return 0;
    const struct groups *groups = jail_groups(group->prepared);
    if (group->oom_fd >= 0)
        close(group->oom_fd);
    group->oom_fd = -1;
    int result = 0;
    for (size_t i = 0; i < groups->count; i++) {
        int removed = group_remove(groups->hierarchies[i].base_fd, group->name);
        result = removed < 0 ? removed : result;
    }
    return result;
}
