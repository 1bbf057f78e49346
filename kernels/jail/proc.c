/* proc - /proc of the tree's own pid namespace, where a process sees those it may trace; the rest
 * of it says nothing about the host that is of use to an attacker. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "jail/attach.h"
#include "jail/steps.h"

/* Not every kernel has each of them. */
static const char *const masked[] = {
    "acpi",
    "asound",
    "bus",
    "config.gz",
    "driver",
    "fs",
    "irq",
    "kallsyms",
    "kcore",
    "key-users",
    "keys",
    "kmsg",
    "kpagecgroup",
    "kpagecount",
    "kpageflags",
    "latency_stats",
    "modules",
    "pagetypeinfo",
    "sched_debug",
    "schedstat",
    "scsi",
    "slabinfo",
    "sysrq-trigger",
    "sysvipc",
    "timer_list",
    "tty",
    "vmallocinfo",
    "zoneinfo",
    "sys/kernel/core_pattern",
};

/* Over a folder an empty one, over a file the jail's /dev/null. */
static int mask(int root_fd, int proc_fd, const char *name, struct err *err) {
    char path[64];
    struct stat info;
    snprintf(path, sizeof path, "/proc/%s", name);
    if (fstatat(proc_fd, name, &info, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : err_errno(err, errno, "stat %s", path);
    static const char *const empty[] = {"size", "4096", "nr_inodes", "2", "mode", "0555", NULL};
    const unsigned long attributes = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC;
    if (S_ISDIR(info.st_mode))
        return attach_new(root_fd, "tmpfs", empty, attributes | MOUNT_ATTR_NODEV, path, err);
    cleanup_fd int null_fd = openat(root_fd, "dev/null", O_PATH | O_CLOEXEC);
    return attach_clone(root_fd, null_fd, path, attributes, err);
}

static int enter(struct jail_build *build, struct err *err) {
    static const char *const options[] = {"hidepid", "invisible", NULL};
    int result = attach_new(build->root_fd, "proc", options,
                            MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, "/proc", err);
    cleanup_fd int proc_fd = -1;
    if (result == 0)
        result = attach_folder(build->root_fd, "/proc", &proc_fd, err);
    for (size_t i = 0; result == 0 && i < sizeof masked / sizeof masked[0]; i++)
        result = mask(build->root_fd, proc_fd, masked[i], err);
    return result;
}

const struct jail_step step_proc = {"proc", enter};
