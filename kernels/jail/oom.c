/* oom - where memory runs out, the kernel ends what is in a jail before anything of the host. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "jail/steps.h"

/* Of -1000 to 1000; raising it needs no privilege (proc(5)). pid 1's: the program that it runs
 * raises its own further (init/program.c), so pid 1, with which everything ends, is the last to be
 * chosen. */
static const char score[] = "700";

static int enter(struct jail_build *build, struct err *err) {
    (void)build;
    cleanup_fd int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, score, sizeof score - 1) != (ssize_t)(sizeof score - 1))
        return err_errno(err, errno, "write /proc/self/oom_score_adj");
    return 0;
}

const struct jail_step step_oom = {"oom", enter};
