/* kernels - /api/kernels, but for POST (kernels_post.c). Delete and restart answer when they are
 * done, so their exchange waits in the session. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "jupyter/exchange.h"
#include "jupyter/handlers.h"
#include "msg/build.h"

enum { GRACE_MAX_MS = 600000 };

json_t *kernel_model(struct kernel *kernel) {
    char date[MSG_DATE_SIZE];
    msg_format_date(kernel_last_activity_us(kernel), date);
    json_t *model =
        json_pack("{s:s, s:s, s:s, s:s, s:i}", "id", kernel_id(kernel), "name",
                  kernel_spec_name(kernel), "last_activity", date, "execution_state",
                  kernel_execution_state(kernel), "connections", (int)kernel_connections(kernel));
    const char *reason = kernel_reason(kernel);
    if (reason)
        json_object_set_new(model, "reason", json_string_nocheck(reason));
    json_t *parameters = kernel_parameters(kernel);
    if (parameters)
        json_object_set(model, "cellblock", parameters);
    return model;
}

struct kernel *find_kernel(const struct exchange *exchange) {
    const char *id = exchange->arguments[0];
    struct kernel *kernel = kernels_find(exchange->jupyter->context.kernels, id);
    if (!kernel)
        reply_error(exchange->request, 404, "kernel_not_found", "Kernel does not exist: %s", id);
    return kernel;
}

struct kernel *find_kernel_of(const struct exchange *exchange, const json_t *id) {
    const char *text = json_string_value(id);
    return text ? kernels_find(exchange->jupyter->context.kernels, text) : NULL;
}

static void append_model(void *context, struct kernel *kernel) {
    json_array_append_new(context, kernel_model(kernel));
}

void kernels_list(struct exchange *exchange) {
    json_t *models = json_array();
    kernels_each(exchange->jupyter->context.kernels, append_model, models);
    reply_json(exchange->request, 200, models, NULL);
}

void kernels_get(struct exchange *exchange) {
    struct kernel *kernel = find_kernel(exchange);
    if (kernel)
        reply_json(exchange->request, 200, kernel_model(kernel), NULL);
}

/* -- what takes a while ----------------------------------------------------------------------- */

void waiting_request_free(void *context) {
    struct waiting_request *waiting = context;
    list_remove(&waiting->waiter.link);
    mem_free(waiting->id);
    mem_free(waiting);
}

struct waiting_request *waiting_request_create(struct exchange *exchange, struct kernel *kernel,
                                               void (*done)(struct kernel_waiter *,
                                                            const struct err *)) {
    struct waiting_request *waiting = mem_zalloc(1, sizeof *waiting);
    waiting->waiter.done = done;
    list_init(&waiting->waiter.link);
    waiting->request = exchange->request;
    waiting->jupyter = exchange->jupyter;
    waiting->id = mem_strdup(kernel_id(kernel));
    http_request_set_context(exchange->request, waiting, waiting_request_free);
    return waiting;
}

static void answer_delete(struct kernel_waiter *waiter, const struct err *err) {
    struct waiting_request *waiting = LIST_ENTRY(waiter, struct waiting_request, waiter);
    if (err->code)
        reply_error(waiting->request, 500, "delete_failed", "%s", err->text);
    else
        reply_nothing(waiting->request);
    waiting_request_free(waiting);
}

void delete_kernel(struct exchange *exchange, struct kernel *kernel) {
    kernel_delete(kernel, &waiting_request_create(exchange, kernel, answer_delete)->waiter);
}

void kernels_delete(struct exchange *exchange) {
    struct kernel *kernel = find_kernel(exchange);
    if (kernel)
        delete_kernel(exchange, kernel);
}

static void answer_restart(struct kernel_waiter *waiter, const struct err *err) {
    struct waiting_request *waiting = LIST_ENTRY(waiter, struct waiting_request, waiter);
    struct kernel *kernel = kernels_find(waiting->jupyter->context.kernels, waiting->id);
    if (err->code == ECANCELED || !kernel)
        reply_error(waiting->request, 404, "kernel_not_found", "Kernel does not exist: %s: %s",
                    waiting->id, err->text);
    else if (err->code)
        reply_error(waiting->request, 500, "restart_failed", "%s", err->text);
    else
        reply_json(waiting->request, 200, kernel_model(kernel), NULL);
    waiting_request_free(waiting);
}

void kernels_restart(struct exchange *exchange) {
    struct kernel *kernel = find_kernel(exchange);
    if (kernel)
        kernel_restart(kernel, &waiting_request_create(exchange, kernel, answer_restart)->waiter);
}

/* ?grace_ms=N; without it what runs has all the time it wants (-1). */
static int read_grace(struct http_request *request, int64_t *ret_ms) {
    cleanup_mem char *text = http_query_get(http_request_query(request), "grace_ms");
    long long ms = text ? strtoll(text, NULL, 10) : -1;
    if (text && (!*text || text[strspn(text, "0123456789")] || ms > GRACE_MAX_MS))
        return -EINVAL;
    *ret_ms = ms;
    return 0;
}

void kernels_interrupt(struct exchange *exchange) {
    struct kernel *kernel = find_kernel(exchange);
    int64_t grace_ms;
    struct err err;
    if (!kernel)
        return;
    if (read_grace(exchange->request, &grace_ms) < 0)
        reply_error(exchange->request, 400, "invalid_grace",
                    "grace_ms is not a number of milliseconds up to %d", GRACE_MAX_MS);
    else if (kernel_interrupt(kernel, grace_ms, &err) < 0)
        reply_error(exchange->request, 409, err.code == ESRCH ? "kernel_dead" : "kernel_pending",
                    "%s", err.text);
    else
        reply_nothing(exchange->request);
}
