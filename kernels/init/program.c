/* program - see program.h. Its one complication: exec fails in the child, so the child writes errno
 * to a pipe that a successful exec closes. */
#include "init/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "init/directory.h"

/* Whoever started the warden may have ignored signals, SIGINT most of all (a shell's background
 * job): a program that inherits that cannot be interrupted. */
static void reset_signals(void) {
    for (int number = 1; number <= SIGRTMAX; number++)
        signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The kernel ends the program before pid 1 where memory runs out; that is with every privilege
 * gone. What pid 1's PR_SET_DUMPABLE hides is its own until exec. */
static void raise_oom_score(void) {
    static const char score[] = "800";
    prctl(PR_SET_DUMPABLE, 1);
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && write(fd, score, sizeof score - 1) < 0)
        errno = 0; /* then both have the same */
    if (fd >= 0)
        close(fd);
}

static void become(const char *directory, char *const argv[], char *const environment[],
                   int output) {
    if (setsid() < 0 || dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0)
        return;
    reset_signals();
    raise_oom_score();
    directory_enter(directory);
    execve(argv[0], argv, environment);
}

/* 0 once the child has become the program, else its errno. */
static int await_exec(int fd) {
    int code = 0;
    ssize_t count;
    do
        count = read(fd, &code, sizeof code);
    while (count < 0 && errno == EINTR);
    return count == (ssize_t)sizeof code ? code : 0;
}

pid_t program_start(const char *directory, char *const argv[], char *const environment[],
                    int *ret_output) {
    int output[2], failure[2];
    if (pipe2(output, O_CLOEXEC) < 0 || pipe2(failure, O_CLOEXEC) < 0 ||
        fcntl(output[0], F_SETFL, O_NONBLOCK) < 0)
        return -errno;
    pid_t pid = fork();
    if (pid < 0)
        return -errno;
    if (pid == 0) {
        become(directory, argv, environment, output[1]);
        int code = errno;
        ssize_t written = write(failure[1], &code, sizeof code);
        _exit(written == (ssize_t)sizeof code ? 127 : 126);
    }
    close(output[1]);
    close(failure[1]);
    int code = await_exec(failure[0]);
    close(failure[0]);
    if (code) {
        waitpid(pid, NULL, 0);
        close(output[0]);
        return -code;
    }
    *ret_output = output[0];
    return pid;
}
