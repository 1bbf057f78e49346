/* fuzz_check - what every fuzz target of this room checks of a decoded message. */
#pragma once

#include <assert.h>

#include "base/bytes.h"
#include "msg/header.h"
#include "msg/msg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* inner lies within outer, or is a {} of the decoder's own. */
static inline void check_inside(struct slice inner, struct slice outer) {
    bool is_inside = inner.data >= outer.data && inner.size <= outer.size &&
                     (size_t)(inner.data - outer.data) <= outer.size - inner.size;
    assert(is_inside || slice_equal_text(inner, "{}"));
}

static inline void check_slices(const struct msg *msg, struct slice frame) {
    assert(msg->channel < MSG_CHANNEL_COUNT && msg->buffer_count <= MSG_BUFFERS_MAX);
    check_inside(msg->header, frame);
    check_inside(msg->parent_header, frame);
    check_inside(msg->metadata, frame);
    check_inside(msg->content, frame);
    for (size_t i = 0; i < msg->buffer_count; i++)
        check_inside(msg->buffers[i], frame);
}

static inline void check_same_messages(const struct msg *a, const struct msg *b) {
    assert(a->channel == b->channel && a->buffer_count == b->buffer_count);
    assert(slice_equal(a->header, b->header));
    assert(slice_equal(a->parent_header, b->parent_header));
    assert(slice_equal(a->metadata, b->metadata));
    assert(slice_equal(a->content, b->content));
    for (size_t i = 0; i < a->buffer_count; i++)
        assert(slice_equal(a->buffers[i], b->buffers[i]));
}
