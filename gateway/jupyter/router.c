/* router - from a path to a handler, by the table in routes.def. */
#include <stdio.h>

#include "auth/auth.h"
#include "base/cleanup.h"
#include "jupyter/cors.h"
#include "jupyter/exchange.h"
#include "jupyter/handlers.h"
#include "jupyter/session_table.h"
#include "session/ids.h"

enum access { OPEN, TOKEN };

struct route {
    const char *method, *path;
    void (*handle)(struct exchange *exchange);
    enum access access;
};

static const struct route routes[] = {
#define ROUTE(method, path, handler, access) {#method, path, handler, access},
#include "jupyter/routes.def"
#undef ROUTE
};

/* One segment off the front of path, without its slash; path begins with "/". */
static struct slice next_segment(struct slice *path) {
    struct slice rest = slice_from(*path, 1);
    const uint8_t *slash = rest.size ? memchr(rest.data, '/', rest.size) : NULL;
    size_t size = slash ? (size_t)(slash - rest.data) : rest.size;
    *path = slice_from(rest, size);
    return slice_make(rest.data, size);
}

/* Whether path fits pattern; the segments that stand for {} are written undecoded. */
static bool match(const char *pattern_text, struct slice path, struct slice *ret_arguments) {
    struct slice pattern = slice_from_text(pattern_text);
    size_t count = 0;
    while (pattern.size > 0 && path.size > 0) {
        struct slice expected = next_segment(&pattern), segment = next_segment(&path);
        if (slice_equal_text(expected, "{}") && segment.size > 0)
            ret_arguments[count++] = segment;
        else if (!slice_equal(expected, segment))
            return false;
    }
    return pattern.size == 0 && path.size == 0;
}

struct found {
    const struct route *route; /* NULL: there is none */
    struct slice arguments[ROUTE_ARGUMENTS_MAX];
};

static struct found find_route(struct slice method, struct slice path) {
    struct found found = {0};
    if (slice_equal_text(method, "HEAD"))
        method = SLICE_LITERAL("GET");
    for (size_t i = 0; i < sizeof routes / sizeof *routes && !found.route; i++) {
        struct slice arguments[ROUTE_ARGUMENTS_MAX] = {{0}};
        if (!match(routes[i].path, path, arguments) || !slice_equal_text(method, routes[i].method))
            continue;
        found.route = &routes[i];
        memcpy(found.arguments, arguments, sizeof arguments);
    }
    return found;
}

static void free_arguments(char *const *decoded) {
    for (int i = 0; i < ROUTE_ARGUMENTS_MAX; i++)
        mem_free(decoded[i]);
}

static void handle(struct exchange *exchange, const struct found *found) {
    char *decoded[ROUTE_ARGUMENTS_MAX] = {0};
    for (int i = 0; i < ROUTE_ARGUMENTS_MAX && found->arguments[i].data; i++) {
        if (http_percent_decode(found->arguments[i], false, &decoded[i]) < 0) {
            free_arguments(decoded);
            reply_error(exchange->request, 400, "invalid_path",
                        "the path holds a percent sign without two hexadecimal digits, or a NUL");
            return;
        }
        exchange->arguments[i] = decoded[i];
    }
    found->route->handle(exchange);
    free_arguments(decoded);
}

/* A trailing slash means the same resource. */
static struct slice without_trailing_slash(struct slice path) {
    while (path.size > 1 && path.data[path.size - 1] == '/')
        path.size--;
    return path;
}

/* The methods that path has, as RFC 9110 section 10.2.1 wants them; empty where it has none. */
static void list_methods(struct slice path, struct text *ret_methods) {
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        struct slice arguments[ROUTE_ARGUMENTS_MAX];
        if (!match(routes[i].path, path, arguments))
            continue;
        bool is_get = strcmp(routes[i].method, "GET") == 0;
        text_append_format(ret_methods, "%s%s, ", routes[i].method, is_get ? ", HEAD" : "");
    }
    if (ret_methods->size)
        text_append_text(ret_methods, "OPTIONS");
}

static void reply_unrouted(struct http_request *request, struct slice method, struct slice path) {
    cleanup_text struct text methods = {0};
    list_methods(path, &methods);
    if (!methods.size) {
        reply_error(request, 404, "not_found", "there is nothing at %.*s", (int)path.size,
                    (const char *)path.data);
        return;
    }
    json_t *value = error_value(405, "method_not_allowed", "%.*s is not for %.*s", (int)method.size,
                                (const char *)method.data, (int)path.size, (const char *)path.data);
    reply_json(request, 405, value, &(struct http_header){"Allow", methods.data});
}

static void reply_unauthorized(struct http_request *request, const struct auth_answer *answer) {
    static const struct http_header challenge = {"WWW-Authenticate", "Bearer"};
    json_t *value = error_value(answer->status, "unauthorized", "%s", answer->message);
    reply_json(request, answer->status, value, answer->status == 401 ? &challenge : NULL);
}

static void reply_foreign(struct http_request *request) {
    struct slice origin = http_request_header(request, "Origin");
    reply_error(request, 403, "origin_not_allowed",
                "pages of %.*s may not call this gateway: allow_origin does not name it",
                (int)origin.size, (const char *)origin.data);
}

void jupyter_on_request(void *context, struct http_request *request) {
    struct exchange exchange = {.jupyter = context, .request = request};
    const struct params *params = exchange.jupyter->context.params;
    struct slice method = http_request_method(request);
    cors_add_headers(params, request);
    if (slice_equal_text(method, "OPTIONS")) { /* a preflight carries no token */
        cors_add_permissions(params, request);
        reply_nothing(request);
        return;
    }
    if (!cors_admits(params, request)) {
        reply_foreign(request);
        return;
    }
    struct auth_answer answer = auth_check(exchange.jupyter->context.auth, request);
    if (!answer.path.data) {
        reply_error(request, 404, "not_found", "everything here is below base_url, %s/",
                    params->base_url);
        return;
    }
    struct slice path = without_trailing_slash(answer.path);
    struct found found = find_route(method, path);
    if (answer.status && !(found.route && found.route->access == OPEN))
        reply_unauthorized(request, &answer);
    else if (found.route)
        handle(&exchange, &found);
    else
        reply_unrouted(request, method, path);
}

void jupyter_on_refusal(void *context, struct http_request *request) {
    const struct jupyter *jupyter = context;
    cors_add_headers(jupyter->context.params, request);
}

struct jupyter *jupyter_create(const struct jupyter_context *context) {
    struct jupyter *jupyter = mem_zalloc(1, sizeof *jupyter);
    jupyter->context = *context;
    jupyter->sessions = session_table_create(context->kernels, context->params->max_session_names);
    jupyter->started_us = id_now_us();
    return jupyter;
}

void jupyter_destroy(struct jupyter *jupyter) {
    session_table_destroy(jupyter->sessions);
    mem_free(jupyter);
}
