/* fields - what a head's fields say together: one Host, one way to frame the body, who closes the
 * connection, and whether it is a WebSocket's beginning. llhttp takes two Hosts, "gzip, chunked",
 * and does not see "close" behind a tab. */
#include <string.h>

#include "http/parser.h"

struct slice fields_trim(struct slice value) {
    while (value.size && (value.data[0] == ' ' || value.data[0] == '\t'))
        value = slice_from(value, 1);
    while (value.size && (value.data[value.size - 1] == ' ' || value.data[value.size - 1] == '\t'))
        value.size--;
    return value;
}

const struct field *fields_find(const struct parser *parser, const char *name, unsigned at) {
    struct slice wanted = slice_from_text(name);
    for (unsigned i = 0; i < parser->field_count; i++)
        if (slice_equal_nocase(parser->fields[i].name, wanted) && at-- == 0)
            return &parser->fields[i];
    return NULL;
}

static bool list_has_word(struct slice list, struct slice word) {
    while (list.size) {
        const uint8_t *comma = memchr(list.data, ',', list.size);
        size_t size = comma ? (size_t)(comma - list.data) : list.size;
        if (slice_equal_nocase(fields_trim(slice_make(list.data, size)), word))
            return true;
        list = slice_from(list, size + (comma ? 1 : 0));
    }
    return false;
}

bool fields_have_word(const struct parser *parser, const char *name, const char *word) {
    const struct field *field;
    for (unsigned i = 0; (field = fields_find(parser, name, i)); i++)
        if (list_has_word(field->value, slice_from_text(word)))
            return true;
    return false;
}

/* RFC 9112 section 3.2: exactly one, though HTTP/1.0 need not have it. */
static bool judge_host(struct parser *parser) {
    const struct field *host = fields_find(parser, "Host", 0);
    if ((!host && !parser->http_1_0) || fields_find(parser, "Host", 1))
        return refuse(&parser->refusal, 400, "bad_host", "The request needs exactly one Host.");
    for (size_t i = 0; host && i < host->value.size; i++)
        if (host->value.data[i] <= ' ' || host->value.data[i] >= 0x7f ||
            strchr("\"#,/<>?@\\^`{|}", host->value.data[i]))
            return refuse(&parser->refusal, 400, "bad_host",
                          "The Host is not a name or address with an optional port.");
    return true;
}

/* RFC 9112 section 6.1. */
static bool judge_transfer_encoding(struct parser *parser) {
    const struct field *encoding = fields_find(parser, "Transfer-Encoding", 0);
    if (!encoding)
        return true;
    bool twice = fields_find(parser, "Transfer-Encoding", 1) != NULL;
    if (twice || parser->http_1_0 || fields_find(parser, "Content-Length", 0) ||
        !slice_equal_nocase(encoding->value, SLICE_LITERAL("chunked")))
        return refuse(&parser->refusal, 400, "bad_framing",
                      "The only Transfer-Encoding is \"chunked\", alone, in HTTP/1.1, and without "
                      "a Content-Length.");
    parser->chunked = parser->has_body = true;
    return true;
}

static bool is_number(struct slice value) {
    for (size_t i = 0; i < value.size; i++)
        if (value.data[i] < '0' || value.data[i] > '9')
            return false;
    return value.size > 0 && value.size < 20;
}

/* RFC 9112 section 6.2; the number itself is llhttp's. */
static bool judge_content_length(struct parser *parser) {
    const struct field *length = fields_find(parser, "Content-Length", 0);
    if (!length)
        return true;
    if (fields_find(parser, "Content-Length", 1) || !is_number(length->value))
        return refuse(&parser->refusal, 400, "bad_framing",
                      "The Content-Length is not one number.");
    if (parser->llhttp.content_length > parser->limits->body)
        return refuse(&parser->refusal, 413, "body_too_large",
                      "The body is larger than http_body_bytes = %zu.", parser->limits->body);
    parser->has_body = parser->llhttp.content_length > 0;
    return true;
}

/* RFC 9112 section 9.3. */
static bool judge_connection(struct parser *parser) {
    bool close = fields_have_word(parser, "Connection", "close");
    bool stay = !parser->http_1_0 || fields_have_word(parser, "Connection", "keep-alive");
    parser->keep_alive = stay && !close;
    return true;
}

/* RFC 9110 section 10.1.1. */
static bool judge_expect(struct parser *parser) {
    const struct field *expect = fields_find(parser, "Expect", 0);
    if (!expect || parser->http_1_0)
        return true;
    if (fields_find(parser, "Expect", 1) ||
        !slice_equal_nocase(expect->value, SLICE_LITERAL("100-continue")))
        return refuse(&parser->refusal, 417, "expectation_failed",
                      "The only expectation that can be met is 100-continue.");
    parser->wants_continue = parser->has_body;
    return true;
}

/* 16 bytes in base64: 22 characters and two pads. */
static bool is_websocket_key(struct slice key) {
    if (key.size != 24 || memcmp(key.data + 22, "==", 2) != 0)
        return false;
    for (size_t i = 0; i < 22; i++) {
        uint8_t c = key.data[i], lower = c | 0x20;
        if (!(lower >= 'a' && lower <= 'z') && !(c >= '0' && c <= '9') && c != '+' && c != '/')
            return false;
    }
    return true;
}

/* RFC 6455 section 4.2.1. An Upgrade to anything else, or without "Connection: upgrade", is not
 * heard (RFC 9110 section 7.8). */
static bool judge_upgrade(struct parser *parser) {
    if (parser->http_1_0 || !fields_have_word(parser, "Upgrade", "websocket") ||
        !fields_have_word(parser, "Connection", "upgrade"))
        return true;
    const struct field *version = fields_find(parser, "Sec-WebSocket-Version", 0);
    if (version && !slice_equal_text(version->value, "13")) {
        refuse(&parser->refusal, 426, "websocket_version", "Only WebSocket version 13 is spoken.");
        parser->refusal.header = "Sec-WebSocket-Version: 13\r\nUpgrade: websocket\r\n";
        return false;
    }
    const struct field *key = fields_find(parser, "Sec-WebSocket-Key", 0);
    if (!version || fields_find(parser, "Sec-WebSocket-Version", 1) ||
        !slice_equal_text(parser->method, "GET") || parser->has_body || !key ||
        fields_find(parser, "Sec-WebSocket-Key", 1) || !is_websocket_key(key->value))
        return refuse(&parser->refusal, 400, "bad_upgrade",
                      "A WebSocket begins with GET, without a body, with one Sec-WebSocket-Key of "
                      "16 bytes in base64 and Sec-WebSocket-Version: 13.");
    parser->wants_websocket = true;
    return true;
}

bool fields_judge(struct parser *parser) {
    static bool (*const judges[])(struct parser *) = {
        judge_host,   judge_transfer_encoding, judge_content_length, judge_connection,
        judge_expect, judge_upgrade,
    };
    for (size_t i = 0; i < sizeof judges / sizeof *judges; i++)
        if (!judges[i](parser))
            return false;
    return true;
}
