/* server - listeners and accepting. Its one complication: when descriptors run out, accept fails at
 * once again and again, so the listeners rest for a moment. */
#include "http/server.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "http/connection.h"
#include "http/inbox.h"
#include "http/tls.h"
#include "http/ws_deflate.h"
#include "loop/loop.h"

enum {
    BACKLOG = 1024,
    ACCEPTS_PER_TURN = 64,
    ACCEPT_REST_MS = 100,
    REFUSED_MAX = 64 /* connections above the limit that are told so at the same time */
};

struct listener {
    struct http_server *server;
    struct list link;
    int fd;
    bool tcp;
    struct event *acceptable;
};

static void rest(struct http_server *server) {
    struct listener *listener;
    list_for_each (listener, &server->listeners, link)
        event_del(listener->acceptable);
    loop_timer_start(server->accept_again, ACCEPT_REST_MS);
}

static void go_on(void *context) {
    struct http_server *server = context;
    struct listener *listener;
    list_for_each (listener, &server->listeners, link)
        event_add(listener->acceptable, NULL);
}

static void welcome(struct http_server *server, int fd, bool tcp) {
    static const int on = 1;
    if (tcp)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (server->open < server->limits.connections + REFUSED_MAX)
        connection_open_take(server, fd, tcp, server->open >= server->limits.connections);
    else
        close(fd);
}

/* accept(2): errors of the one connection that was to be accepted, not of the listener. */
static bool is_of_the_peer(int error) {
    static const int errors[] = {ECONNABORTED, EPROTO,       ENOPROTOOPT, EHOSTDOWN,
                                 ENONET,       EHOSTUNREACH, EOPNOTSUPP,  ENETUNREACH,
                                 ENETDOWN,     EINTR,        EPERM};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i] == error)
            return true;
    return false;
}

static void on_acceptable(evutil_socket_t fd, short what, void *argument) {
    (void)what;
    struct listener *listener = argument;
    for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
        int accepted = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (accepted >= 0)
            welcome(listener->server, accepted, listener->tcp);
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            return;
        else if (!is_of_the_peer(errno))
            return rest(listener->server);
    }
}

static bool is_tcp(int fd) {
    int domain = 0;
    socklen_t size = sizeof domain;
    getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size);
    return domain == AF_INET || domain == AF_INET6;
}

int http_server_listen_take(struct http_server *server, int fd, struct err *err) {
    if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0 || listen(fd, BACKLOG) < 0) {
        int error = errno;
        close(fd);
        return err_errno(err, error, "listen");
    }
    struct listener *listener = mem_zalloc(1, sizeof *listener);
    listener->server = server;
    listener->fd = fd;
    listener->tcp = is_tcp(fd);
    list_append(&server->listeners, &listener->link);
    listener->acceptable =
        event_new(loop_base(server->loop), fd, EV_READ | EV_PERSIST, on_acceptable, listener);
    event_add(listener->acceptable, NULL);
    return 0;
}

struct http_server *http_server_create(struct loop *loop, const struct http_limits *limits,
                                       const struct http_handler *handler) {
    struct http_server *server = mem_zalloc(1, sizeof *server);
    server->loop = loop;
    server->limits = *limits;
    server->handler = *handler;
    list_init(&server->listeners);
    list_init(&server->connections);
    server->accept_again = loop_timer_create(loop, go_on, server);
    server->scratch = mem_alloc(SCRATCH_SIZE);
    server->deflate = ws_deflate_create();
    return server;
}

int http_server_use_tls(struct http_server *server, const struct http_tls *tls, struct err *err) {
    SSL_CTX *settings;
    int result = tls_settings_create(tls, &settings, err);
    if (result < 0)
        return result;
    SSL_CTX_free(server->tls);
    server->tls = settings;
    return 0;
}

static void destroy_listener(struct listener *listener) {
    event_free(listener->acceptable);
    close(listener->fd);
    list_remove(&listener->link);
    mem_free(listener);
}

void http_server_destroy(struct http_server *server) {
    if (!server)
        return;
    struct listener *listener;
    list_for_each (listener, &server->listeners, link)
        destroy_listener(listener);
    while (!list_is_empty(&server->connections))
        connection_destroy(LIST_ENTRY(server->connections.next, struct connection, link));
    loop_timer_destroy(server->accept_again);
    SSL_CTX_free(server->tls);
    mem_free(server->scratch);
    ws_deflate_destroy(server->deflate);
    mem_free(server);
}

unsigned http_server_connections(const struct http_server *server) {
    return server->open;
}

const char *server_date(struct http_server *server) {
    time_t now = time(NULL);
    if (now != server->date_at) {
        struct tm tm;
        gmtime_r(&now, &tm);
        strftime(server->date, sizeof server->date, "%a, %d %b %Y %H:%M:%S GMT", &tm);
        server->date_at = now;
    }
    return server->date;
}
