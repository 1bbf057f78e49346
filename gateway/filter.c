#include "filter.h"

#include <errno.h>
#include <linux/sockios.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41 /* Linux 5.17; not in the headers of Debian 12 */
#endif
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

/* CLONE_NEWTIME shares its bit with the exit signal of clone, which threads have none of. */
#define CLONE_NAMESPACES                                                                           \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |  \
     CLONE_NEWNET | CLONE_NEWTIME)

#define ACTION_ALLOW SCMP_ACT_ALLOW
#define ACTION_REFUSE SCMP_ACT_ERRNO(EPERM)
#define ACTION_ABSENT SCMP_ACT_ERRNO(ENOSYS)

struct rule {
    const char *name;
    uint32_t action;
    unsigned condition_count; /* 0 or 1 */
    struct scmp_arg_cmp condition;
};

static const struct rule rules[] = {
#define FILTER(action, name) {#name, ACTION_##action, 0, {0}},
#define FILTER_IF(action, name, argument, compare, a, b)                                           \
    {#name, ACTION_##action, 1, {argument, SCMP_CMP_##compare, a, b}},
#include "filter.def"
};

static int add_rules(scmp_filter_ctx filter, struct err *err) {
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        int number = seccomp_syscall_resolve_name(rules[i].name), r;
        /* Asking for what is the default already is an error to libseccomp. */
        if (number < 0 || rules[i].action == ACTION_ABSENT)
            continue;
        r = seccomp_rule_add_array(filter, rules[i].action, number, rules[i].condition_count,
                                   &rules[i].condition);
        if (r < 0)
            return err_errno(err, -r, "system call filter: %s", rules[i].name);
    }
    return 0;
}

static int load(scmp_filter_ctx filter, struct err *err) {
    int r;
    if ((r = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS)) < 0 ||
        (r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1)) < 0 ||
        (r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 1)) < 0)
        return err_errno(err, -r, "system call filter: attributes");
    if ((r = add_rules(filter, err)) < 0)
        return r;
    r = seccomp_load(filter);
    return r < 0 ? err_errno(err, -r, "load the system call filter") : 0;
}

int filter_install(struct err *err) {
    scmp_filter_ctx filter = seccomp_init(ACTION_ABSENT);
    if (!filter)
        return err_set(err, ENOMEM, "system call filter: libseccomp gives none");
    int r = load(filter, err);
    seccomp_release(filter);
    return r;
}
