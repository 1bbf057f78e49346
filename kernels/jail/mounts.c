/* mounts - the session's workspace, /tmp and the folder of the kernel's sockets. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jail/steps.h"

static int enter(const struct jail_plan *plan, struct err *err) {
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return err_errno(err, errno, "make / private");
    if (mount("tmpfs", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755") < 0 ||
        mkdir("/run/kernel", 0755) < 0 ||
        move_mount(plan->run_fd, "", AT_FDCWD, "/run/kernel", MOVE_MOUNT_F_EMPTY_PATH) < 0)
        return err_errno(err, errno, "mount /run/kernel");
    return 0;
}

const struct jail_step step_mounts = {"mounts", enter};
