/* fuzz_ws_offer - a Sec-WebSocket-Extensions header. What is agreed on is a window that zlib can
 * keep, and only where the header says so; the answer is one line. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "http/ws_offer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct ws_agreement *agreement, struct slice value) {
    static const char name[] = "permessage-deflate", bits[] = "server_max_window_bits";
    assert(agreement->window_bits >= 9 && agreement->window_bits <= WS_WINDOW_BITS_MAX);
    assert(agreement->names_window || agreement->window_bits == WS_WINDOW_BITS_MAX);
    assert(memmem(value.data, value.size, name, strlen(name)));
    assert(!agreement->names_window || memmem(value.data, value.size, bits, strlen(bits)));
    struct text lines = {0};
    ws_offer_append_answer(agreement, &lines);
    assert(strchr(lines.data, '\n') == lines.data + lines.size - 1);
    text_finish(&lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int64_t live = mem_live();
    struct bytes *exact = bytes_copy(slice_make(data, size)); /* nothing is read behind its end */
    struct ws_agreement agreement;
    if (ws_offer_judge(bytes_slice(exact), &agreement))
        check(&agreement, bytes_slice(exact));
    bytes_unref(exact);
    assert(mem_live() == live);
    return 0;
}
