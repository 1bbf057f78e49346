/* reply - how every handler answers, and how it reads a JSON body. An error always has `reason` and
 * `message`. */
#include <stdarg.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "jupyter/exchange.h"

static const struct {
    int status;
    const char *phrase;
} phrases[] = {
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {409, "Conflict"},
    {410, "Gone"},
    {413, "Content Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
};

static const char *phrase_of(int status) {
    for (size_t i = 0; i < sizeof phrases / sizeof *phrases; i++)
        if (phrases[i].status == status)
            return phrases[i].phrase;
    return "Error";
}

void reply_json(struct http_request *request, int status, json_t *value, const char *location) {
    char *dumped = json_dumps(value, JSON_COMPACT);
    json_decref(value);
    cleanup_bytes struct bytes *body = bytes_copy(slice_from_text(dumped ? dumped : "null"));
    free(dumped); /* jansson's own allocation */
    struct http_header headers[2] = {{"Content-Type", "application/json"}, {"Location", location}};
    http_reply(request, status, headers, location ? 2 : 1, body);
}

void reply_error(struct http_request *request, int status, const char *code, const char *format,
                 ...) {
    char message[1024 + RPC_OUTPUT_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    json_t *text = json_string(message);
    if (!text) /* a stranger's bytes that are not UTF-8 */
        text = json_string("the request holds bytes that are not UTF-8");
    reply_json(
        request, status,
        json_pack("{s:s, s:o, s:s}", "reason", phrase_of(status), "message", text, "code", code),
        NULL);
}

void reply_nothing(struct http_request *request) {
    http_reply(request, 204, NULL, 0, NULL);
}

json_t *read_body(struct http_request *request) {
    struct slice body = http_request_body(request);
    if (body.size == 0)
        return json_object();
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
