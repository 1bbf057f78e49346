#include "http/request.h"

#include "base/mem.h"
#include "http/connection.h"

/* The joined values of a header that came more than once. */
struct joined {
    struct list link;
    const uint8_t *name; /* of the first field */
    struct text value;
};

struct http_request *request_create(struct connection *connection,
                                    const struct http_limits *limits) {
    struct http_request *request = mem_zalloc(1, sizeof *request);
    request->connection = connection;
    list_init(&request->joined);
    parser_init(&request->parser, limits);
    return request;
}

static void destroy_joined(struct joined *joined) {
    list_remove(&joined->link);
    text_finish(&joined->value);
    mem_free(joined);
}

void request_destroy(struct http_request *request) {
    if (!request)
        return;
    struct joined *joined;
    list_for_each (joined, &request->joined, link)
        destroy_joined(joined);
    text_finish(&request->added);
    parser_finish(&request->parser);
    mem_free(request);
}

void request_tell_gone(struct http_request *request) {
    if (request->begun && request->events.on_gone)
        request->events.on_gone(request->events.context);
    else if (request->on_gone)
        request->on_gone(request->context);
}

struct slice http_request_method(const struct http_request *request) {
    return request->parser.method;
}

struct slice http_request_path(const struct http_request *request) {
    return request->parser.path;
}

struct slice http_request_query(const struct http_request *request) {
    return request->parser.query;
}

struct slice http_request_body(const struct http_request *request) {
    return text_slice(&request->parser.body);
}

const struct http_peer *http_request_peer(const struct http_request *request) {
    return &request->connection->peer;
}

bool http_request_is_websocket(const struct http_request *request) {
    return request->parser.wants_websocket;
}

void http_request_set_context(struct http_request *request, void *context,
                              void (*on_gone)(void *context)) {
    request->context = context;
    request->on_gone = on_gone;
}

void *http_request_context(const struct http_request *request) {
    return request->context;
}

static struct joined *join(const struct http_request *request, const char *name) {
    struct joined *joined = mem_zalloc(1, sizeof *joined);
    const struct field *field;
    for (unsigned i = 0; (field = fields_find(&request->parser, name, i)); i++) {
        if (i > 0)
            text_append_text(&joined->value, ", ");
        text_append(&joined->value, field->value);
    }
    joined->name = fields_find(&request->parser, name, 0)->name.data;
    return joined;
}

struct slice http_request_header(const struct http_request *request, const char *name) {
    const struct field *first = fields_find(&request->parser, name, 0);
    if (!first)
        return (struct slice){0};
    if (!fields_find(&request->parser, name, 1))
        return first->value;
    struct joined *joined;
    list_for_each (joined, &request->joined, link)
        if (joined->name == first->name.data)
            return text_slice(&joined->value);
    joined = join(request, name);
    list_append((struct list *)&request->joined, &joined->link);
    return text_slice(&joined->value);
}
