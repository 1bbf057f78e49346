/* parser - one request, pure: bytes in, a request or a refusal out. The head goes through head.h
 * and then llhttp, the body through llhttp; what llhttp leaves open of a head's fields is judged
 * by fields.c. */
#pragma once

#include <llhttp.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "http/head.h"

struct field {
    struct slice name, value;
};

struct parser {
    const struct http_limits *limits;
    struct head_scan scan;
    llhttp_t llhttp;
    char *head; /* a copy, which all slices point into; NULL until the head is whole */
    struct slice method, path, query;
    struct field *fields;
    unsigned field_count, field_room;
    bool in_name, head_done;
    bool http_1_0;
    bool keep_alive;      /* the client wants to go on after the answer */
    bool wants_continue;  /* it waits for a 100 before it sends the body */
    bool wants_websocket; /* a valid upgrade (RFC 6455 section 4.2.1) */
    bool chunked, has_body;
    bool done;
    struct text body;
    size_t framing; /* bytes of a chunked body that are not content */
    size_t chunks;
    uint8_t tail[4]; /* the last bytes of a chunked body */
    struct refusal refusal;
};

enum parser_state {
    PARSER_MORE,   /* everything was taken */
    PARSER_HEAD,   /* the head is whole and a body comes */
    PARSER_DONE,   /* the request is whole */
    PARSER_REFUSED /* refusal says why; nothing more can be read */
};

void parser_init(struct parser *parser, const struct http_limits *limits);
void parser_finish(struct parser *parser);

/* input begins at the first byte that was not consumed. A head is consumed only as a whole, so
 * until then input holds it from its beginning. */
enum parser_state parser_feed(struct parser *parser, struct slice input, size_t *ret_consumed);

/* -- fields.c --------------------------------------------------------------------------------- */

/* The at-th field of that name (ASCII letters without case), or NULL. */
const struct field *fields_find(const struct parser *parser, const char *name, unsigned at);
/* True where one of the comma-separated words of the fields of that name is word. */
bool fields_have_word(const struct parser *parser, const char *name, const char *word);
/* Blanks and tabs of both ends taken off. */
struct slice fields_trim(struct slice value);
/* Judges all fields together and fills the parser's answers; false: parser->refusal. */
bool fields_judge(struct parser *parser);
