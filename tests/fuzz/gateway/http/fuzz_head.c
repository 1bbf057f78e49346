/* fuzz_head - a connection's requests, one behind another, whole and in pieces. Input: a byte that
 * says how large the pieces are, then what a client sends. What is made of it must not depend on
 * the pieces, nor must how much is read for it; and a request that is taken keeps the promises that
 * the rest of the room relies on. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "http/http.h"
#include "http/parser.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct http_limits limits = {.head = 600, .headers = 10, .body = 3000};

enum { REQUESTS_MAX = 16 };

/* What one way of reading made of the input. */
struct story {
    struct text requests; /* of each: method, path, query, fields, body */
    size_t count;
    enum parser_state state; /* of the last one */
    size_t consumed;         /* by those that are whole */
    int status;              /* of the refusal, 0: none */
    const char *code;
};

static void check_refusal(const struct parser *parser) {
    const struct refusal *refusal = &parser->refusal;
    assert(refusal->status >= 400 && refusal->status <= 505);
    assert(strcmp(http_status_phrase(refusal->status), http_status_phrase(0)) != 0);
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
    assert(!parser->wants_continue || parser->has_body);
    for (unsigned i = 0; i < parser->field_count; i++) {
        struct field field = parser->fields[i];
        assert(field.name.size && field.value.data);
        for (size_t j = 0; j < field.value.size; j++)
            assert(field.value.data[j] >= ' ' || field.value.data[j] == '\t');
    }
}

static void tell_slice(struct text *out, struct slice slice) {
    text_append_format(out, "%zu:", slice.size);
    text_append(out, slice);
}

static void tell_request(struct story *story, const struct parser *parser) {
    struct text *out = &story->requests;
    tell_slice(out, parser->method);
    tell_slice(out, parser->path);
    tell_slice(out, parser->query);
    for (unsigned i = 0; i < parser->field_count; i++) {
        tell_slice(out, parser->fields[i].name);
        tell_slice(out, parser->fields[i].value);
    }
    tell_slice(out, text_slice(&parser->body));
    text_append_format(out, "%d%d%d%d\n", parser->keep_alive, parser->wants_continue,
                       parser->wants_websocket, parser->http_1_0);
}

/* One request that begins at *begin. Each piece lies at the end of memory of exactly its size. */
static enum parser_state read_one(struct story *story, struct slice input, size_t step,
                                  size_t *begin, size_t *end) {
    struct parser parser;
    enum parser_state state = PARSER_MORE;
    parser_init(&parser, &limits);
    do {
        if (state == PARSER_MORE && *end < input.size)
            *end = input.size - *end < step ? input.size : *end + step;
        size_t consumed;
        struct bytes *window = bytes_copy(slice_make(input.data + *begin, *end - *begin));
        state = parser_feed(&parser, bytes_slice(window), &consumed);
        assert(consumed <= window->size);
        bytes_unref(window);
        *begin += consumed;
    } while (state == PARSER_HEAD || (state == PARSER_MORE && *end < input.size));
    if (state == PARSER_DONE) {
        check_request(&parser);
        tell_request(story, &parser);
        story->consumed = *begin;
    } else if (state == PARSER_REFUSED) {
        check_refusal(&parser);
        story->status = parser.refusal.status;
        story->code = parser.refusal.code;
    }
    parser_finish(&parser);
    return state;
}

static void read_all(struct story *story, struct slice input, size_t step) {
    size_t begin = 0, end = 0;
    *story = (struct story){.state = PARSER_DONE};
    while (story->state == PARSER_DONE && begin < input.size && story->count < REQUESTS_MAX) {
        story->state = read_one(story, input, step, &begin, &end);
        story->count++;
    }
}

/* The bound on framing may be met within a chunk's first line or behind it. */
static bool is_about_framing(const struct story *story) {
    return story->code && strcmp(story->code, "framing_too_large") == 0;
}

static void compare_pieces(const struct story *whole, struct slice input, size_t step) {
    struct story pieces;
    read_all(&pieces, input, step);
    if (!is_about_framing(whole) && !is_about_framing(&pieces)) {
        assert(whole->state == pieces.state && whole->count == pieces.count);
        assert(whole->consumed == pieces.consumed && whole->status == pieces.status);
        assert(slice_equal(text_slice(&whole->requests), text_slice(&pieces.requests)));
    }
    text_finish(&pieces.requests);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    struct story whole;
    struct slice input = slice_make(data + 1, size - 1);
    read_all(&whole, input, SIZE_MAX);
    compare_pieces(&whole, input, 1);
    compare_pieces(&whole, input, 2 + data[0] % 64);
    text_finish(&whole.requests);
    assert(mem_live() == 0);
    return 0;
}
