/* link_read - messages of a kernel: taken from ZeroMQ, verified, told. A kernel may say anything.
 */
#include <assert.h>
#include <errno.h>
#include <zmq.h>

#include "session/link_parts.h"
#include "wire/multipart.h"

enum {
    PARTS_MAX = MSG_BUFFERS_MAX + 32,
    MESSAGES_A_TURN = 64,
    BYTES_A_TURN = 1024 * 1024, /* a millisecond or two: other kernels wait meanwhile */
};

struct received {
    zmq_msg_t parts[PARTS_MAX];
    struct slice slices[PARTS_MAX];
    size_t count;
    bool too_many;
};

/* All parts of one message; false where there is none. Parts beyond the bound are dropped. */
static bool receive_parts(void *socket, struct received *received) {
    received->count = 0;
    received->too_many = false;
    for (int more = 1; more;) {
        zmq_msg_t *part = &received->parts[received->count];
        zmq_msg_init(part);
        if (zmq_msg_recv(part, socket, ZMQ_DONTWAIT) < 0) {
            zmq_msg_close(part);
            assert(received->count ==
                   0); /* the parts of a message come together: zmq_msg_recv(3) */
            return false;
        }
        more = zmq_msg_more(part);
        received->slices[received->count] = slice_make(zmq_msg_data(part), zmq_msg_size(part));
        if (received->count + 1 < PARTS_MAX)
            received->count++;
        else {
            received->too_many = true;
            zmq_msg_close(part);
        }
    }
    return true;
}

static int read_message(struct wire *wire, struct received *received, struct err *err) {
    struct link *link = wire->link;
    struct slice signature;
    size_t identities;
    struct msg msg = {.channel = wire->channel};
    if (received->too_many)
        return err_set(err, EMSGSIZE, "a message of more than %d parts", PARTS_MAX);
    int result =
        multipart_read(received->slices, received->count, &identities, &signature, &msg, err);
    /* What is too large to be passed on is not worth the time: of it only the headers count. */
    if (result == 0 && msg_size(&msg) <= (size_t)link->message_max)
        result = signer_verify(link->signer, &msg, signature, err);
    struct msg_header header = {0}, parent = {0};
    if (result == 0)
        result = msg_header_parse(msg.header, &header, err);
    if (result == 0)
        result = msg_header_parse(msg.parent_header, &parent, err);
    if (result == 0) {
        msg.channel = wire->channel;
        link->events.on_message(link->events.context, &msg, &header, &parent);
    }
    msg_header_finish(&header);
    msg_header_finish(&parent);
    return result;
}

/* The bytes of what was read; 0 where nothing was there. */
static size_t read_one(struct wire *wire) {
    static struct received received; /* large, and used by one call at a time on the one thread */
    if (!receive_parts(wire->socket, &received))
        return 0;
    struct err err;
    if (read_message(wire, &received, &err) < 0) {
        err_wrap(&err, "%s message of the kernel", msg_channel_name(wire->channel));
        wire->link->events.on_refused(wire->link->events.context, &err);
    }
    size_t bytes = 1;
    for (size_t i = 0; i < received.count; i++) {
        bytes += received.slices[i].size;
        zmq_msg_close(&received.parts[i]);
    }
    return bytes;
}

bool link_read(struct wire *wire) {
    size_t bytes = 0;
    for (int count = 0; count < MESSAGES_A_TURN && bytes < BYTES_A_TURN; count++) {
        size_t read = read_one(wire);
        if (!read)
            return false;
        bytes += read;
    }
    return true;
}
