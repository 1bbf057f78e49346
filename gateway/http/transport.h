/* transport - the bytes of one connection, to and from its socket, plain or over TLS. Positions and
 * sizes are those of the plain bytes, whatever TLS makes of them. Sends with MSG_NOSIGNAL, so
 * nothing depends on who ignores SIGPIPE. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct iovec;
struct tls;

struct transport {
    int fd;          /* borrowed */
    struct tls *tls; /* NULL: plain; owned by the connection */
    uint64_t taken;  /* bytes that transport_send has taken */
    bool is_local;   /* a unix socket, */
    bool is_reset;   /* whose peer left without reading all */
    uint64_t known;  /* what it had read when that was last asked for */
};

/* Bytes received, 0 at the end of the stream, -EAGAIN, or another negative errno; -EPROTO where the
 * peer breaks TLS (tls_trouble). Handshakes happen in here. */
ssize_t transport_receive(struct transport *transport, void *buffer, size_t size);
/* Something was received that no readable socket will tell of. */
bool transport_has_unread(const struct transport *transport);
/* Throws away what has come. Like transport_receive, with what is none of the stream any more. */
ssize_t transport_discard(struct transport *transport, void *scratch, size_t size);
/* Sends from the pieces. Returns the bytes taken (0: not now) or a negative errno. */
ssize_t transport_send(struct transport *transport, const struct iovec *iovecs, size_t count);
/* Bytes taken that the socket has not taken yet, and another try. 0 or a negative errno. */
size_t transport_waiting(const struct transport *transport);
int transport_flush(struct transport *transport);
/* Says that nothing more will be sent: behind it only transport_flush and shutdown(2). */
void transport_end(struct transport *transport);
/* How many of the bytes taken the peer's TCP has acknowledged. The system still knows it when the
 * connection was reset, timed out or half closed (seen), but not once fd is closed. Over a unix
 * socket it is what the peer has read; where that left without reading all, the system forgets it,
 * and the answer is what was so at the last send or question (unix(7) lacks this; seen). */
uint64_t transport_acknowledged(struct transport *transport);
/* Whether bytes are under way of which nothing at all was acknowledged for so long. A peer that
 * reads nothing acknowledges all the same (tcp(7): TCP_INFO). */
bool transport_is_unheard(const struct transport *transport, int64_t for_ms);
