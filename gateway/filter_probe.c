/* filter_probe - tries from inside what the filter must refuse, in test builds. Raw calls: what
 * libc makes of them is not the question. */
#include "filter.h"

#ifdef CELLBLOCK_TESTS

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static long try_execve(void) {
    static char *const argv[] = {"/bin/true", NULL};
    return syscall(SYS_execve, argv[0], argv, argv + 1);
}

/* A child that should not be leaves at once. */
static long try_fork(void) {
    long pid = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid == 0)
        syscall(SYS_exit_group, 0);
    return pid;
}

static long try_ptrace(void) {
    return syscall(SYS_ptrace, PTRACE_SEIZE, syscall(SYS_getppid), NULL, NULL);
}

static long try_mount(void) {
    return syscall(SYS_mount, "none", "/tmp", "tmpfs", 0, NULL);
}

static long try_netlink(void) {
    long fd = syscall(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        close((int)fd);
    return fd;
}

static const struct {
    const char *name;
    long (*attempt)(void);
} attempts[] = {
    {"execve", try_execve}, {"fork", try_fork},       {"ptrace", try_ptrace},
    {"mount", try_mount},   {"netlink", try_netlink},
};

void filter_probe(FILE *out) {
    for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++) {
        long r = attempts[i].attempt();
        fprintf(out, "%s %s\n", attempts[i].name, r < 0 ? strerrorname_np(errno) : "allowed");
    }
    fflush(out);
}

void filter_probe_if_asked(void) {
    if (getenv("CELLBLOCK_PROBE"))
        filter_probe(stderr);
}

#endif
