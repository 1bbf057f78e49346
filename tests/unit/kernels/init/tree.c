#include "tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct init_report tree_report;

static void become_init(char *const argv[], int link) {
    char *environment[] = {"PATH=/usr/bin:/bin", NULL};
    signal(SIGINT, SIG_IGN); /* as for a shell's background job */
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("proc", "/proc", "proc", 0, NULL) < 0)
        _exit(3);
    int null = open("/dev/null", O_RDWR);
    dup2(null, 0);
    dup2(null, 1);
    dup2(null, 2);
    dup2(link, INIT_FD_LINK);
    close_range(INIT_FD_LINK + 1, ~0U, 0);
    const struct rlimit least = {INIT_OPEN_FILES_LEAST, INIT_OPEN_FILES_LEAST};
    setrlimit(RLIMIT_NOFILE, &least);
    execve(TEST_PROGRAMS "/cellblock-init", argv, environment);
    _exit(4);
}

static struct tree start(char *port, char *sockets, char *directory, char *script) {
    char *program = script ? "/bin/sh" : "/does/not/exist";
    char *argv[] = {"init", "tag", port, sockets, directory, program, "-c", script, NULL};
    int ends[2], pidfd = -1;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    struct clone_args args = {.flags = CLONE_NEWPID | CLONE_NEWNS | CLONE_PIDFD,
                              .pidfd = (uintptr_t)&pidfd,
                              .exit_signal = SIGCHLD};
    pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
    assert_true(pid >= 0);
    if (pid == 0)
        become_init(argv, ends[1]);
    close(ends[1]);
    return (struct tree){pid, pidfd, ends[0]};
}

struct tree tree_start(char *script) {
    return start("0", "", "", script);
}

struct tree tree_start_in(char *directory, char *script) {
    return start("0", "", directory, script);
}

struct tree tree_start_bridge(char *script, int port, char *sockets) {
    char number[16];
    snprintf(number, sizeof number, "%d", port);
    return start(number, sockets, "", script);
}

size_t tree_await_report(const struct tree *tree) {
    ssize_t size = recv(tree->link, &tree_report, sizeof tree_report, 0);
    assert_true(size >= INIT_REPORT_HEAD);
    return (size_t)size - INIT_REPORT_HEAD;
}

void tree_await_start(const struct tree *tree) {
    tree_await_report(tree);
    assert_int_equal(tree_report.kind, INIT_STARTED);
}

void tree_order(const struct tree *tree, int number) {
    struct init_signal packet = {number};
    assert_int_equal(send(tree->link, &packet, sizeof packet, 0), sizeof packet);
}

int tree_finish(struct tree *tree) {
    int status;
    assert_int_equal(waitpid(tree->pid, &status, 0), tree->pid);
    close(tree->pidfd);
    close(tree->link);
    return status;
}
