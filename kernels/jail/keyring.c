/* keyring - a session keyring of its own, taken before the filter closes these calls: what the
 * warden's keeps is not to be had. */
#include <errno.h>
#include <linux/keyctl.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jail/steps.h"

static int enter(struct jail_build *build, struct err *err) {
    (void)build;
    /* ENOSYS: a kernel without keys has none to share. */
    if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS)
        return err_errno(err, errno, "join a session keyring");
    return 0;
}

const struct jail_step step_keyring = {"keyring", enter};
