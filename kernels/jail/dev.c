/* dev - /dev: five devices that only compute, terminals of its own, shared memory. The devices are
 * files of this jail, because inotify and locks on the host's would meet other sessions; where root
 * may not make devices (some containers), they are the host's. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "jail/attach.h"
#include "jail/steps.h"

/* Numbers by Linux' devices.txt. /dev/tty is whatever terminal a process has, which is one of the
 * jail's own or none; a console would be the host's. */
static const struct {
    const char *path;
    unsigned major, minor;
} devices[] = {
    {"/dev/null", 1, 3},   {"/dev/zero", 1, 5},    {"/dev/full", 1, 7},
    {"/dev/random", 1, 8}, {"/dev/urandom", 1, 9}, {"/dev/tty", 5, 0},
};

static const struct {
    const char *path, *target;
} links[] = {
    {"/dev/fd", "/proc/self/fd"},       {"/dev/stdin", "/proc/self/fd/0"},
    {"/dev/stdout", "/proc/self/fd/1"}, {"/dev/stderr", "/proc/self/fd/2"},
    {"/dev/ptmx", "pts/ptmx"},
};

static int make_folder(int root_fd, struct err *err) {
    static const char *const options[] = {"size", "65536", "nr_inodes", "64", "mode", "0755", NULL};
    return attach_new(root_fd, "tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, "/dev",
                      err);
}

static int make_device(int root_fd, const char *path, dev_t number, struct err *err) {
    cleanup_fd int folder = -1;
    const char *name = strrchr(path, '/') + 1;
    int result = attach_folder(root_fd, "/dev", &folder, err);
    if (result < 0)
        return result;
    if (mknodat(folder, name, S_IFCHR | 0666, number) < 0 && errno == EPERM)
        return attach_host(root_fd, path, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC,
                           err);
    if (fchmodat(folder, name, 0666, 0) < 0)
        return err_errno(err, errno, "make %s", path);
    return 0;
}

static int make_terminals(int root_fd, struct err *err) {
    static const char *const options[] = {"newinstance", NULL,  "ptmxmode", "0666", "mode",
                                          "0620",        "max", "64",       NULL};
    return attach_new(root_fd, "devpts", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, "/dev/pts",
                      err);
}

static int make_shared_memory(const struct jail_build *build, struct err *err) {
    const struct jail_tmpfs memory = {
        .size_bytes = build->plan->shared_memory_bytes, .inodes = 10000, .mode = 01777};
    cleanup_fd int fd = -1;
    int result = jail_make_tmpfs(&memory, &fd, err);
    return result < 0 ? result : attach_mount(build->root_fd, fd, "/dev/shm", err);
}

/* Only this mount, not those below it. Its devices are meant to be opened. */
static int make_read_only(int root_fd, struct err *err) {
    cleanup_fd int fd = -1;
    int result = attach_folder(root_fd, "/dev", &fd, err);
    struct mount_attr set = {.attr_set = MOUNT_ATTR_RDONLY};
    if (result == 0 && mount_setattr(fd, "", AT_EMPTY_PATH, &set, sizeof set) < 0)
        result = err_errno(err, errno, "make /dev read-only");
    return result;
}

static int enter(struct jail_build *build, struct err *err) {
    int root_fd = build->root_fd, result = make_folder(root_fd, err);
    for (size_t i = 0; result == 0 && i < sizeof devices / sizeof devices[0]; i++)
        result =
            make_device(root_fd, devices[i].path, makedev(devices[i].major, devices[i].minor), err);
    for (size_t i = 0; result == 0 && i < sizeof links / sizeof links[0]; i++)
        result = attach_link(root_fd, links[i].path, links[i].target, err);
    if (result == 0)
        result = make_terminals(root_fd, err);
    if (result == 0)
        result = make_shared_memory(build, err);
    return result < 0 ? result : make_read_only(root_fd, err);
}

const struct jail_step step_dev = {"dev", enter};
