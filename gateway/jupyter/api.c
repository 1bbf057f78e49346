/* api - /api and /api/status: what this gateway is and what it does now. */
#include "jupyter/exchange.h"
#include "jupyter/handlers.h"
#include "msg/build.h"

void api_get(struct exchange *exchange) {
    reply_json(
        exchange->request, 200,
        json_pack("{s:s, s:s}", "version", CELLBLOCK_VERSION, "gateway_version", CELLBLOCK_VERSION),
        NULL);
}

struct status {
    int64_t newest_us; /* activity */
    json_int_t connections;
};

static void add_kernel(void *context, struct kernel *kernel) {
    struct status *status = context;
    if (kernel_last_activity_us(kernel) > status->newest_us)
        status->newest_us = kernel_last_activity_us(kernel);
    status->connections += kernel_connections(kernel);
}

void api_status(struct exchange *exchange) {
    const struct jupyter *jupyter = exchange->jupyter;
    const struct jupyter_context *context = &jupyter->context;
    struct status status = {.newest_us = jupyter->started_us};
    kernels_each(context->kernels, add_kernel, &status);
    char started[MSG_DATE_SIZE], activity[MSG_DATE_SIZE];
    msg_format_date(jupyter->started_us, started);
    msg_format_date(status.newest_us, activity);
    reply_json(exchange->request, 200,
               json_pack("{s:s, s:s, s:I, s:I, s:I}", "started", started, "last_activity", activity,
                         "kernels", (json_int_t)kernels_count(context->kernels), "connections",
                         status.connections, "http_connections",
                         (json_int_t)context->connections(context->connections_context)),
               NULL);
}
