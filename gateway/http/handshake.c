#include "http/handshake.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "http/connection.h"
#include "http/tls.h"

/* A TLS record begins with its type, 22 for a handshake; HTTP with a method's capital letter. */
bool handshake_looks_plain(const struct connection *connection) {
    char first;
    return tls_is_untouched(connection->transport.tls) &&
           recv(connection->fd, &first, 1, MSG_PEEK) == 1 && first >= 'A' && first <= 'Z';
}

char *handshake_name_peer(int fd) {
    union {
        struct sockaddr any;
        struct sockaddr_in ipv4;
        struct sockaddr_in6 ipv6;
    } peer = {0};
    socklen_t size = sizeof peer;
    char host[INET6_ADDRSTRLEN] = "?"; /* who has left already has no address */
    getpeername(fd, &peer.any, &size);
    bool is_ipv6 = peer.any.sa_family == AF_INET6;
    inet_ntop(peer.any.sa_family,
              is_ipv6 ? (void *)&peer.ipv6.sin6_addr : (void *)&peer.ipv4.sin_addr, host,
              sizeof host);
    /* The port stands at the same place in both kinds of address. */
    return mem_format(is_ipv6 ? "[%s]:%u" : "%s:%u", host, ntohs(peer.ipv4.sin_port));
}

void handshake_report(const struct connection *connection, const char *why) {
    const struct http_handler *handler = &connection->server->handler;
    if (!tls_is_untouched(connection->transport.tls) && handler->on_handshake_failed)
        handler->on_handshake_failed(handler->context, connection->peer_name, why);
}

static struct connection *find_oldest(struct http_server *server) {
    struct connection *connection;
    list_for_each (connection, &server->connections, link)
        if (connection->state == STATE_HANDSHAKE)
            return connection;
    return NULL;
}

void handshake_make_room(struct http_server *server) {
    while (server->handshakes > server->limits.tls_handshakes) {
        struct connection *oldest = find_oldest(server);
        handshake_report(oldest, "more than tls_handshakes are under way");
        connection_destroy(oldest);
    }
}
