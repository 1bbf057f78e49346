#include "echo/message.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <zmq.h>

#include "base/mem.h"
#include "echo/kernel.h"
#include "msg/build.h"

static void *socket_of(struct kernel *kernel, enum msg_channel channel) {
    static const enum connection_port ports[MSG_CHANNEL_COUNT] = {
        [MSG_SHELL] = CONNECTION_SHELL,
        [MSG_CONTROL] = CONNECTION_CONTROL,
        [MSG_STDIN] = CONNECTION_STDIN,
        [MSG_IOPUB] = CONNECTION_IOPUB,
    };
    return kernel->sockets[ports[channel]];
}

/* Appends one part to bytes. Its size, or a negative errno. */
static int64_t receive_part(void *socket, struct text *bytes, bool *ret_more) {
    zmq_msg_t part;
    zmq_msg_init(&part);
    int size;
    do
        size = zmq_msg_recv(&part, socket, ZMQ_DONTWAIT);
    while (size < 0 && zmq_errno() == EINTR);
    if (size < 0)
        return -zmq_errno();
    text_append(bytes, slice_make(zmq_msg_data(&part), zmq_msg_size(&part)));
    *ret_more = zmq_msg_more(&part);
    int64_t part_size = (int64_t)zmq_msg_size(&part);
    zmq_msg_close(&part);
    return part_size;
}

/* All parts of one message, of which the first REQUEST_PARTS_MAX are told. The count of all, or
 * -EAGAIN. */
static int64_t receive_parts(void *socket, struct request *request) {
    size_t sizes[REQUEST_PARTS_MAX];
    int64_t count = 0;
    for (bool more = true; more; count++) {
        int64_t size = receive_part(socket, &request->bytes, &more);
        if (size < 0)
            return size;
        if (count < REQUEST_PARTS_MAX)
            sizes[count] = (size_t)size;
    }
    const uint8_t *at = (const uint8_t *)request->bytes.data;
    for (int64_t i = 0; i < count && i < REQUEST_PARTS_MAX; i++) {
        request->parts[i] = slice_make(at, sizes[i]);
        at += sizes[i];
    }
    return count;
}

static int read_request(struct kernel *kernel, size_t count, struct request *request,
                        struct err *err) {
    if (count > REQUEST_PARTS_MAX)
        return err_set(err, EMSGSIZE, "%zu parts", count);
    struct slice signature;
    int error = multipart_read(request->parts, count, &request->identity_count, &signature,
                               &request->msg, err);
    if (!error)
        error = signer_verify(kernel->signer, &request->msg, signature, err);
    if (!error)
        error = msg_header_parse(request->msg.header, &request->header, err);
    return error;
}

int request_receive(struct kernel *kernel, enum msg_channel channel, struct request *ret_request) {
    ret_request->bytes = (struct text){0};
    ret_request->header = (struct msg_header){0};
    int64_t count = receive_parts(socket_of(kernel, channel), ret_request);
    struct err err = {0};
    int error = count < 0 ? (int)count : read_request(kernel, (size_t)count, ret_request, &err);
    ret_request->msg.channel = channel;
    if (error && error != -EAGAIN)
        fprintf(stderr, "a message on %s is dropped: %s\n", msg_channel_name(channel), err.text);
    if (error)
        request_finish(ret_request);
    return error;
}

void request_finish(struct request *request) {
    text_finish(&request->bytes);
    msg_header_finish(&request->header);
}

static void send_part(void *socket, struct slice part, bool more) {
    while (zmq_send(socket, part.data, part.size, more ? ZMQ_SNDMORE : 0) < 0) {
        if (zmq_errno() != EINTR)
            return; /* to nobody: a ROUTER drops it, and so does this */
    }
}

static void send_parts(void *socket, const struct slice *parts, size_t count, bool more) {
    for (size_t i = 0; i < count; i++)
        send_part(socket, parts[i], more || i + 1 < count);
}

static int64_t now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void message_send(struct kernel *kernel, const struct outgoing *outgoing) {
    char date[MSG_DATE_SIZE], id[KERNEL_ID_SIZE + 24], signature[SIGN_HEX_SIZE];
    msg_format_date(now_us(), date);
    snprintf(id, sizeof id, "%s_%" PRIu64, kernel->session, ++kernel->sent);
    struct msg_origin origin = {id, kernel->session, "echo", date};
    struct msg_built built =
        msg_build(outgoing->channel, outgoing->msg_type, &origin, outgoing->parent_header,
                  SLICE_LITERAL("{}"), outgoing->content);
    struct slice parts[MULTIPART_FIXED] = {
        SLICE_LITERAL(MULTIPART_DELIMITER),
        slice_make(signature, signer_sign(kernel->signer, &built.msg, signature)),
        built.msg.header,
        built.msg.parent_header,
        built.msg.metadata,
        built.msg.content,
    };
    void *socket = socket_of(kernel, outgoing->channel);
    send_parts(socket, outgoing->prefix, outgoing->prefix_count, true);
    send_parts(socket, parts, MULTIPART_FIXED, outgoing->buffer_count > 0);
    send_parts(socket, outgoing->buffers, outgoing->buffer_count, false);
    msg_built_finish(&built);
}

void message_reply(struct kernel *kernel, const struct request *request, const char *msg_type,
                   struct slice content) {
    struct outgoing reply = {
        .channel = request->msg.channel,
        .msg_type = msg_type,
        .prefix = request->parts,
        .prefix_count = request->identity_count,
        .parent_header = request->msg.header,
        .content = content,
    };
    message_send(kernel, &reply);
}

void message_return(void *socket) {
    struct request received = {.bytes = {0}};
    int64_t count = receive_parts(socket, &received);
    if (count > 0)
        send_parts(socket, received.parts,
                   count < REQUEST_PARTS_MAX ? (size_t)count : REQUEST_PARTS_MAX, false);
    text_finish(&received.bytes);
}
