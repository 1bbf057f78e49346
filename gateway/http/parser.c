/* parser - its one complication: llhttp is stopped at the end of each request, so that what is
 * pipelined behind stays where it is; with the same stop it never comes to act on an Upgrade, which
 * is the handler's to take or to answer like any request. */
#include "http/parser.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

enum {
    FRAMING_MAX = 4096, /* chunk extensions, leading zeros: bytes of a whole body */
    CHUNK_FRAMING = 12, /* "12345678", CRLF, CRLF behind the content: free for each chunk */
};

static struct parser *parser_of(llhttp_t *llhttp) {
    return llhttp->data;
}

static int stop(bool go_on) {
    return go_on ? HPE_OK : HPE_USER;
}

static struct slice extend(struct slice span, const char *at, size_t size) {
    const uint8_t *begin = span.data ? span.data : (const uint8_t *)at;
    return slice_make(begin, (size_t)((const uint8_t *)at + size - begin));
}

/* -- what llhttp calls ------------------------------------------------------------------------ */

static int on_name(llhttp_t *llhttp, const char *at, size_t size) {
    struct parser *parser = parser_of(llhttp);
    if (parser->head_done)
        return stop(refuse(&parser->refusal, 400, "trailers_not_allowed",
                           "Trailers behind a chunked body are not taken."));
    if (!parser->in_name) {
        if (parser->field_count == parser->field_room)
            return HPE_USER;
        parser->fields[parser->field_count++] = (struct field){0};
    }
    parser->in_name = true;
    struct field *field = &parser->fields[parser->field_count - 1];
    field->name = extend(field->name, at, size);
    return HPE_OK;
}

static int on_name_end(llhttp_t *llhttp) {
    parser_of(llhttp)->in_name = false;
    return HPE_OK;
}

static int on_value(llhttp_t *llhttp, const char *at, size_t size) {
    struct parser *parser = parser_of(llhttp);
    if (parser->head_done || parser->field_count == 0)
        return HPE_USER;
    struct field *field = &parser->fields[parser->field_count - 1];
    field->value = extend(field->value, at, size);
    return HPE_OK;
}

static void trim_fields(struct parser *parser) {
    for (unsigned i = 0; i < parser->field_count; i++) {
        struct field *field = &parser->fields[i];
        field->value = field->value.data ? fields_trim(field->value)
                                         : slice_make(field->name.data + field->name.size, 0);
    }
}

static void split_target(struct parser *parser, struct slice target) {
    const uint8_t *mark = memchr(target.data, '?', target.size);
    size_t path_size = mark ? (size_t)(mark - target.data) : target.size;
    parser->path = slice_make(target.data, path_size);
    if (mark)
        parser->query = slice_from(target, path_size + 1);
}

static int on_head(llhttp_t *llhttp) {
    struct parser *parser = parser_of(llhttp);
    const uint8_t *head = (const uint8_t *)parser->head;
    parser->method = head_method(&parser->scan, head);
    split_target(parser, head_target(&parser->scan, head));
    parser->http_1_0 = llhttp->http_minor == 0;
    parser->head_done = true;
    trim_fields(parser);
    return stop(fields_judge(parser));
}

static bool has_room(struct parser *parser, uint64_t size) {
    if (size <= parser->limits->body - parser->body.size)
        return true;
    return refuse(&parser->refusal, 413, "body_too_large",
                  "The body is larger than http_body_bytes = %zu.", parser->limits->body);
}

static int on_body(llhttp_t *llhttp, const char *at, size_t size) {
    struct parser *parser = parser_of(llhttp);
    if (!has_room(parser, size))
        return HPE_USER;
    text_append(&parser->body, slice_make(at, size));
    return HPE_OK;
}

/* The size of a chunk is known before its first byte. */
static int on_chunk(llhttp_t *llhttp) {
    struct parser *parser = parser_of(llhttp);
    parser->chunks++;
    return stop(has_room(parser, llhttp->content_length));
}

static int on_end(llhttp_t *llhttp) {
    parser_of(llhttp)->done = true;
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_header_field = on_name,
    .on_header_field_complete = on_name_end,
    .on_header_value = on_value,
    .on_headers_complete = on_head,
    .on_body = on_body,
    .on_chunk_header = on_chunk,
    .on_message_complete = on_end,
};

/* -- feeding it ------------------------------------------------------------------------------- */

