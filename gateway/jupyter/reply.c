/* reply - how every handler answers, and how it reads a JSON body. An error always has `reason` and
 * `message`. */
#include <stdarg.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "jupyter/exchange.h"
#include "msg/utf8.h"

enum { BODY_MAX = 1024 * 1024 };

/* What jupyter_server says of its API, word for word: who opens an answer as a page gets nothing
 * that runs. The reports that it asks browsers for are nobody's here. */
static const char policy[] = "frame-ancestors 'self'; report-uri /api/security/csp-report; "
                             "default-src 'none'";

void reply_json(struct http_request *request, int status, json_t *value,
                const struct http_header *more) {
    char *dumped = json_dumps(value, JSON_COMPACT);
    json_decref(value);
    cleanup_bytes struct bytes *body = bytes_copy(slice_from_text(dumped ? dumped : "null"));
    free(dumped); /* made by jansson */
    struct http_header headers[3] = {{"Content-Type", "application/json"},
                                     {"Content-Security-Policy", policy}};
    if (more)
        headers[2] = *more;
    http_reply(request, status, headers, more ? 3 : 2, body);
}

static json_t *make_error(int status, const char *code, const char *format, va_list args) {
    char message[1024 + RPC_OUTPUT_MAX];
    cleanup_text struct text mended = {0};
    vsnprintf(message, sizeof message, format, args);
    text_append_text(&mended, ""); /* never NULL */
    utf8_append_mended(&mended, slice_from_text(message));
    return json_pack("{s:s, s:s, s:s}", "reason", http_status_phrase(status), "message",
                     mended.data, "code", code);
}

json_t *error_value(int status, const char *code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    json_t *value = make_error(status, code, format, args);
    va_end(args);
    return value;
}

void reply_error(struct http_request *request, int status, const char *code, const char *format,
                 ...) {
    va_list args;
    va_start(args, format);
    json_t *value = make_error(status, code, format, args);
    va_end(args);
    reply_json(request, status, value, NULL);
}

void reply_nothing(struct http_request *request) {
    http_reply(request, 204, NULL, 0, NULL);
}

json_t *read_body(struct http_request *request) {
    struct slice body = http_request_body(request);
    if (body.size == 0)
        return json_object();
    if (body.size > BODY_MAX) {
        reply_error(request, 413, "body_too_large", "the body has %zu bytes, at most %d are read",
                    body.size, BODY_MAX);
        return NULL;
    }
    json_error_t problem;
    json_t *value = json_loadb((const char *)body.data, body.size, 0, &problem);
    if (value && json_is_object(value))
        return value;
    if (value)
        reply_error(request, 400, "invalid_body", "the body is JSON, but not an object");
    else
        reply_error(request, 400, "invalid_json", "the body is not JSON: line %d column %d: %s",
                    problem.line, problem.column, problem.text);
    json_decref(value);
    return NULL;
}

const json_t *get_member(const json_t *object, const char *name) {
    const json_t *value = json_object_get(object, name);
    return json_is_null(value) ? NULL : value;
}
