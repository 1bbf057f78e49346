#include "session/parcel.h"

#include <stdatomic.h>
#include <string.h>
#include <zmq.h>

#include "base/mem.h"
#include "wire/multipart.h"

struct flow {
    atomic_uint references; /* the link's, and one for each parcel */
    atomic_size_t bytes;
};

struct parcel {
    struct flow *flow;
    atomic_uint references; /* one for each part that lies in it, and the maker's */
    size_t size;
    uint8_t data[];
};

struct flow *flow_create(void) {
    struct flow *flow = mem_zalloc(1, sizeof *flow);
    flow->references = 1;
    return flow;
}

void flow_unref(struct flow *flow) {
    if (atomic_fetch_sub(&flow->references, 1) == 1)
        mem_free(flow);
}

size_t flow_bytes(const struct flow *flow) {
    return flow->bytes;
}

static struct parcel *create(struct flow *flow, size_t size) {
    struct parcel *parcel = mem_alloc(sizeof *parcel + size);
    parcel->flow = flow;
    parcel->references = 1;
    parcel->size = size;
    flow->references++;
    flow->bytes += size;
    return parcel;
}

static void unref(struct parcel *parcel) {
    if (atomic_fetch_sub(&parcel->references, 1) != 1)
        return;
    atomic_fetch_sub(&parcel->flow->bytes, parcel->size);
    flow_unref(parcel->flow);
    mem_free(parcel);
}

/* On ZeroMQ's thread, mostly. */
static void release(void *data, void *hint) {
    (void)data;
    unref(hint);
}

static void send_copy(void *socket, struct slice part) {
    zmq_send(socket, part.data, part.size, ZMQ_DONTWAIT | ZMQ_SNDMORE);
}

/* Copies the part to *at in the parcel, sends it from there, and moves *at on. */
static void send_part(struct parcel *parcel, void *socket, struct slice part, bool more,
                      uint8_t **at) {
    zmq_msg_t msg;
    if (part.size)
        memcpy(*at, part.data, part.size);
    parcel->references++;
    zmq_msg_init_data(&msg, *at, part.size, release, parcel);
    if (zmq_msg_send(&msg, socket, ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0)) < 0)
        zmq_msg_close(&msg); /* nothing but the end of ZeroMQ */
    *at += part.size;
}

void parcel_send(struct flow *flow, void *socket, struct slice signature, const struct msg *msg) {
    struct parcel *parcel = create(flow, msg_size(msg));
    uint8_t *at = parcel->data;
    send_copy(socket, SLICE_LITERAL(MULTIPART_DELIMITER));
    send_copy(socket, signature);
    send_part(parcel, socket, msg->header, true, &at);
    send_part(parcel, socket, msg->parent_header, true, &at);
    send_part(parcel, socket, msg->metadata, true, &at);
    send_part(parcel, socket, msg->content, msg->buffer_count > 0, &at);
    for (size_t i = 0; i < msg->buffer_count; i++)
        send_part(parcel, socket, msg->buffers[i], i + 1 < msg->buffer_count, &at);
    unref(parcel);
}
