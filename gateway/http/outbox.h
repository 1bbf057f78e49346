/* outbox - bytes on their way to a socket. What the socket takes at once is never copied; what has
 * to wait lies in an evbuffer, large pieces by reference. Sends with MSG_NOSIGNAL, so nothing
 * depends on who ignores SIGPIPE. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/bytes.h"
#include "base/slice.h"

struct evbuffer;

/* All zero but for fd is an empty outbox. */
struct outbox {
    int fd;                 /* borrowed */
    struct evbuffer *queue; /* NULL: nothing waits */
    uint64_t handed;        /* bytes that outbox_send was ever given */
    uint64_t taken;         /* of them, those that the socket has taken */
};

enum { PIECES_MAX = 4 };

struct piece {
    struct slice data;
    struct bytes *owner; /* what data lies in, referenced while it waits; NULL: it is copied */
};

/* Sends the pieces in one system call where nothing waits, else queues them. 0, or a negative errno
 * when the socket is broken. */
int outbox_send(struct outbox *outbox, const struct piece *pieces, size_t count);
/* Sends once from the queue. Returns the bytes sent (0: not now) or a negative errno. */
ssize_t outbox_flush(struct outbox *outbox);
/* Bytes that wait. */
size_t outbox_size(const struct outbox *outbox);
/* How many of the handed bytes the peer's TCP has acknowledged. The system still knows it when the
 * connection was reset, timed out or half closed (seen), but not once fd is closed. Over a unix
 * socket it is what the peer has read, or less. */
uint64_t outbox_acknowledged(const struct outbox *outbox);
/* Whether bytes are under way of which nothing at all was acknowledged for so long. A peer that
 * reads nothing acknowledges all the same (tcp(7): TCP_INFO). */
bool outbox_is_unheard(const struct outbox *outbox, int64_t for_ms);
void outbox_finish(struct outbox *outbox);
