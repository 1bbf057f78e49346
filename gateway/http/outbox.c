#include "http/outbox.h"

#include <assert.h>
#include <event2/buffer.h>
#include <sys/uio.h>

#include "http/transport.h"

enum {
    REFERENCE_MIN = 4096, /* below it a copy costs less than a reference's own memory */
    IOVECS_MAX = 64,
};

static ssize_t send_pieces(struct transport *transport, const struct piece *pieces, size_t count) {
    struct iovec iovecs[PIECES_MAX] = {{0}};
    assert(count <= PIECES_MAX);
    for (size_t i = 0; i < count; i++)
        iovecs[i] = (struct iovec){(void *)pieces[i].data.data, pieces[i].data.size};
    return transport_send(transport, iovecs, count);
}

static void drop_reference(const void *data, size_t size, void *owner) {
    (void)data, (void)size;
    bytes_unref(owner);
}

static void queue_piece(struct outbox *outbox, struct slice data, struct bytes *owner) {
    int result;
    if (!outbox->queue)
        outbox->queue = evbuffer_new();
    if (owner && data.size >= REFERENCE_MIN)
        result = evbuffer_add_reference(outbox->queue, data.data, data.size, drop_reference,
                                        bytes_ref(owner));
    else
        result = evbuffer_add(outbox->queue, data.data, data.size);
    assert(result == 0);
}

int outbox_send(struct outbox *outbox, const struct piece *pieces, size_t count) {
    for (size_t i = 0; i < count; i++)
        outbox->handed += pieces[i].data.size;
    ssize_t sent = outbox->queue ? 0 : send_pieces(outbox->transport, pieces, count);
    if (sent < 0)
        return (int)sent;
    for (size_t i = 0, skip = (size_t)sent; i < count; i++) {
        size_t size = pieces[i].data.size, done = skip < size ? skip : size;
        skip -= done;
        if (done < size)
            queue_piece(outbox, slice_from(pieces[i].data, done), pieces[i].owner);
    }
    return 0;
}

static int send_queue(struct outbox *outbox) {
    struct evbuffer_iovec iovecs[IOVECS_MAX];
    int count = evbuffer_peek(outbox->queue, -1, NULL, iovecs, IOVECS_MAX);
    if (count > IOVECS_MAX)
        count = IOVECS_MAX;
    ssize_t sent = transport_send(outbox->transport, iovecs, (size_t)count);
    if (sent < 0)
        return (int)sent;
    evbuffer_drain(outbox->queue, (size_t)sent);
    if (evbuffer_get_length(outbox->queue) == 0)
        outbox_finish(outbox);
    return 0;
}

ssize_t outbox_flush(struct outbox *outbox) {
    size_t before = outbox_size(outbox);
    int result = outbox->queue ? send_queue(outbox) : transport_flush(outbox->transport);
    if (result < 0)
        return result;
    size_t after = outbox_size(outbox); /* more where TLS took bytes and the socket did not */
    return after < before ? (ssize_t)(before - after) : 0;
}

size_t outbox_size(const struct outbox *outbox) {
    size_t queued = outbox->queue ? evbuffer_get_length(outbox->queue) : 0;
    return queued + transport_waiting(outbox->transport);
}

void outbox_finish(struct outbox *outbox) {
    if (outbox->queue)
        evbuffer_free(outbox->queue);
    outbox->queue = NULL;
}
