/* outbox - bytes on their way out. What the transport takes at once is never copied; what has to
 * wait lies in an evbuffer, large pieces by reference. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/bytes.h"
#include "base/slice.h"

struct evbuffer;
struct transport;

/* All zero but for the transport is an empty outbox. */
struct outbox {
    struct transport *transport; /* borrowed */
    struct evbuffer *queue;      /* NULL: nothing waits */
    uint64_t handed;             /* bytes that outbox_send was ever given */
};

enum { PIECES_MAX = 4 };

struct piece {
    struct slice data;
    struct bytes *owner; /* what data lies in, referenced while it waits; NULL: it is copied */
};

/* Sends the pieces in one system call where nothing waits, else queues them. 0, or a negative errno
 * when the socket is broken. */
int outbox_send(struct outbox *outbox, const struct piece *pieces, size_t count);
/* Sends once from what waits. Returns by how many bytes that became less (0: not now) or a negative
 * errno. */
ssize_t outbox_flush(struct outbox *outbox);
/* Bytes that wait, those that the transport holds among them. */
size_t outbox_size(const struct outbox *outbox);
void outbox_finish(struct outbox *outbox);
