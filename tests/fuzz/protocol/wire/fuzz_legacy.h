/* fuzz_legacy - the property of both legacy decoders: what is decoded, encoded and decoded again
 * stays as it is; and it is the same as the first message, unless that had bytes which are not
 * UTF-8. */
#pragma once

#include "base/mem.h"
#include "base/text.h"
#include "fuzz_check.h"
#include "wire/ws_legacy.h"

static struct slice legacy_buffers[3][MSG_BUFFERS_MAX];

static inline int decode_legacy(struct slice frame, bool is_binary, struct slice *buffers,
                                struct msg *ret_msg) {
    struct err err = {0};
    int error = is_binary ? ws_legacy_decode_binary(frame, buffers, ret_msg, &err)
                          : ws_legacy_decode_text(frame, ret_msg, &err);
    assert(error == 0 || (err.code == -error && err.text[0]));
    return error;
}

/* NULL where the header is one that a session would refuse. */
static inline struct bytes *encode_legacy(const struct msg *msg, bool *ret_binary) {
    struct msg_header header;
    if (msg_header_parse(msg->header, &header, NULL) < 0)
        return NULL;
    struct bytes *frame = ws_legacy_encode(msg, &header, ret_binary);
    msg_header_finish(&header);
    return frame;
}

/* The frame of a client that takes text alone: the same message but for its buffers. */
static inline void check_text_alone(const struct msg *msg, bool is_utf8) {
    struct msg_header header;
    struct msg bare = *msg, again;
    bare.buffer_count = 0;
    if (msg_header_parse(msg->header, &header, NULL) < 0)
        return;
    struct bytes *written = ws_legacy_encode_text(msg, &header);
    msg_header_finish(&header);
    assert(text_is_utf8(bytes_slice(written)));
    assert(decode_legacy(bytes_slice(written), false, NULL, &again) == 0);
    if (is_utf8)
        check_same_messages(&bare, &again);
    bytes_unref(written);
}

static inline void check_legacy(struct slice frame, bool is_binary) {
    struct msg msg, second, third;
    if (decode_legacy(frame, is_binary, legacy_buffers[0], &msg) < 0)
        return;
    check_slices(&msg, frame);
    check_text_alone(&msg, is_binary || text_is_utf8(frame));
    struct bytes *written = encode_legacy(&msg, &is_binary);
    if (!written)
        return;
    assert(decode_legacy(bytes_slice(written), is_binary, legacy_buffers[1], &second) == 0);
    if (is_binary || text_is_utf8(frame))
        check_same_messages(&msg, &second);

    struct bytes *again = encode_legacy(&second, &is_binary);
    assert(again && slice_equal(bytes_slice(again), bytes_slice(written)));
    assert(decode_legacy(bytes_slice(again), is_binary, legacy_buffers[2], &third) == 0);
    check_same_messages(&second, &third);
    bytes_unref(again);
    bytes_unref(written);
    assert(mem_live() == 0);
}
