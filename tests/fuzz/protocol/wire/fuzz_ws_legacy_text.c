/* fuzz_ws_legacy_text - any bytes as a legacy text frame. What decodes is also sent with buffers,
 * which makes its frame a binary one. */
#include "fuzz_legacy.h"

static void check_with_buffers(struct slice frame) {
    const struct slice added[] = {frame, {0}, slice_make(frame.data, frame.size / 2)};
    struct msg msg, second;
    if (decode_legacy(frame, false, NULL, &msg) < 0)
        return;
    msg.buffers = added;
    msg.buffer_count = sizeof added / sizeof *added;
    check_text_alone(&msg, text_is_utf8(frame));
    bool is_binary = false;
    struct bytes *written = encode_legacy(&msg, &is_binary);
    if (!written)
        return;
    assert(is_binary);
    assert(decode_legacy(bytes_slice(written), true, legacy_buffers[0], &second) == 0);
    if (text_is_utf8(frame))
        check_same_messages(&msg, &second);
    bytes_unref(written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct slice frame = slice_make(data, size);
    check_legacy(frame, false);
    check_with_buffers(frame);
    assert(mem_live() == 0);
    return 0;
}
