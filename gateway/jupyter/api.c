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

static void note_activity(void *context, struct kernel *kernel) {
    int64_t *newest_us = context;
    if (kernel_last_activity_us(kernel) > *newest_us)
        *newest_us = kernel_last_activity_us(kernel);
}

void api_status(struct exchange *exchange) {
    const struct jupyter *jupyter = exchange->jupyter;
    const struct jupyter_context *context = &jupyter->context;
    int64_t newest_us = jupyter->started_us;
    kernels_each(context->kernels, note_activity, &newest_us);
    char started[MSG_DATE_SIZE], activity[MSG_DATE_SIZE];
    msg_format_date(jupyter->started_us, started);
    msg_format_date(newest_us, activity);
    reply_json(exchange->request, 200,
               json_pack("{s:s, s:s, s:I, s:I}", "started", started, "last_activity", activity,
                         "kernels", (json_int_t)kernels_count(context->kernels), "connections",
                         (json_int_t)context->connections(context->connections_context)),
               NULL);
}
