#include "http/transport.h"

#include <assert.h>
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "http/plain.h"
#include "http/tls.h"

/* Of what the socket has taken; counts our FIN too. */
static uint64_t unacknowledged(const struct transport *transport) {
    int bytes;
    int result = ioctl(transport->fd, SIOCOUTQ, &bytes);
    assert(result == 0);
    return (uint64_t)bytes;
}

/* The peer's end frees what it has not read, and then nothing is under way any more. */
static uint64_t read_by_neighbour(struct transport *transport) {
    uint64_t left = unacknowledged(transport);
    struct pollfd end = {.fd = transport->fd};
    poll(&end, 1, 0);
    transport->is_reset |= (end.revents & POLLERR) != 0;
    if (!transport->is_reset && left <= transport->taken)
        transport->known = transport->taken - left;
    return transport->known;
}

ssize_t transport_receive(struct transport *transport, void *buffer, size_t size) {
    ssize_t got = transport->tls ? tls_receive(transport->tls, buffer, size)
                                 : plain_receive(transport->fd, buffer, size);
    transport->is_reset |= got < 0 && got != -EAGAIN;
    return got;
}

bool transport_has_unread(const struct transport *transport) {
    return transport->tls && tls_has_unread(transport->tls);
}

ssize_t transport_discard(struct transport *transport, void *scratch, size_t size) {
    return plain_receive(transport->fd, scratch, size);
}

ssize_t transport_send(struct transport *transport, const struct iovec *iovecs, size_t count) {
    if (transport->is_local)
        read_by_neighbour(transport);
    ssize_t sent = transport->tls ? tls_send(transport->tls, iovecs, count)
                                  : plain_send(transport->fd, iovecs, count);
    if (sent > 0)
        transport->taken += (size_t)sent;
    transport->is_reset |= sent < 0;
    return sent;
}

size_t transport_waiting(const struct transport *transport) {
    return transport->tls ? tls_waiting(transport->tls) : 0;
}

int transport_flush(struct transport *transport) {
    return transport->tls ? tls_flush(transport->tls) : 0;
}

void transport_end(struct transport *transport) {
    if (transport->tls)
        tls_end(transport->tls);
}

uint64_t transport_acknowledged(struct transport *transport) {
    if (transport->is_local)
        return read_by_neighbour(transport);
    uint64_t left = unacknowledged(transport);
    if (transport->tls)
        return tls_acknowledged(transport->tls, left);
    return left > transport->taken ? 0 : transport->taken - left;
}

bool transport_is_unheard(const struct transport *transport, int64_t for_ms) {
    struct tcp_info info;
    socklen_t size = sizeof info;
    return getsockopt(transport->fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
           info.tcpi_unacked > 0 && info.tcpi_last_ack_recv > for_ms;
}