void parser_init(struct parser *parser, const struct http_limits *limits) {
    *parser = (struct parser){.limits = limits};
    llhttp_init(&parser->llhttp, HTTP_REQUEST, &settings);
    parser->llhttp.data = parser;
}

void parser_finish(struct parser *parser) {
    mem_free(parser->head);
    mem_free(parser->fields);
    text_finish(&parser->body);
}

static enum parser_state refused(struct parser *parser, const char *why) {
    if (!parser->refusal.status)
        refuse(&parser->refusal, 400, "malformed_request", "The request is malformed: %s.", why);
    return PARSER_REFUSED;
}

/* Hands bytes to llhttp. PARSER_HEAD is not told apart from PARSER_MORE here. */
static enum parser_state execute(struct parser *parser, struct slice input, size_t *ret_consumed) {
    llhttp_t *llhttp = &parser->llhttp;
    const char *data = (const char *)input.data;
    enum llhttp_errno error = llhttp_execute(llhttp, data, input.size);
    *ret_consumed = input.size;
    if (error == HPE_OK)
        return PARSER_MORE;
    if (error != HPE_PAUSED || !parser->done) {
        const char *reason = llhttp_get_error_reason(llhttp);
        return refused(parser, reason ? reason : "it cannot be parsed");
    }
    *ret_consumed = (size_t)(llhttp_get_error_pos(llhttp) - data);
    return PARSER_DONE;
}

static enum parser_state feed_head(struct parser *parser, struct slice input,
                                   size_t *ret_consumed) {
    struct head_scan *scan = &parser->scan;
    enum head_state state = head_scan(scan, input, parser->limits, &parser->refusal);
    if (state != HEAD_WHOLE)
        return state == HEAD_MORE ? PARSER_MORE : PARSER_REFUSED;
    parser->head = mem_copy_text(input.data, scan->at);
    parser->field_room = scan->lines - 1;
    parser->fields = mem_zalloc(parser->field_room, sizeof *parser->fields);
    size_t consumed;
    struct slice head = slice_make(parser->head + scan->begin, scan->at - scan->begin);
    enum parser_state result = execute(parser, head, &consumed);
    if (result == PARSER_REFUSED)
        return result;
    /* llhttp must have seen the same head: neither shorter nor longer. */
    if (!parser->head_done || consumed != head.size)
        return refused(parser, "the end of the head is not clear");
    *ret_consumed = scan->at;
    return result == PARSER_DONE ? result : PARSER_HEAD;
}

/* Keeps the last bytes that were consumed. */
static void remember_tail(struct parser *parser, struct slice taken) {
    size_t room = sizeof parser->tail, size = taken.size < room ? taken.size : room;
    memmove(parser->tail, parser->tail + size, room - size);
    memcpy(parser->tail + room - size, taken.data + taken.size - size, size);
}

/* llhttp 8.1 takes bare line ends behind the last chunk; the whole body ends "0", CRLF, CRLF. */
static bool check_framing(struct parser *parser) {
    if (parser->framing > FRAMING_MAX + CHUNK_FRAMING * parser->chunks)
        return refuse(&parser->refusal, 400, "framing_too_large",
                      "The chunked body has more than %d bytes of extensions and padding.",
                      FRAMING_MAX);
    if (parser->done && memcmp(parser->tail, "\r\n\r\n", sizeof parser->tail) != 0)
        return refuse(&parser->refusal, 400, "malformed_request",
                      "The request is malformed: the last chunk does not end in two CRLFs.");
    return true;
}

static enum parser_state feed_body(struct parser *parser, struct slice input,
                                   size_t *ret_consumed) {
    size_t body_before = parser->body.size, consumed;
    enum parser_state result = execute(parser, input, &consumed);
    if (result == PARSER_REFUSED)
        return result;
    if (parser->chunked) {
        parser->framing += consumed - (parser->body.size - body_before);
        remember_tail(parser, slice_make(input.data, consumed));
        if (!check_framing(parser))
            return PARSER_REFUSED;
    }
    *ret_consumed = consumed;
    return result;
}

enum parser_state parser_feed(struct parser *parser, struct slice input, size_t *ret_consumed) {
    *ret_consumed = 0;
    if (parser->refusal.status)
        return PARSER_REFUSED;
    assert(!parser->done);
    if (input.size == 0)
        return PARSER_MORE;
    return parser->head ? feed_body(parser, input, ret_consumed)
                        : feed_head(parser, input, ret_consumed);
}
