#include "http/transport.h"

#include <assert.h>
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "http/plain.h"
#include "http/tls.h"

ssize_t transport_receive(struct transport *transport, void *buffer, size_t size) {
    return transport->tls ? tls_receive(transport->tls, buffer, size)
                          : plain_receive(transport->fd, buffer, size);
}

bool transport_has_unread(const struct transport *transport) {
    return transport->tls && tls_has_unread(transport->tls);
}

ssize_t transport_discard(struct transport *transport, void *scratch, size_t size) {
    return plain_receive(transport->fd, scratch, size);
}

ssize_t transport_send(struct transport *transport, const struct iovec *iovecs, size_t count) {
    ssize_t sent = transport->tls ? tls_send(transport->tls, iovecs, count)
                                  : plain_send(transport->fd, iovecs, count);
    if (sent > 0)
        transport->taken += (size_t)sent;
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

uint64_t transport_acknowledged(const struct transport *transport) {
    int unacknowledged; /* counts our FIN too */
    int result = ioctl(transport->fd, SIOCOUTQ, &unacknowledged);
    assert(result == 0);
    if (transport->tls)
        return tls_acknowledged(transport->tls, (uint64_t)unacknowledged);
    if ((uint64_t)unacknowledged > transport->taken)
        return 0;
    return transport->taken - (uint64_t)unacknowledged;
}

bool transport_is_unheard(const struct transport *transport, int64_t for_ms) {
    struct tcp_info info;
    socklen_t size = sizeof info;
    return getsockopt(transport->fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
           info.tcpi_unacked > 0 && info.tcpi_last_ack_recv > for_ms;
}
