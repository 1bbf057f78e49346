/* main - the warden: `cellblock serve`. It reads its parameters, binds the address, starts a
 * gateway and from then on does what that asks for: jails, and trees of processes in them. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "jail/jail.h"
#include "report/report.h"
#include "warden/bound.h"
#include "warden/listen.h"
#include "warden/open_files.h"
#include "warden/own_program.h"
#include "warden/say.h"
#include "warden/sockets.h"
#include "warden/warden.h"

/* What was asked for cannot be, whatever the machine. */
enum { EXIT_USAGE = 2 };

void warden_end(struct warden *warden, int exit_status) {
    if (!warden->is_ending)
        warden->exit_status = exit_status;
    warden->is_ending = true;
    gateway_end(warden);
    jails_end_all(warden);
}

static void read_again(struct warden *warden) {
    data_read_again(&warden->data);
    if (tls_files_open_again(&warden->tls_files, &warden->params))
        tls_files_tell(&warden->tls_files, &warden->gateway.outbox);
    specs_read(&warden->specs, &warden->params);
    bound_say(&warden->specs, &warden->data, &warden->said);
    specs_tell(&warden->specs, &warden->gateway.outbox);
    gateway_flush(warden);
}

static void on_signal(struct source *source, uint32_t events) {
    (void)events;
    struct warden *warden = LIST_ENTRY(source, struct warden, signals);
    struct signalfd_siginfo info;
    if (read(source->fd, &info, sizeof info) != (ssize_t)sizeof info)
        return;
    if (info.ssi_signo == SIGHUP)
        read_again(warden);
    else
        warden_end(warden, 0);
}

static int watch_signals(struct warden *warden, struct err *err) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    signal(SIGPIPE, SIG_IGN);
    /* Somebody who ignored SIGINT for us (a shell's background job) does not keep it from us. */
    signal(SIGINT, SIG_DFL);
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return err_errno(err, errno, "sigprocmask");
    int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        return err_errno(err, errno, "signalfd");
    warden->signals = (struct source){fd, on_signal};
    return events_add(&warden->events, &warden->signals, EPOLLIN, err);
}

/* Descriptors 0 to 2 exist, so that nothing of ours becomes one of them; whoever started us gave us
 * no others; and there may be many. */
static void settle_descriptors(void) {
    int fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO)
        fd = dup(fd);
    close_range(STDERR_FILENO + 1, ~0U, 0);
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static int fit_open_files(struct params *params, struct err *err) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return err_errno(err, errno, "getrlimit");
    return open_files_fit(params, limit.rlim_cur, err);
}

static void prepare_members(struct warden *warden) {
    list_init(&warden->jails);
    outbox_init(&warden->gateway.outbox);
    warden->gateway.link.fd = -1;
    warden->init_fd = -1;
    tls_files_init(&warden->tls_files);
    uids_init(&warden->uids, (uid_t)warden->params.uid_base + 1,
              (uint32_t)warden->params.uid_count - 1);
    if (!warden->params.no_token)
        params_make_token(&warden->params);
}

static int begin(struct warden *warden, struct err *err) {
    int result = fit_open_files(&warden->params, err);
    if (result == 0)
        result = own_program_find(err);
    if (result == 0)
        result = watch_signals(warden, err);
    if (result == 0)
        result = sockets_init(warden, err);
    if (result == 0)
        result = jail_prepare(&warden->prepared, err);
    if (result == 0 && jail_prepared_lacks(warden->prepared)[0])
        say("%s", jail_prepared_lacks(warden->prepared));
    if (result == 0)
        result = own_program_load("cellblock-init", &warden->init_fd, err);
    if (result == 0)
        result = data_read(&warden->data, &warden->params, err);
    if (result == 0)
        result = tls_files_open(&warden->tls_files, &warden->params, err);
    if (result == 0)
        result = listeners_bind(&warden->listeners, &warden->params, err);
    if (result < 0)
        return result;
    specs_read(&warden->specs, &warden->params);
    bound_say(&warden->specs, &warden->data, &warden->said);
    return 0;
}

static bool is_over(const struct warden *warden) {
    return warden->is_ending && !warden->gateway.pid && list_is_empty(&warden->jails);
}

/* Of two waits, where -1 waits without end. */
static int sooner(int a_ms, int b_ms) {
    return b_ms < 0 || (a_ms >= 0 && a_ms < b_ms) ? a_ms : b_ms;
}

static void run(struct warden *warden) {
    while (!is_over(warden)) {
        int gateway_ms = gateway_tick(warden), jails_ms = jails_tick(warden);
        if (!is_over(warden))
            events_wait(&warden->events, sooner(gateway_ms, jails_ms));
    }
}

static void finish(struct warden *warden) {
    if (warden->is_announced && warden->params.ready_file[0])
        unlink(warden->params.ready_file);
    const int fds[] = {warden->init_fd, warden->signals.fd, warden->folders.fd};
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] > STDERR_FILENO)
            close(fds[i]);
    listeners_finish(&warden->listeners);
    jail_prepared_destroy(warden->prepared);
    outbox_finish(&warden->gateway.outbox);
    specs_finish(&warden->specs);
    strings_finish(&warden->said);
    data_finish(&warden->data);
    tls_files_finish(&warden->tls_files);
    uids_finish(&warden->uids);
    params_finish(&warden->params);
    events_finish(&warden->events);
}

/* Takes over params. */
static int serve(struct params *params) {
    static struct warden warden;
    warden.params = *params;
    struct err err;
    if (events_init(&warden.events, &err) < 0) {
        say("%s", err.text);
        return 1;
    }
    prepare_members(&warden);
    if (begin(&warden, &err) < 0) {
        say("%s", err.text);
        warden.exit_status = 1;
    } else {
        run(&warden);
    }
    finish(&warden);
    return warden.exit_status;
}

static int start(int argc, char **argv) {
    settle_descriptors();
    umask(022);
    struct params params;
    struct err err;
    int result = params_load(argc, argv, environ, &params, &err);
    if (result == PARAMS_HELP)
        params_print_help(stdout);
    else if (result == PARAMS_VERSION)
        printf("cellblock %s\n", CELLBLOCK_VERSION);
    else if (result < 0)
        fprintf(stderr, "cellblock serve: %s\n", err.text);
    else if (geteuid() != 0)
        fprintf(stderr, "cellblock serve: root is needed: jails without it are not there yet\n");
    else
        return serve(&params);
    if (result == 0)
        params_finish(&params);
    if (result == -EINVAL)
        return EXIT_USAGE;
    return result > 0 ? 0 : 1;
}

int main(int argc, char **argv) {
    report_begin("warden", "-");
    return report_end(start(argc, argv));
}
