/* proc - /proc of the tree's own pid namespace, where a process sees those it may trace. What it
 * would say of the machine is written for the session's limits (machine.c) and mounted over it; the
 * rest of it says nothing about the host that is of use to an attacker or tells what others do. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "jail/attach.h"
#include "jail/machine.h"

/* Not every kernel has each of them. */
static const char *const masked[] = {
    "acpi",
    "asound",
    "buddyinfo",
    "bus",
    "cmdline",
    "config.gz",
    "diskstats",
    "driver",
    "fs",
    "interrupts",
    "iomem",
    "ioports",
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
    "mdstat",
    "modules",
    "mtrr",
    "pagetypeinfo",
    "partitions",
    "pressure",
    "sched_debug",
    "schedstat",
    "scsi",
    "slabinfo",
    "softirqs",
    "swaps",
    "sysrq-trigger",
    "sysvipc",
    "timer_list",
    "tty",
    "vmallocinfo",
    "zoneinfo",
    "sys/fs/aio-nr",
    "sys/fs/dentry-state",
    "sys/fs/file-nr",
    "sys/fs/inode-nr",
    "sys/fs/inode-state",
    "sys/kernel/core_pattern",
};

enum { COVER = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC };

/* Over a folder the empty one, over a file the jail's /dev/null. */
static int mask(const struct jail_build *build, int proc_fd, int null_fd, const char *name,
                struct err *err) {
    char path[64];
    struct stat info;
    snprintf(path, sizeof path, "/proc/%s", name);
    if (fstatat(proc_fd, name, &info, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : err_errno(err, errno, "stat %s", path);
    bool is_folder = S_ISDIR(info.st_mode);
    return attach_part(build->root_fd, is_folder ? build->empty_fd : null_fd, path,
                       is_folder ? COVER | MOUNT_ATTR_NODEV : COVER, err);
}

static int mask_all(const struct jail_build *build, struct err *err) {
    cleanup_fd int proc_fd = -1, null_fd = openat(build->root_fd, "dev/null", O_PATH | O_CLOEXEC);
    int result = attach_folder(build->root_fd, "/proc", &proc_fd, err);
    for (size_t i = 0; result == 0 && i < sizeof masked / sizeof masked[0]; i++)
        result = mask(build, proc_fd, null_fd, masked[i], err);
    return result;
}

/* In the folder that /proc will be mounted on, where nobody sees it by another name. ret_fd is -1
 * where the host's own will do. */
static int write_file(int root_fd, const struct machine *machine, const struct machine_file *file,
                      int *ret_fd, struct err *err) {
    cleanup_text struct text text = {0};
    if (!file->write(machine, &text))
        return 0;
    int result = attach_file(root_fd, file->path, text.data, err);
    if (result < 0)
        return result;
    *ret_fd = openat(root_fd, file->path + 1, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    return *ret_fd < 0 ? err_errno(err, errno, "open %s", file->path) : 0;
}

static int mount_proc(const struct jail_build *build, struct err *err) {
    static const char *const options[] = {"hidepid", "invisible", NULL};
    return attach_new(build->root_fd, "proc", options,
                      MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, "/proc", err);
}

static int enter(struct jail_build *build, struct err *err) {
    const struct machine machine = machine_of(build->plan);
    int fds[MACHINE_FILES], result = 0; /* closed with all others */
    memset(fds, -1, sizeof fds);
    for (size_t i = 0; result == 0 && i < MACHINE_FILES; i++)
        result = write_file(build->root_fd, &machine, &machine_files[i], &fds[i], err);
    if (result == 0)
        result = mount_proc(build, err);
    for (size_t i = 0; result == 0 && i < MACHINE_FILES; i++)
        if (fds[i] >= 0)
            result = attach_part(build->root_fd, fds[i], machine_files[i].path,
                                 COVER | MOUNT_ATTR_NODEV, err);
    return result < 0 ? result : mask_all(build, err);
}

const struct jail_step step_proc = {"proc", enter};
