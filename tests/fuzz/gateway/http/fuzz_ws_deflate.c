/* fuzz_ws_deflate - a compressed message, whatever it is, and one of ours.
 * Input: a byte for the limit, a byte for our window, then the payload of a frame. What it unpacks
 * to stays below the limit, is the same a second time (no window is kept), and comes back when we
 * pack it; the payload itself, packed as a message, comes back too. */
#include <assert.h>
#include <errno.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "http/ws_deflate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_both_ways(struct ws_deflate *deflate, struct slice message, unsigned bits) {
    struct bytes *packed = ws_deflate_pack(deflate, message, bits);
    if (!packed)
        return;
    assert(packed->size > 0 && packed->size <= message.size / 4 * 3);
    struct text again = {0};
    int result = ws_deflate_unpack(deflate, bytes_slice(packed), message.size, &again);
    assert(result == 0 && slice_equal(text_slice(&again), message));
    text_finish(&again);
    bytes_unref(packed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2)
        return 0;
    int64_t live = mem_live();
    struct ws_deflate *deflate = ws_deflate_create();
    size_t max = (size_t)data[0] << data[0] % 16;
    unsigned bits = 9 + data[1] % 7;
    struct slice payload = slice_make(data + 2, size - 2);
    struct text message = {0}, again = {0};
    int result = ws_deflate_unpack(deflate, payload, max, &message);
    assert(result == 0 || result == -EINVAL || result == -EMSGSIZE);
    assert(message.size <= max);
    assert(ws_deflate_unpack(deflate, payload, max, &again) == result);
    assert(slice_equal(text_slice(&again), text_slice(&message)));
    if (result == 0)
        check_both_ways(deflate, text_slice(&message), bits);
    check_both_ways(deflate, payload, bits);
    text_finish(&message);
    text_finish(&again);
    ws_deflate_destroy(deflate);
    assert(mem_live() == live);
    return 0;
}
