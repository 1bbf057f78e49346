#include "warden/spawn.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "init/init.h"

pid_t spawn_fork(uint64_t clone_flags, int group_fd, int *ret_pidfd, struct err *err) {
    int pidfd = -1;
    struct clone_args args = {
        .flags = clone_flags | CLONE_PIDFD, .pidfd = (uintptr_t)&pidfd, .exit_signal = SIGCHLD};
    if (group_fd >= 0) {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = (uint64_t)group_fd;
    }
    pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
    if (pid < 0)
        return err_errno(err, errno, "clone3");
    if (pid > 0)
        *ret_pidfd = pidfd;
    return pid;
}

int spawn_reap(int pidfd) {
    siginfo_t info = {0};
    int result;
    do
        result = waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED);
    while (result < 0 && errno == EINTR);
    assert(result == 0);
    return info.si_code == CLD_EXITED ? info.si_status << 8 : info.si_status;
}

/* Says over the link what init.h has for it, in place of the pid 1 that will not be. */
static void report_failure(int link, const struct err *err) {
    struct init_report report = {.kind = INIT_FAILED, .value = err->code};
    size_t size = strlen(err->text);
    memcpy(report.output, err->text, size);
    send(link, &report, INIT_REPORT_HEAD + size, MSG_NOSIGNAL);
}

/* In the child. The kept descriptors become INIT_FD_LINK and the one behind it. */
static void become_init(struct spawn_tree *tree) {
    const int keep[] = {tree->link, tree->init_fd};
    tree->plan.keep = keep;
    tree->plan.keep_count = 2;
    struct err err;
    if (jail_enter(&tree->plan, &err) < 0) {
        report_failure(tree->link, &err);
        return;
    }
    fcntl(INIT_FD_LINK + 1, F_SETFD, FD_CLOEXEC);
    execveat(INIT_FD_LINK + 1, "", tree->argv, tree->environment, AT_EMPTY_PATH);
    err_errno(&err, errno, "run pid 1");
    report_failure(INIT_FD_LINK, &err);
}

int spawn_tree(struct spawn_tree *tree, int *ret_pidfd, struct err *err) {
    cleanup_fd int group = jail_leaf_open(tree->plan.session, tree->plan.tree);
    pid_t pid = spawn_fork(jail_clone_flags, group, ret_pidfd, err);
    if (pid < 0)
        return (int)pid;
    if (pid == 0) {
        become_init(tree);
        _exit(1);
    }
    return 0;
}
