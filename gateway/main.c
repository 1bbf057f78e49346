/* main - the gateway's process: filter, parameters, rooms, loop. It is started by the warden with
 * the descriptors of rpc.h, has no privilege, and leaves when its warden does. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

#include "auth/auth.h"
#include "base/mem.h"
#include "certificates.h"
#include "config/params.h"
#include "filter.h"
#include "http/http.h"
#include "jupyter/jupyter.h"
#include "loop/loop.h"
#include "observe/log.h"
#include "report/report.h"
#include "rpc/rpc.h"
#include "session/data_names.h"
#include "session/kernels.h"
#include "session/parameters.h"
#include "session/specs.h"
#include "session/warden.h"

enum { ZMQ_SOCKETS_MAX = 32768 };

struct gateway {
    struct params params;
    struct loop *loop;
    void *zmq;
    struct loop_watch *signals;
    int signal_fd;
    struct warden *warden;
    struct data_names data;
    struct parameters_context parameters; /* of params and data */
    struct specs specs;
    struct auth auth;
    uid_t users[PARAMS_USERS_MAX];
    struct kernels *kernels;
    struct jupyter *jupyter;
    struct http_server *server;
    bool listening;
    bool is_secure; /* TLS is there */
    int status;
};

static void on_trouble(const char *kernel_id, const char *sentence) {
    log_event(LOG_LEVEL_WARNING, "kernel trouble", LOG_TEXT("id", kernel_id),
              LOG_TEXT("reason", sentence));
}

enum { HANDSHAKE_LINES = 10 }; /* in a second: strangers can make as many as they like */

static void on_handshake_failed(void *context, const char *peer, const char *why) {
    static time_t second;
    static int64_t count;
    time_t now = time(NULL);
    (void)context;
    if (now != second && count > HANDSHAKE_LINES)
        log_event(LOG_LEVEL_WARNING, "more TLS handshakes failed",
                  LOG_NUMBER("count", count - HANDSHAKE_LINES));
    count = now == second ? count + 1 : 1;
    second = now;
    if (count > HANDSHAKE_LINES)
        return;
    log_event(LOG_LEVEL_WARNING, "TLS handshake failed", LOG_TEXT("client", peer),
              LOG_TEXT("reason", why));
}

/* -- the warden ------------------------------------------------------------------------------- */

static void fail(struct gateway *gateway, const struct err *err) {
    log_event(LOG_LEVEL_ERROR, "gateway fails", LOG_TEXT("reason", err->text));
    gateway->status = 1;
    loop_stop(gateway->loop);
}

/* All kernelspecs are known: from here on requests are answered. */
static void start_listening(struct gateway *gateway) {
    struct err err;
    gateway->listening = true;
    for (size_t i = 0; i < gateway->params.listen.count; i++) {
        if (http_server_listen_take(gateway->server, RPC_FD_LISTEN + (int)i, &err) < 0) {
            fail(gateway, &err);
            return;
        }
    }
    struct rpc_head ready = {.kind = RPC_READY};
    warden_request(gateway->warden, &ready, sizeof ready, (struct slice){0}, NULL, NULL);
}

/* At the start they must be right; later a mistake leaves the old ones. */
static void use_certificates(struct gateway *gateway, const struct rpc_packet *packet) {
    struct err err;
    if (certificates_use(gateway->server, &gateway->params, packet, &err) == 0) {
        gateway->is_secure = true;
    } else if (gateway->is_secure) {
        log_event(LOG_LEVEL_ERROR, "certificates stay as they were", LOG_TEXT("reason", err.text));
    } else {
        fail(gateway, &err);
        gateway->status = RPC_EXIT_CONFIG;
    }
}

static void on_event(void *context, struct rpc_packet *packet) {
    struct gateway *gateway = context;
    struct err err;
    switch (packet->head.kind) {
    case RPC_SPEC:
        if (specs_add(&gateway->specs, &gateway->parameters, packet, &err) < 0)
            log_event(LOG_LEVEL_WARNING, "kernelspec left out", LOG_TEXT("reason", err.text));
        break;
    case RPC_TLS:
        use_certificates(gateway, packet);
        break;
    case RPC_DATA:
        data_names_add(&gateway->data, &packet->data);
        break;
    case RPC_SPECS_END:
        specs_keep_generation(&gateway->specs, packet->specs_end.generation);
        if (!gateway->listening && gateway->status == 0)
            start_listening(gateway);
        break;
    case RPC_TREE_SOCKETS:
    case RPC_TREE_ENDED:
        kernels_on_event(gateway->kernels, packet);
        break;
    }
}

/* A gateway without a warden can do nothing but leave; that is also how a warden that ends asks it
 * to. */
static void on_warden_gone(void *context, const struct err *err) {
    struct gateway *gateway = context;
    if (err->code == EPIPE)
        loop_stop(gateway->loop);
    else
        fail(gateway, err);
}

/* -- start and end ---------------------------------------------------------------------------- */

