/* fuzz_link_read - what a kernel sends, as it comes out of ZeroMQ. Input: messages; each is a byte
 * of flags, a count of parts, and the parts, of which each has its size in a byte before it. By the
 * flags the parts are signed as they should be, come once more, or are repeated a hundred times.
 * What is told to the session has headers that are headers and was signed, once. */
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <zmq.h>

#include "base/mem.h"
#include "session/link_parts.h"
#include "wire/multipart.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { IS_SIGNED = 1, IS_TWICE = 2, IS_LONG = 4, PARTS_MAX = 2048, MESSAGES_MAX = 16 };
enum { MESSAGE_MAX = 600 }; /* larger ones are told without being verified */

static struct {
    void *zmq, *ours, *kernels; /* a pair of sockets */
    unsigned told, refused;
} world;

static struct slice parts[PARTS_MAX];

static uint8_t take_byte(struct slice *input) {
    if (!input->size)
        return 0;
    uint8_t byte = *input->data;
    *input = slice_from(*input, 1);
    return byte;
}

static struct slice take_counted(struct slice *input) {
    size_t size = take_byte(input);
    size = size < input->size ? size : input->size;
    struct slice taken = slice_make(input->data, size);
    *input = slice_from(*input, size);
    return taken;
}

/* -- what is told ----------------------------------------------------------------------------- */

static void on_message(void *context, const struct msg *msg, const struct msg_header *header,
                       const struct msg_header *parent) {
    (void)context;
    world.told++;
    assert(msg->channel == MSG_IOPUB && header->msg_id && parent->msg_id);
    assert(msg->buffer_count <= MSG_BUFFERS_MAX);
    struct msg_header again;
    assert(msg_header_parse(msg->header, &again, NULL) == 0);
    assert(strcmp(again.msg_id, header->msg_id) == 0);
    msg_header_finish(&again);
}

static void on_refused(void *context, const struct err *err) {
    (void)context;
    assert(err->code && strstr(err->text, "iopub message of the kernel"));
    world.refused++;
}

/* -- what is sent ----------------------------------------------------------------------------- */

static size_t take_parts(struct slice *input, unsigned flags) {
    size_t count = take_byte(input) % 16;
    for (size_t i = 0; i < count; i++)
        parts[i] = take_counted(input);
    for (; count && flags & IS_LONG && count + 1 < PARTS_MAX; count++)
        parts[count] = parts[count - 1];
    return count;
}

/* Puts a delimiter and a signature before four parts and whatever buffers. */
static size_t sign(struct signer *signer, size_t count, char hex[SIGN_HEX_SIZE]) {
    if (count < 4 || count + 2 > PARTS_MAX)
        return count;
    memmove(parts + 2, parts, count * sizeof *parts);
    struct msg msg = {
        .header = parts[2], .parent_header = parts[3], .metadata = parts[4], .content = parts[5]};
    parts[0] = SLICE_LITERAL(MULTIPART_DELIMITER);
    parts[1] = slice_make(hex, signer_sign(signer, &msg, hex));
    return count + 2;
}

static void send_parts(size_t count) {
    for (size_t i = 0; i < count; i++) {
        int result = zmq_send(world.kernels, parts[i].data, parts[i].size,
                              ZMQ_DONTWAIT | (i + 1 < count ? ZMQ_SNDMORE : 0));
        assert(result == (int)parts[i].size);
    }
}

static unsigned send_message(struct slice *input, struct signer *signer) {
    unsigned flags = take_byte(input);
    char hex[SIGN_HEX_SIZE];
    size_t count = take_parts(input, flags);
    if (flags & IS_SIGNED)
        count = sign(signer, count, hex);
    if (!count)
        return 0;
    send_parts(count);
    if (flags & IS_TWICE)
        send_parts(count);
    return flags & IS_TWICE ? 2 : 1;
}

static void begin(void) {
    if (world.zmq)
        return;
    world.zmq = zmq_ctx_new();
    world.ours = zmq_socket(world.zmq, ZMQ_PAIR);
    world.kernels = zmq_socket(world.zmq, ZMQ_PAIR);
    int none = 0;
    zmq_setsockopt(world.ours, ZMQ_RCVHWM, &none, sizeof none);
    zmq_setsockopt(world.kernels, ZMQ_SNDHWM, &none, sizeof none);
    int result = zmq_bind(world.ours, "inproc://fuzz");
    assert(result == 0);
    result = zmq_connect(world.kernels, "inproc://fuzz");
    assert(result == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct slice input = slice_make(data, size);
    unsigned sent = 0;
    begin();
    int64_t live_before = mem_live();
    struct signer *signer = signer_create(SLICE_LITERAL("key"));
    struct link link = {.message_max = MESSAGE_MAX,
                        .signer = signer_create(SLICE_LITERAL("key")),
                        .events = {.on_message = on_message, .on_refused = on_refused}};
    struct wire wire = {.link = &link, .channel = MSG_IOPUB, .socket = world.ours};
    world.told = world.refused = 0;
    for (int i = 0; i < MESSAGES_MAX && input.size; i++)
        sent += send_message(&input, signer);
    while (link_read(&wire))
        ;
    assert(world.told + world.refused == sent);
    signer_destroy(link.signer);
    signer_destroy(signer);
    assert(mem_live() == live_before);
    return 0;
}
