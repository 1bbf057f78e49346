/* audit - as whom the host's audit log knows what happens here: the session's user. A process whose
 * login id was never set, as a service's, may take anybody's (audit(7)); one that has it keeps it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "jail/steps.h"

static int enter(struct jail_build *build, struct err *err) {
    cleanup_fd int fd = open("/proc/self/loginuid", O_WRONLY | O_CLOEXEC);
    if (fd < 0) /* a kernel without audit */
        return errno == ENOENT ? 0 : err_errno(err, errno, "open /proc/self/loginuid");
    char text[16];
    snprintf(text, sizeof text, "%u", build->plan->user);
    /* EPERM: somebody's already, and not to be changed. */
    if (write(fd, text, strlen(text)) < 0 && errno != EPERM)
        return err_errno(err, errno, "write /proc/self/loginuid");
    return 0;
}

const struct jail_step step_audit = {"audit", enter};
