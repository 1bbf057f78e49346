/* privileges - the session's own user, and no capability anywhere. */
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jail/steps.h"

/* As many as a set can hold (linux/capability.h has two words of 32). */
enum { CAPABILITIES_MAX = 64 };

static int empty_bounding_set(struct err *err) {
    for (unsigned long number = 0; number < CAPABILITIES_MAX; number++)
        if (prctl(PR_CAPBSET_DROP, number, 0, 0, 0) < 0 && errno != EINVAL)
            return err_errno(err, errno, "drop capability %lu from the bounding set", number);
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
        return err_errno(err, errno, "empty the ambient set");
    return 0;
}

/* uid 0 would mean nothing, were it to be had. */
static int lock_securebits(struct err *err) {
    const unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED |
                               SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                               SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
    if (prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) < 0)
        return err_errno(err, errno, "lock the securebits");
    return 0;
}

static int change_ids(uid_t user, gid_t group, struct err *err) {
    if (setgroups(0, NULL) < 0)
        return err_errno(err, errno, "setgroups");
    if (setresgid(group, group, group) < 0)
        return err_errno(err, errno, "setresgid %u", group);
    if (setresuid(user, user, user) < 0)
        return err_errno(err, errno, "setresuid %u", user);
    return 0;
}

static int empty_capabilities(struct err *err) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[2] = {{0}};
    if (syscall(SYS_capset, &header, sets) < 0)
        return err_errno(err, errno, "capset");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return err_errno(err, errno, "no_new_privs");
    return 0;
}

int jail_drop_privileges(uid_t user, gid_t group, struct err *err) {
    int result = empty_bounding_set(err);
    if (result == 0)
        result = lock_securebits(err);
    if (result == 0)
        result = change_ids(user, group, err);
    if (result == 0)
        result = empty_capabilities(err);
    return result;
}

static int enter(struct jail_build *build, struct err *err) {
    /* The gateway reaches the kernel's sockets by their group (their folder is setgid). */
    umask(007);
    return jail_drop_privileges(build->plan->user, build->plan->group, err);
}

const struct jail_step step_privileges = {"privileges", enter};
