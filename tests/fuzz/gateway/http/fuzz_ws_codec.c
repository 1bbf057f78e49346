/* fuzz_ws_codec - our codec against wslay, and against itself in pieces.
 * Input: a byte that says how large the pieces are and whether permessage-deflate was agreed on,
 * which wslay does not speak, then what a client sends. We judge a frame by
 * its first bytes, wslay by its whole header, so it gets the rest of one where we have failed.
 * Known differences of wslay (1.1.1): it looks at UTF-8 as it comes and we at the whole message; it
 * refuses a peer's 1012 to 1014, takes half a close code, and ends some bad frames without naming a
 * code. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <wslay/wslay.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "http/ws_codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MESSAGE_MAX = 1000, HEADER_MAX = 14 };

/* What one side made of the input. */
struct story {
    struct text events;   /* one after another: opcode, size, payload */
    struct text messages; /* the same without control frames */
    uint16_t closed;      /* the peer's code; 0: it did not close */
    uint16_t failed;      /* with this code; 1: without one; 0: it did not */
};

static void tell(struct story *story, uint8_t opcode, struct slice payload) {
    text_append_format(&story->events, "%x %zu ", opcode, payload.size);
    text_append(&story->events, payload);
    if (opcode > WS_OPCODE_BINARY)
        return;
    text_append_format(&story->messages, "%x %zu ", opcode, payload.size);
    text_append(&story->messages, payload);
}

static void finish(struct story *story) {
    text_finish(&story->events);
    text_finish(&story->messages);
}

static bool is_prefix(const struct text *of, const struct text *text) {
    return of->size >= text->size && slice_starts_with(text_slice(of), text_slice(text));
}

/* -- ours ------------------------------------------------------------------------------------- */

static void tell_ours(struct story *story, enum ws_verdict verdict, const struct ws_event *event) {
    static const uint8_t opcodes[] = {[WS_TEXT] = WS_OPCODE_TEXT,
                                      [WS_BINARY] = WS_OPCODE_BINARY,
                                      [WS_PING] = WS_OPCODE_PING,
                                      [WS_PONG] = WS_OPCODE_PONG,
                                      [WS_CLOSE] = WS_OPCODE_CLOSE};
    if (verdict == WS_FAILED)
        story->failed = event->code;
    else if (verdict != WS_MORE)
        tell(story, opcodes[verdict], event->payload);
    if (verdict == WS_CLOSE)
        story->closed = event->code;
}

/* Each piece lies at the end of memory of exactly its size. */
static void read_ours(struct story *story, struct slice input, size_t step,
                      struct ws_deflate *deflate) {
    struct ws_decoder decoder = {
        .message_max = MESSAGE_MAX, .fragments_max = UINT32_MAX, .deflate = deflate};
    struct ws_event event;
    size_t begin = 0, end = 0, consumed;
    while (end < input.size && !story->closed && !story->failed) {
        end = input.size - end < step ? input.size : end + step;
        struct bytes *window = bytes_copy(slice_make(input.data + begin, end - begin));
        enum ws_verdict verdict;
        size_t at = 0;
        do {
            verdict = ws_decode(&decoder, window->data + at, window->size - at, &consumed, &event);
            assert(consumed <= window->size - at);
            assert(event.needed == 0 || event.needed > window->size - at - consumed);
            tell_ours(story, verdict, &event);
            at += consumed;
        } while (verdict != WS_MORE && verdict != WS_CLOSE && verdict != WS_FAILED);
        bytes_unref(window);
        begin += at;
    }
    ws_decoder_forget(&decoder);
}

/* -- wslay ------------------------------------------------------------------------------------ */

struct theirs {
    struct story *story;
    struct slice input;
};

static ssize_t give(wslay_event_context_ptr context, uint8_t *buffer, size_t size, int flags,
                    void *user) {
    (void)flags;
    struct theirs *theirs = user;
    if (theirs->input.size == 0) {
        wslay_event_set_error(context, WSLAY_ERR_WOULDBLOCK);
        return -1;
    }
    if (size > theirs->input.size)
        size = theirs->input.size;
    memcpy(buffer, theirs->input.data, size);
    theirs->input = slice_from(theirs->input, size);
    return (ssize_t)size;
}

