/* namespaces - a session's network and ipc namespaces, which its trees share; and the identity of a
 * tree's own: no terminal, a host name that says nothing. */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "jail/steps.h"

const uint64_t jail_clone_flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUTS;

static const char host_name[] = "cellblock";

static int enter(struct jail_build *build, struct err *err) {
    const struct jail_plan *plan = build->plan;
    if (setns(plan->net_fd, CLONE_NEWNET) < 0)
        return err_errno(err, errno, "join the network namespace");
    if (setns(plan->ipc_fd, CLONE_NEWIPC) < 0)
        return err_errno(err, errno, "join the ipc namespace");
    if (sethostname(host_name, sizeof host_name - 1) < 0)
        return err_errno(err, errno, "sethostname");
    /* A terminal of the warden's must not be the jail's: TIOCSTI types into it. */
    if (setsid() < 0)
        return err_errno(err, errno, "setsid");
    return 0;
}

const struct jail_step step_namespaces = {"namespaces", enter};

/* ipykernel loses what its children print where lo is down. */
static int raise_loopback(struct err *err) {
    cleanup_fd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request) < 0)
        return err_errno(err, errno, "raise lo");
    return 0;
}

static int open_namespace(const char *path, int *ret_fd, struct err *err) {
    *ret_fd = open(path, O_RDONLY | O_CLOEXEC);
    return *ret_fd < 0 ? err_errno(err, errno, "open %s", path) : 0;
}

/* Leaves the caller in the new namespaces. */
static int make(int *ret_net_fd, int *ret_ipc_fd, struct err *err) {
    if (unshare(CLONE_NEWNET | CLONE_NEWIPC) < 0)
        return err_errno(err, errno, "unshare network and ipc");
    cleanup_fd int net = -1, ipc = -1;
    int result = raise_loopback(err);
    if (result == 0)
        result = open_namespace("/proc/self/ns/net", &net, err);
    if (result == 0)
        result = open_namespace("/proc/self/ns/ipc", &ipc, err);
    if (result < 0)
        return result;
    *ret_net_fd = take_fd(&net);
    *ret_ipc_fd = take_fd(&ipc);
    return 0;
}

int jail_make_namespaces(int *ret_net_fd, int *ret_ipc_fd, struct err *err) {
    cleanup_fd int own_net = -1, own_ipc = -1;
    int result = open_namespace("/proc/self/ns/net", &own_net, err);
    if (result == 0)
        result = open_namespace("/proc/self/ns/ipc", &own_ipc, err);
    if (result < 0)
        return result;
    result = make(ret_net_fd, ret_ipc_fd, err);
    /* A warden that cannot go back home would bind nothing and reach nobody. */
    if (setns(own_net, CLONE_NEWNET) < 0 || setns(own_ipc, CLONE_NEWIPC) < 0)
        abort();
    return result;
}
