#include "session/outgoing.h"

#include "base/mem.h"
#include "wire/ws_legacy.h"
#include "wire/ws_v1.h"

struct decoded {
    struct msg msg;
    struct msg_header header;
    struct slice buffers[MSG_BUFFERS_MAX];
};

void outgoing_begin(struct outgoing *outgoing, const struct frame *frame) {
    *outgoing = (struct outgoing){0};
    outgoing->encoded[frame->encoding] = bytes_ref(frame->payload);
    outgoing->binary[frame->encoding] = frame->binary;
}

static int decode(const struct outgoing *outgoing, struct decoded *decoded) {
    const struct bytes *v1 = outgoing->encoded[ENCODING_V1];
    const struct bytes *legacy = outgoing->encoded[ENCODING_LEGACY];
    struct err err;
    int result;
    if (v1)
        result = ws_v1_decode(bytes_slice(v1), decoded->buffers, &decoded->msg, &err);
    else if (outgoing->binary[ENCODING_LEGACY])
        result =
            ws_legacy_decode_binary(bytes_slice(legacy), decoded->buffers, &decoded->msg, &err);
    else
        result = ws_legacy_decode_text(bytes_slice(legacy), &decoded->msg, &err);
    return result < 0 ? result : msg_header_parse(decoded->msg.header, &decoded->header, &err);
}

const struct msg *outgoing_msg(struct outgoing *outgoing, const struct msg_header **ret_header) {
    if (!outgoing->msg) {
        struct decoded *decoded = mem_alloc(sizeof *decoded);
        if (decode(outgoing, decoded) < 0) {
            mem_free(decoded);
            return NULL;
        }
        outgoing->decoded = decoded;
        outgoing->msg = &decoded->msg;
        outgoing->header = &decoded->header;
    }
    if (ret_header)
        *ret_header = outgoing->header;
    return outgoing->msg;
}

static struct bytes *encode(const struct msg *msg, const struct msg_header *header,
                            enum encoding encoding, bool *ret_binary) {
    *ret_binary = encoding == ENCODING_V1;
    if (encoding == ENCODING_V1)
        return ws_v1_encode(msg);
    return encoding == ENCODING_TEXT ? ws_legacy_encode_text(msg, header)
                                     : ws_legacy_encode(msg, header, ret_binary);
}

struct bytes *outgoing_encode(struct outgoing *outgoing, enum encoding encoding, bool *ret_binary) {
    const struct msg *msg;
    bool is_known = outgoing->encoded[ENCODING_LEGACY] && !outgoing->binary[ENCODING_LEGACY];
    if (encoding == ENCODING_TEXT &&
        (is_known || ((msg = outgoing_msg(outgoing, NULL)) && !msg->buffer_count)))
        encoding = ENCODING_LEGACY; /* the same */
    struct bytes **slot = &outgoing->encoded[encoding];
    if (!*slot) {
        msg = outgoing_msg(outgoing, NULL);
        if (!msg)
            return NULL;
        *slot = encode(msg, outgoing->header, encoding, &outgoing->binary[encoding]);
    }
    *ret_binary = outgoing->binary[encoding];
    return *slot;
}

struct frame outgoing_frame(struct outgoing *outgoing, enum encoding encoding) {
    struct frame frame = {.encoding = encoding == ENCODING_V1 ? ENCODING_V1 : ENCODING_LEGACY};
    frame.payload = outgoing_encode(outgoing, frame.encoding, &frame.binary);
    return frame;
}

void outgoing_finish(struct outgoing *outgoing) {
    for (int i = 0; i < ENCODING_COUNT; i++) {
        bytes_unref(outgoing->encoded[i]);
        bytes_unref(outgoing->packed[i]);
    }
    if (outgoing->decoded)
        msg_header_finish(&outgoing->decoded->header);
    mem_free(outgoing->decoded);
}