static ssize_t take(wslay_event_context_ptr context, const uint8_t *data, size_t size, int flags,
                    void *user) {
    (void)context, (void)data, (void)flags, (void)user;
    return (ssize_t)size;
}

static void hear(wslay_event_context_ptr context, const struct wslay_event_on_msg_recv_arg *event,
                 void *user) {
    (void)context;
    struct theirs *theirs = user;
    struct slice payload = slice_make(event->msg, event->msg_length);
    if (event->opcode == WS_OPCODE_CLOSE && payload.size == 1) {
        theirs->story->failed = 1;
        return;
    }
    if (event->opcode == WS_OPCODE_CLOSE) {
        theirs->story->closed = event->status_code ? event->status_code : WS_CODE_NONE;
        if (payload.size >= 2)
            payload = slice_from(payload, 2);
    }
    tell(theirs->story, event->opcode, payload);
}

static void read_theirs(struct story *story, struct slice input) {
    static const struct wslay_event_callbacks callbacks = {
        .recv_callback = give, .send_callback = take, .on_msg_recv_callback = hear};
    struct theirs theirs = {.story = story, .input = input};
    wslay_event_context_ptr context;
    int result = wslay_event_context_server_init(&context, &callbacks, &theirs);
    assert(result == 0);
    wslay_event_config_set_max_recv_msg_length(context, MESSAGE_MAX);
    result = wslay_event_recv(context);
    wslay_event_send(context);
    uint16_t sent = wslay_event_get_status_code_sent(context);
    if (!story->closed && (result != 0 || !wslay_event_get_read_enabled(context)))
        story->failed = sent && sent != WS_CODE_NONE ? sent : 1;
    wslay_event_context_free(context);
}

/* A copy with zeros behind it. */
static struct bytes *pad(struct slice input, size_t zeros) {
    struct bytes *padded = bytes_create(input.size + zeros);
    memset(padded->data, 0, padded->size);
    memcpy(padded->data, input.data, input.size);
    return padded;
}

/* -- together --------------------------------------------------------------------------------- */

static void compare_pieces(struct slice input, size_t step, struct ws_deflate *deflate,
                           const struct story *whole) {
    struct story pieces = {0};
    read_ours(&pieces, input, step, deflate);
    assert(slice_equal(text_slice(&pieces.events), text_slice(&whole->events)));
    assert(pieces.closed == whole->closed && pieces.failed == whole->failed);
    finish(&pieces);
}

static void compare(const struct story *ours, const struct story *theirs) {
    if (theirs->failed == WS_CODE_NOT_UTF8) {
        /* They saw it earlier; we must not have given out a message that they did not. */
        assert(is_prefix(&ours->events, &theirs->events));
        assert(slice_equal(text_slice(&ours->messages), text_slice(&theirs->messages)));
        return;
    }
    if (ours->closed >= WS_CODE_RESTART && ours->closed <= 1014) {
        assert(theirs->failed);
        return;
    }
    assert(slice_equal(text_slice(&ours->events), text_slice(&theirs->events)));
    assert(ours->closed == theirs->closed);
    assert(theirs->failed == 1 ? ours->failed != 0 : ours->failed == theirs->failed);
}

static void compare_with_wslay(struct slice input, const struct story *ours) {
    struct story theirs = {0};
    struct bytes *padded = pad(input, ours->failed ? HEADER_MAX : 0);
    read_theirs(&theirs, bytes_slice(padded));
    bytes_unref(padded);
    compare(ours, &theirs);
    finish(&theirs);
}

enum { IS_DEFLATED = 0x80 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    struct story ours = {0};
    struct slice input = slice_make(data + 1, size - 1);
    struct ws_deflate *deflate = data[0] & IS_DEFLATED ? ws_deflate_create() : NULL;
    read_ours(&ours, input, SIZE_MAX, deflate);
    compare_pieces(input, 1 + data[0] % 32, deflate, &ours);
    if (!deflate)
        compare_with_wslay(input, &ours);
    finish(&ours);
    ws_deflate_destroy(deflate);
    assert(mem_live() == 0);
    return 0;
}
