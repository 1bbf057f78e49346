/* kernels - /api/kernels. POST answers at once; delete and restart answer when they are done, so
 * their exchange waits in the session. */
#include <errno.h>

#include "base/cleanup.h"
#include "jupyter/environment.h"
#include "jupyter/exchange.h"
#include "jupyter/handlers.h"
#include "msg/build.h"

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
    return model;
}

struct kernel *find_kernel(const struct exchange *exchange) {
    const char *id = exchange->arguments[0];
    struct kernel *kernel = kernels_find(exchange->jupyter->context.kernels, id);
    if (!kernel)
        reply_error(exchange->request, 404, "kernel_not_found", "Kernel does not exist: %s", id);
    return kernel;
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

/* The kernelspec that the body names, or the default; NULL after an answer. */
static const struct spec *wanted_spec(struct exchange *exchange, const json_t *body) {
    const struct jupyter_context *context = &exchange->jupyter->context;
    const json_t *name = json_object_get(body, "name");
    if (name && !json_is_string(name) && !json_is_null(name)) {
        reply_error(exchange->request, 400, "invalid_name", "name is not a string");
        return NULL;
    }
    const char *wanted =
        json_string_length(name) > 0 ? json_string_value(name) : context->params->default_kernel;
    const struct spec *spec = specs_find(context->specs, wanted);
    if (!spec)
        reply_error(exchange->request, 404, "kernelspec_not_found",
                    "there is no kernelspec named %s", wanted);
    return spec;
}

static void start_kernel(struct exchange *exchange, const struct kernel_start *start) {
    struct kernel *kernel;
    struct err err;
    if (kernels_start(exchange->jupyter->context.kernels, start, &kernel, &err) < 0) {
        reply_error(exchange->request, 403, "max_kernels", "Resource Limit: %s", err.text);
        return;
    }
    cleanup_mem char *location = mem_format("/api/kernels/%s", kernel_id(kernel));
    reply_json(exchange->request, 201, kernel_model(kernel),
               &(struct http_header){"Location", location});
}

void kernels_post(struct exchange *exchange) {
    json_t *body = read_body(exchange->request);
    if (!body)
        return;
    cleanup_text struct text environment = {0};
    struct kernel_start start = {0};
    struct err err;
    start.spec = wanted_spec(exchange, body);
    if (start.spec && json_object_get(body, "cellblock"))
        reply_error(exchange->request, 400, "not_available",
                    "/cellblock: session parameters are not available in this version");
    else if (start.spec &&
             environment_read(exchange->jupyter->context.params, json_object_get(body, "env"),
                              &environment, &start.launch_timeout_ms, &err) < 0)
        reply_error(exchange->request, 400, "invalid_env", "%s", err.text);
    else if (start.spec) {
        start.environment = text_slice(&environment);
        start_kernel(exchange, &start);
    }
    json_decref(body);
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

void kernels_delete(struct exchange *exchange) {
    struct kernel *kernel = find_kernel(exchange);
    if (kernel)
        kernel_delete(kernel, &waiting_request_create(exchange, kernel, answer_delete)->waiter);
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

void kernels_interrupt(struct exchange *exchange) {
    struct kernel *kernel = find_kernel(exchange);
    struct err err;
    if (!kernel)
        return;
    if (kernel_interrupt(kernel, &err) < 0)
        reply_error(exchange->request, 409, err.code == ESRCH ? "kernel_dead" : "kernel_pending",
                    "%s", err.text);
    else
        reply_nothing(exchange->request);
}
