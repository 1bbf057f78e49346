/* fuzz_head - requests whole and in pieces. Input: a byte that says how large the pieces are, then
 * what a client sends. The verdict must not depend on the pieces, and what is taken must keep the
 * promises that the rest of the room relies on. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "http/parser.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct http_limits limits = {.head = 600, .headers = 10, .body = 3000};

struct outcome {
    struct parser parser;
    enum parser_state state;
    size_t consumed;
};

/* Each piece lies at the end of memory of exactly its size. */
static void read(struct outcome *outcome, struct slice input, size_t step) {
    parser_init(&outcome->parser, &limits);
    outcome->state = PARSER_MORE;
    outcome->consumed = 0;
    for (size_t end = 0; end < input.size && outcome->state == PARSER_MORE;) {
        end = input.size - end < step ? input.size : end + step;
        do {
            size_t begin = outcome->consumed, consumed;
            struct bytes *window = bytes_copy(slice_make(input.data + begin, end - begin));
            outcome->state = parser_feed(&outcome->parser, bytes_slice(window), &consumed);
            assert(consumed <= window->size);
            bytes_unref(window);
            outcome->consumed += consumed;
        } while (outcome->state == PARSER_HEAD);
    }
}

static void check_refusal(const struct parser *parser) {
    const struct refusal *refusal = &parser->refusal;
    assert(refusal->status >= 400 && refusal->status <= 505);
    assert(refusal->code && refusal->code[0] && refusal->message[0]);
    assert(!refusal->header || strcmp(refusal->header + strlen(refusal->header) - 2, "\r\n") == 0);
}

static void check_request(const struct parser *parser) {
    assert(parser->path.size && parser->path.data[0] == '/');
    assert(!memchr(parser->path.data, '?', parser->path.size));
    assert(parser->body.size <= limits.body);
    assert(parser->field_count <= limits.headers);
    assert(parser->http_1_0 || fields_find(parser, "Host", 0));
    assert(!parser->wants_websocket || (parser->body.size == 0 && !parser->has_body));
    for (unsigned i = 0; i < parser->field_count; i++) {
        struct field field = parser->fields[i];
        assert(field.name.size && field.value.data);
        for (size_t j = 0; j < field.value.size; j++)
            assert(field.value.data[j] >= ' ' || field.value.data[j] == '\t');
    }
}

/* The bound on framing may be met within a chunk's first line or behind it. */
static bool is_about_framing(const struct outcome *outcome) {
    return outcome->state == PARSER_REFUSED &&
           strcmp(outcome->parser.refusal.code, "framing_too_large") == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    struct outcome whole, pieces;
    struct slice input = slice_make(data + 1, size - 1);
    read(&whole, input, SIZE_MAX);
    read(&pieces, input, 1 + data[0] % 64);
    if (!is_about_framing(&whole) && !is_about_framing(&pieces)) {
        assert(whole.state == pieces.state);
        assert(whole.consumed == pieces.consumed || whole.state == PARSER_REFUSED);
        assert(whole.parser.refusal.status == pieces.parser.refusal.status);
        assert(slice_equal(text_slice(&whole.parser.body), text_slice(&pieces.parser.body)) ||
               whole.state == PARSER_REFUSED);
    }
    if (whole.state == PARSER_REFUSED)
        check_refusal(&whole.parser);
    if (whole.state == PARSER_DONE)
        check_request(&whole.parser);
    parser_finish(&whole.parser);
    parser_finish(&pieces.parser);
    assert(mem_live() == 0);
    return 0;
}
