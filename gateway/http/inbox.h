/* inbox - bytes that came from a socket and wait to be read. Its one complication: an idle
 * connection holds no memory, so bytes are received into the server's scratch buffer and only what
 * is left over when the turn ends is copied into memory of the connection's own. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/slice.h"

struct transport;

enum { SCRATCH_SIZE = 256 * 1024 };

/* All zero is an empty inbox. */
struct inbox {
    uint8_t *data; /* what was received lies from begin to end */
    size_t begin, end, capacity;
    bool borrowed; /* data is the server's scratch buffer */
};

/* Receives once. needed is how many bytes the reader will want in one piece, as far as it knows.
 * Returns the bytes received, 0 at the end of the stream, or a negative errno. */
ssize_t inbox_receive(struct inbox *inbox, struct transport *transport, uint8_t *scratch,
                      size_t needed);
void inbox_consume(struct inbox *inbox, size_t size);
/* Gives the scratch buffer back; to be called before another inbox receives. */
void inbox_settle(struct inbox *inbox);
void inbox_finish(struct inbox *inbox);

static inline size_t inbox_size(const struct inbox *inbox) {
    return inbox->end - inbox->begin;
}
static inline uint8_t *inbox_data(const struct inbox *inbox) {
    return inbox->data + inbox->begin;
}
static inline struct slice inbox_slice(const struct inbox *inbox) {
    return slice_make(inbox_data(inbox), inbox_size(inbox));
}
