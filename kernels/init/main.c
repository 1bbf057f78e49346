/* init - pid 1 of a tree: runs one program, reaps orphans, forwards group signals, drains the
 * program's output, bridges a kernel that speaks tcp only, and ends everything by ending itself.
 * See init.h.
 *
 * Its one complication: it has the user of what it watches over. It cannot be killed or stopped
 * from inside (the kernel spares pid 1 of a namespace from signals it has no handler for), its
 * limits and memory cannot be touched (the filter, PR_SET_DUMPABLE), and it believes nothing it is
 * told but by the warden. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "init/bridge.h"
#include "init/init.h"
#include "init/output.h"
#include "init/program.h"
#include "report_static/report_static.h"

enum { ARGUMENT_TAG = 1, ARGUMENT_PORT, ARGUMENT_SOCKETS, ARGUMENT_DIRECTORY, ARGUMENT_PROGRAM };

/* Exit statuses of pid 1; the warden learns what happened from reports. */
enum { ENDED = 0, WARDEN_GONE = 1, BROKEN = 2 };

/* A pipe holds 1 MiB at most (fs.pipe-max-size): what is in it when the program ends is read, what
 * a process that outlives it goes on to write is not. */
enum { LAST_READS = 1024 * 1024 / INIT_OUTPUT_MAX };

enum { OWN_POLLED = 3 };
static_assert(OWN_POLLED + BRIDGE_POLLED <= INIT_OPEN_FILES_LEAST, "poll would always fail");

static struct output output = {.fd = -1};
static pid_t program;

/* The warden reads whenever it is told something, so this waits for a moment at most. */
static void report(uint32_t kind, int32_t value) {
    static struct init_report packet;
    size_t size;
    const uint8_t *tail = output_tail(&output, &size);
    packet.kind = kind;
    packet.value = value;
    memcpy(packet.output, tail, size);
    send(INIT_FD_LINK, &packet, INIT_REPORT_HEAD + size, MSG_NOSIGNAL);
}

static void report_last(int status) {
    for (int i = 0; i < LAST_READS && output_read(&output); i++)
        ;
    if (WIFSIGNALED(status))
        report(INIT_SIGNALED, WTERMSIG(status));
    else
        report(INIT_EXITED, WEXITSTATUS(status));
}

/* True once the program has ended. */
static bool reap(int signals) {
    struct signalfd_siginfo info;
    while (read(signals, &info, sizeof info) == (ssize_t)sizeof info)
        ;
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0;)
        if (pid == program) {
            report_last(status);
            return true;
        }
    return false;
}

/* False once the warden is gone. */
static bool obey(void) {
    struct init_signal order;
    ssize_t size = recv(INIT_FD_LINK, &order, sizeof order, MSG_DONTWAIT);
    if (size == (ssize_t)sizeof order)
        kill(-program, order.signal);
    return size > 0 || (size < 0 && (errno == EAGAIN || errno == EINTR));
}

static int watch(int signals) {
    for (;;) {
        struct pollfd polled[OWN_POLLED + BRIDGE_POLLED] = {
            {INIT_FD_LINK, POLLIN, 0}, {signals, POLLIN, 0}, {output.fd, POLLIN, 0}};
        bridge_fill(polled + OWN_POLLED);
        if (poll(polled, OWN_POLLED + BRIDGE_POLLED, bridge_wait_ms()) < 0)
            continue;
        if (polled[0].revents && !obey())
            return WARDEN_GONE;
        if (polled[1].revents && reap(signals))
            return ENDED;
        if (polled[2].revents)
            output_read(&output);
        bridge_serve(polled + OWN_POLLED);
    }
}

/* Every signal is blocked, so that none ends pid 1 when it has a parent namespace's say behind it.
 */
static int open_signals(void) {
    sigset_t all, children;
    sigfillset(&all);
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    if (sigprocmask(SIG_SETMASK, &all, NULL) < 0)
        return -1;
    return signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
}

int main(int argc, char **argv) {
    if (argc <= ARGUMENT_PROGRAM || prctl(PR_SET_DUMPABLE, 0) < 0 ||
        prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || fcntl(INIT_FD_LINK, F_SETFD, FD_CLOEXEC) < 0)
        return BROKEN;
    report_static_begin("init", argv[ARGUMENT_TAG]);
    report_static_plant("init");
    int signals = open_signals();
    if (signals < 0)
        return report_static_end(BROKEN);
    program = program_start(argv[ARGUMENT_DIRECTORY], argv + ARGUMENT_PROGRAM, environ, &output.fd);
    if (program < 0) {
        report(INIT_FAILED, -program);
        return report_static_end(ENDED);
    }
    report(INIT_STARTED, 0);
    int first_port = atoi(argv[ARGUMENT_PORT]);
    if (first_port)
        bridge_begin(argv[ARGUMENT_SOCKETS], first_port);
    return report_static_end(watch(signals));
}
