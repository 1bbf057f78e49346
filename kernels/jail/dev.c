/* dev - /dev: five devices that only compute, terminals of its own, shared memory. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>

#include "base/cleanup.h"
#include "jail/attach.h"
#include "jail/steps.h"

static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random",
                                      "/dev/urandom"};

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

/* Only this mount, not those below it. */
static int make_read_only(int root_fd, struct err *err) {
    cleanup_fd int fd = -1;
    int result = attach_folder(root_fd, "/dev", &fd, err);
    struct mount_attr set = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV};
    if (result == 0 && mount_setattr(fd, "", AT_EMPTY_PATH, &set, sizeof set) < 0)
        result = err_errno(err, errno, "make /dev read-only");
    return result;
}

static int enter(struct jail_build *build, struct err *err) {
    int root_fd = build->root_fd, result = make_folder(root_fd, err);
    for (size_t i = 0; result == 0 && i < sizeof devices / sizeof devices[0]; i++)
        result = attach_host(root_fd, devices[i], devices[i],
                             MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, err);
    for (size_t i = 0; result == 0 && i < sizeof links / sizeof links[0]; i++)
        result = attach_link(root_fd, links[i].path, links[i].target, err);
    if (result == 0)
        result = make_terminals(root_fd, err);
    if (result == 0)
        result = make_shared_memory(build, err);
    return result < 0 ? result : make_read_only(root_fd, err);
}

const struct jail_step step_dev = {"dev", enter};