static void on_signal(void *context) {
    struct gateway *gateway = context;
    struct signalfd_siginfo info;
    if (read(gateway->signal_fd, &info, sizeof info) == sizeof info)
        loop_stop(gateway->loop);
}

static void watch_signals(struct gateway *gateway) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL); /* before ZeroMQ's threads, which inherit it */
    signal(SIGPIPE, SIG_IGN);
    gateway->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    gateway->signals = loop_watch_create(gateway->loop, gateway->signal_fd, on_signal, gateway);
}

static struct http_limits limits_of(const struct params *params) {
    return (struct http_limits){
        .head = params->http_head_bytes,
        .headers = (unsigned)params->http_headers,
        .body = params->http_body_bytes,
        .connections = (unsigned)params->http_connections,
        .head_ms = params->http_head_ms,
        .body_ms = params->http_body_ms,
        .idle_ms = params->http_idle_ms,
        .ws_message = params->ws_message_bytes,
        .ws_fragments = (unsigned)params->ws_fragments,
        .ws_queue = params->ws_queue_bytes,
        .ws_deflate = params->ws_deflate_bytes,
        .ws_ping_ms = params->ws_ping_ms,
        .ws_dead_ms = params->ws_dead_ms,
        .ws_close_ms = params->ws_close_ms,
        .tls_handshake_ms = params->tls_handshake_ms,
        .tls_handshakes = (unsigned)params->tls_handshakes,
    };
}

static unsigned count_connections(void *context) {
    const struct gateway *gateway = context;
    return http_server_connections(gateway->server);
}

static bool admits_any_page(const struct params *params) {
    for (size_t i = 0; i < params->allow_origin.count; i++)
        if (strcmp(params->allow_origin.items[i], "*") == 0)
            return true;
    return false;
}

static void set_up_auth(struct gateway *gateway) {
    const struct params *params = &gateway->params;
    gateway->auth = (struct auth){.base = slice_from_text(params->base_url),
                                  .token = slice_from_text(params->token),
                                  .is_open = params->no_token,
                                  .any_page = admits_any_page(params),
                                  .users = gateway->users,
                                  .user_count = params->socket_users.count};
    for (size_t i = 0; i < params->socket_users.count; i++)
        gateway->users[i] = (uid_t)strtoul(params->socket_users.items[i], NULL, 10);
}

static void open_rooms(struct gateway *gateway) {
    gateway->loop = loop_create();
    watch_signals(gateway);
    gateway->zmq = zmq_ctx_new();
    zmq_ctx_set(gateway->zmq, ZMQ_MAX_SOCKETS, ZMQ_SOCKETS_MAX);
    struct warden_events events = {on_event, on_warden_gone, gateway};
    gateway->warden = warden_create_take(gateway->loop, RPC_FD_WARDEN, &events);
    gateway->kernels = kernels_create(&(struct kernels_context){.loop = gateway->loop,
                                                                .zmq = gateway->zmq,
                                                                .warden = gateway->warden,
                                                                .params = &gateway->params,
                                                                .on_trouble = on_trouble});
    gateway->parameters = (struct parameters_context){&gateway->params, &gateway->data};
    set_up_auth(gateway);
    gateway->jupyter = jupyter_create(&(struct jupyter_context){.loop = gateway->loop,
                                                                .auth = &gateway->auth,
                                                                .params = &gateway->params,
                                                                .specs = &gateway->specs,
                                                                .parameters = &gateway->parameters,
                                                                .kernels = gateway->kernels,
                                                                .connections = count_connections,
                                                                .connections_context = gateway});
    struct http_limits limits = limits_of(&gateway->params);
    struct http_handler handler = {.on_request = jupyter_on_request,
                                   .on_handshake_failed = on_handshake_failed,
                                   .on_refusal = jupyter_on_refusal,
                                   .context = gateway->jupyter};
    gateway->server = http_server_create(gateway->loop, &limits, &handler);
}

static void close_rooms(struct gateway *gateway) {
    http_server_destroy(gateway->server);
    jupyter_destroy(gateway->jupyter);
    kernels_destroy(gateway->kernels);
    warden_destroy(gateway->warden);
    specs_finish(&gateway->specs);
    zmq_ctx_term(gateway->zmq);
    loop_watch_destroy(gateway->signals);
    close(gateway->signal_fd);
    loop_destroy(gateway->loop);
    params_finish(&gateway->params);
}

static int serve(void) {
    struct gateway gateway = {0};
    struct err err;
    if (filter_install(&err) < 0 || params_read_fd(RPC_FD_PARAMS, &gateway.params, &err) < 0) {
        log_event(LOG_LEVEL_ERROR, "gateway cannot start", LOG_TEXT("reason", err.text));
        return 1;
    }
    filter_probe_if_asked();
    close(RPC_FD_PARAMS);
    open_rooms(&gateway);
    loop_run(gateway.loop);
    close_rooms(&gateway);
    return gateway.status;
}

int main(void) {
    prctl(PR_SET_NAME, "cellblock-gatew"); /* else the descriptor's number, by which it was run */
    report_begin("gateway", "-");
    return report_end(serve());
}
