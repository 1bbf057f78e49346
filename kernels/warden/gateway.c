/* gateway - keeps one gateway process alive. Its one complication: a gateway's death ends every
 * jail (nobody else knows them), and the next one starts when they are gone, on the same listening
 * socket. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "jail/jail.h"
#include "warden/own_program.h"
#include "warden/say.h"
#include "warden/spawn.h"
#include "warden/strings.h"
#include "warden/warden.h"

enum {
    LEAVE_MS = 5000,      /* from being asked to leave to SIGKILL */
    DEATHS_MS = 10000,    /* as many deaths as struct gateway remembers in this time: given up */
    RESTART_STEP_MS = 50, /* the next start waits this long per recent death */
};

/* -- start */

/* Names of the warden's environment that tests of a test build need in the gateway. */
static void fill_environment(struct strings *ret_environment) {
    strings_add(ret_environment, "PATH=/usr/local/bin:/usr/bin:/bin");
    strings_add(ret_environment, "LANG=C.UTF-8");
#ifdef CELLBLOCK_TESTS
    static const char *const names[] = {"CELLBLOCK_PLANT", "CELLBLOCK_PROBE", "LLVM_PROFILE_FILE"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (getenv(names[i]))
            strings_add_take(ret_environment, mem_format("%s=%s", names[i], getenv(names[i])));
#endif
}

static void reset_signals(void) {
    for (int number = 1; number <= SIGRTMAX; number++)
        signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

enum { FDS_MAX = RPC_FD_LISTEN + PARAMS_LISTEN_MAX + 1 };

/* In the child: only returns on failure. */
static int become(const struct warden *warden, int link, int params, char *const *environment,
                  struct err *err) {
    if (setsid() < 0)
        return err_errno(err, errno, "setsid");
    reset_signals();
    int program = -1;
    int result = own_program_open("cellblock-gateway", &program, err);
    int fds[FDS_MAX] = {link, params};
    size_t count = RPC_FD_LISTEN - RPC_FD_WARDEN;
    for (size_t i = 0; i < warden->listeners.count; i++)
        fds[count++] = warden->listeners.items[i].fd;
    fds[count] = program;
    if (result == 0)
        result = jail_place_descriptors(fds, count + 1, STDERR_FILENO, err);
    if (result == 0)
        result = jail_drop_privileges((uid_t)warden->params.uid_base,
                                      (gid_t)warden->params.uid_base, err);
    if (result < 0)
        return result;
    program = RPC_FD_WARDEN + (int)count;
    fcntl(program, F_SETFD, FD_CLOEXEC);
    char *const argv[] = {"cellblock-gateway", NULL};
    execveat(program, "", argv, environment, AT_EMPTY_PATH);
    return err_errno(err, errno, "run cellblock-gateway");
}

static void on_link(struct source *source, uint32_t events);
static void on_process(struct source *source, uint32_t events);

static int watch(struct warden *warden, struct err *err) {
    struct gateway *gateway = &warden->gateway;
    int result = events_add(&warden->events, &gateway->process, EPOLLIN, err);
    return result < 0 ? result : events_add(&warden->events, &gateway->link, EPOLLIN, err);
}

int gateway_start(struct warden *warden, struct err *err) {
    struct gateway *gateway = &warden->gateway;
    cleanup_fd int params = -1;
    if (warden->is_announced)
        tls_files_open_again(&warden->tls_files, &warden->params);
    int result = params_write_fd(&warden->params, &params, err);
    if (result < 0)
        return result;
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return err_errno(err, errno, "socketpair");
    cleanup_fd int other = ends[1];
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    struct strings environment = {0};
    fill_environment(&environment);
    int pidfd;
    pid_t pid = spawn_fork(0, -1, &pidfd, err);
    if (pid == 0) {
        struct err problem;
        become(warden, other, params, environment.items, &problem);
        say("start the gateway: %s", problem.text);
        _exit(127);
    }
    strings_finish(&environment);
    if (pid < 0) {
        close(ends[0]);
        return (int)pid;
    }
    gateway->pid = pid;
    gateway->process = (struct source){pidfd, on_process};
    gateway->link = (struct source){ends[0], on_link};
    gateway->is_ready = false;
    gateway->kill_at_ms = gateway->start_at_ms = 0;
    result = watch(warden, err);
    data_tell(&warden->data, &gateway->outbox);
    tls_files_tell(&warden->tls_files, &gateway->outbox);
    specs_tell(&warden->specs, &gateway->outbox);
    gateway_flush(warden);
    return result;
}

/* -- its end */

static void close_link(struct warden *warden) {
    struct gateway *gateway = &warden->gateway;
    if (gateway->link.fd < 0)
        return;
    events_remove(&warden->events, &gateway->link);
    close(gateway->link.fd);
    gateway->link.fd = -1;
    outbox_finish(&gateway->outbox);
}

void gateway_end(struct warden *warden) {
    struct gateway *gateway = &warden->gateway;
    close_link(warden);
    if (!gateway->pid || gateway->kill_at_ms)
        return;
    gateway->kill_at_ms = events_now_ms() + LEAVE_MS;
}

void gateway_kill(struct warden *warden, const char *why) {
    struct gateway *gateway = &warden->gateway;
    if (gateway->pid) {
        say("killed gateway: %s", why);
        pidfd_send_signal(gateway->process.fd, SIGKILL, NULL, 0);
        gateway->kill_at_ms = INT64_MAX;
    }
    close_link(warden);
}

/* True where it died too often for another try. */
static bool note_death(struct gateway *gateway) {
    enum { COUNT = sizeof gateway->deaths_ms / sizeof gateway->deaths_ms[0] };
    int64_t now = events_now_ms(), recent = 0;
    memmove(gateway->deaths_ms, gateway->deaths_ms + 1,
            sizeof gateway->deaths_ms - sizeof gateway->deaths_ms[0]);
    gateway->deaths_ms[COUNT - 1] = now;
    for (int i = 0; i < COUNT; i++)
        recent += gateway->deaths_ms[i] && now - gateway->deaths_ms[i] < DEATHS_MS;
    gateway->start_at_ms = now + (recent - 1) * RESTART_STEP_MS;
    return recent == COUNT;
}

static void say_status(int status) {
    if (WIFSIGNALED(status))
        say("gateway ended: signal %d", WTERMSIG(status));
    else
        say("gateway ended: exit status %d", WEXITSTATUS(status));
}

/* It has said why. */
static bool is_hopeless(int status) {
    return WIFEXITED(status) && WEXITSTATUS(status) == RPC_EXIT_CONFIG;
}

static void on_process(struct source *source, uint32_t events) {
    (void)events;
    struct warden *warden = LIST_ENTRY(source, struct warden, gateway.process);
    struct gateway *gateway = &warden->gateway;
    int status = spawn_reap(source->fd);
    events_remove(&warden->events, source);
    close(source->fd);
    close_link(warden);
    gateway->pid = 0;
    if (!warden->is_ending || status != 0)
        say_status(status);
    if (!warden->is_ending && !warden->is_announced && is_hopeless(status)) {
        warden_end(warden, RPC_EXIT_CONFIG);
    } else if (!warden->is_ending && note_death(gateway)) {
        say("the gateway died too often: giving up");
        warden_end(warden, 1);
    }
    jails_end_all(warden);
}

/* -- its socket */

void gateway_flush(struct warden *warden) {
    struct gateway *gateway = &warden->gateway;
    struct err err;
    if (gateway->link.fd < 0) {
        outbox_finish(&gateway->outbox);
        return;
    }
    if (outbox_flush(&gateway->outbox, gateway->link.fd, &err) < 0) {
        gateway_end(warden);
        return;
    }
    /* A gateway that does not read its answers is not asked for more questions. */
    events_change(&warden->events, &gateway->link,
                  outbox_is_empty(&gateway->outbox) ? EPOLLIN : EPOLLOUT);
}

static void on_link(struct source *source, uint32_t events) {
    struct warden *warden = LIST_ENTRY(source, struct warden, gateway.link);
    if (events & EPOLLOUT) {
        gateway_flush(warden);
        return;
    }
    struct err err;
    int result = rpc_receive(source->fd, &warden->packet, &err);
    if (result == -EAGAIN)
        return;
    if (result == 0) {
        result = request_answer(warden, &err);
        rpc_packet_close(&warden->packet);
    }
    if (result == -EPIPE)
        gateway_end(warden);
    else if (result < 0)
        gateway_kill(warden, err.text);
}

int gateway_tick(struct warden *warden) {
    struct gateway *gateway = &warden->gateway;
    int64_t now = events_now_ms();
    if (gateway->pid && gateway->kill_at_ms && gateway->kill_at_ms <= now)
        gateway_kill(warden, "it did not leave");
    bool may_start = !gateway->pid && !warden->is_ending && list_is_empty(&warden->jails);
    if (may_start && gateway->start_at_ms <= now) {
        struct err err;
        if (gateway_start(warden, &err) < 0) {
            say("start the gateway: %s", err.text);
            warden_end(warden, 1);
        }
    }
    int64_t next = gateway->pid ? gateway->kill_at_ms : may_start ? gateway->start_at_ms : 0;
    if (next == 0 || next == INT64_MAX)
        return -1;
    return next > now ? (int)(next - now) : 0;
}
