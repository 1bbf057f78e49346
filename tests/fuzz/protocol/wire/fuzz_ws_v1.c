/* fuzz_ws_v1 - any bytes as a v1 frame: what decodes is written again to the same message, and to
 * the same bytes where nothing had to be filled in. */
#include "base/mem.h"
#include "fuzz_check.h"
#include "wire/ws_v1.h"

static struct slice buffers[2][MSG_BUFFERS_MAX];

static bool is_inside(struct slice part, struct slice frame) {
    return part.data >= frame.data && part.data <= frame.data + frame.size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct slice frame = slice_make(data, size);
    struct msg msg, again;
    struct err err;
    if (ws_v1_decode(frame, buffers[0], &msg, &err) < 0) {
        assert(err.code > 0 && err.text[0]);
        return 0;
    }
    check_slices(&msg, frame);
    struct bytes *written = ws_v1_encode(&msg);
    assert(ws_v1_decode(bytes_slice(written), buffers[1], &again, NULL) == 0);
    check_same_messages(&msg, &again);
    if (is_inside(msg.parent_header, frame) && is_inside(msg.metadata, frame))
        assert(slice_equal(bytes_slice(written), frame));
    bytes_unref(written);
    assert(mem_live() == 0);
    return 0;
}
