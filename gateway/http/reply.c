/* reply - answers. Its one complication: a header's value may hold what a stranger chose, so a
 * control character in it becomes a blank (RFC 9110 section 5.5) and cannot begin a new line. */
#include "http/reply.h"

#include <assert.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "http/connection.h"
#include "http/request.h"

enum { HIGH_MARK = 256 * 1024, LOW_MARK = 64 * 1024 };

static void append_value(struct text *head, const char *value) {
    size_t begin = head->size;
    text_append_text(head, value);
    for (size_t i = begin; i < head->size; i++)
        if (((uint8_t)head->data[i] < ' ' && head->data[i] != '\t') || head->data[i] == 0x7f)
            head->data[i] = ' ';
}

static void append_header(struct text *head, const char *name, const char *value) {
    append_value(head, name);
    text_append_text(head, ": ");
    append_value(head, value);
    text_append_text(head, "\r\n");
}

void http_request_add_header(struct http_request *request, const char *name, const char *value) {
    append_header(&request->added, name, value);
}

void reply_append_head(struct text *head, struct http_server *server, const struct answer *answer) {
    text_append_format(head, "HTTP/1.1 %d %s\r\nDate: %s\r\n", answer->status,
                       http_status_phrase(answer->status), server_date(server));
    for (size_t i = 0; i < answer->header_count; i++)
        append_header(head, answer->headers[i].name, answer->headers[i].value);
    if (answer->lines)
        text_append_text(head, answer->lines);
    if (answer->added)
        text_append_text(head, answer->added);
    text_append_text(head, "\r\n");
}

void reply_append_refusal(struct text *message, struct http_server *server,
                          const struct refusal *refusal, const char *added, bool with_body) {
    cleanup_text struct text body = {0}, lines = {0};
    text_append_format(&body,
                       "{\"reason\": \"%s\", \"message\": ", http_status_phrase(refusal->status));
    text_append_json_string(&body, slice_from_text(refusal->message));
    text_append_format(&body, ", \"code\": \"%s\"}\n", refusal->code);
    text_append_format(&lines,
                       "Connection: close\r\nContent-Type: application/json\r\n"
                       "Content-Length: %zu\r\n%s",
                       body.size, refusal->header ? refusal->header : "");
    struct answer answer = {.status = refusal->status, .lines = lines.data, .added = added};
    reply_append_head(message, server, &answer);
    if (with_body)
        text_append(message, text_slice(&body));
}

/* What the answer says about the connection: HTTP/1.1 stays open and 1.0 closes unless told. */
static const char *connection_line(const struct http_request *request) {
    if (connection_will_close(request->connection))
        return "Connection: close\r\n";
    return request->parser.http_1_0 ? "Connection: keep-alive\r\n" : "";
}

/* No body, and no Content-Length either (RFC 9110 section 8.6). */
static bool is_bodiless_status(int status) {
    return status == 204 || status == 304 || status < 200;
}

static bool is_head(const struct http_request *request) {
    return slice_equal_text(request->parser.method, "HEAD");
}

void http_reply(struct http_request *request, int status, const struct http_header *headers,
                size_t header_count, struct bytes *body) {
    struct connection *connection = request->connection;
    assert(!request->begun);
    struct slice content = body ? bytes_slice(body) : SLICE_LITERAL("");
    struct text lines = {0}, head = {0};
    text_append_text(&lines, connection_line(request));
    if (!is_bodiless_status(status))
        text_append_format(&lines, "Content-Length: %zu\r\n", content.size);
    struct answer answer = {status, headers, header_count, lines.data, request->added.data};
    reply_append_head(&head, connection->server, &answer);
    bool send_body = !is_bodiless_status(status) && !is_head(request);
    struct piece pieces[] = {{text_slice(&head), NULL}, {content, body}};
    connection_send(connection, pieces, send_body ? 2 : 1);
    text_finish(&lines);
    text_finish(&head);
    connection_end_answer(connection, request);
}

void http_reply_begin(struct http_request *request, int status, const struct http_header *headers,
                      size_t header_count, const struct http_stream_events *events) {
    struct connection *connection = request->connection;
    assert(!request->begun);
    request->begun = true;
    if (events)
        request->events = *events;
    request->bodiless = is_bodiless_status(status) || is_head(request);
    request->chunked = !request->parser.http_1_0 && !is_bodiless_status(status);
    if (request->parser.http_1_0)
        connection_close_after_answer(connection); /* its end is the end of the body */
    struct text lines = {0}, head = {0};
    text_append_text(&lines, connection_line(request));
    if (request->chunked)
        text_append_text(&lines, "Transfer-Encoding: chunked\r\n");
    struct answer answer = {status, headers, header_count, lines.data, request->added.data};
    reply_append_head(&head, connection->server, &answer);
    connection_send(connection, &(struct piece){text_slice(&head), NULL}, 1);
    text_finish(&lines);
    text_finish(&head);
}

size_t http_reply_chunk(struct http_request *request, struct bytes *chunk) {
    assert(request->begun);
    if (request->bodiless || chunk->size == 0)
        return outbox_size(&request->connection->outbox);
    char size_line[20];
    int size = snprintf(size_line, sizeof size_line, "%zx\r\n", chunk->size);
    struct piece pieces[] = {{slice_make(size_line, (size_t)size), NULL},
                             {bytes_slice(chunk), chunk},
                             {SLICE_LITERAL("\r\n"), NULL}};
    size_t queued = request->chunked ? connection_send(request->connection, pieces, 3)
                                     : connection_send(request->connection, &pieces[1], 1);
    if (queued > HIGH_MARK)
        request->above_mark = true;
    return queued;
}

void http_reply_end(struct http_request *request) {
    assert(request->begun);
    if (request->chunked && !request->bodiless)
        connection_send(request->connection, &(struct piece){SLICE_LITERAL("0\r\n\r\n"), NULL}, 1);
    connection_end_answer(request->connection, request);
}

void reply_tell_drained(struct http_request *request, size_t queued) {
    if (!request->above_mark || queued >= LOW_MARK)
        return;
    request->above_mark = false;
    if (request->events.on_drained)
        request->events.on_drained(request->events.context);
}
