#include "echo/answer.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "echo/json.h"
#include "echo/kernel.h"
#include "echo/message.h"
#include "echo/publish.h"
#include "msg/types.h"

static answer_function *const answers[MSG_TYPE_UNKNOWN + 1] = {
    [MSG_TYPE_execute_request] = answer_execute,
    [MSG_TYPE_inspect_request] = answer_inspect,
    [MSG_TYPE_complete_request] = answer_complete,
    [MSG_TYPE_history_request] = answer_history,
    [MSG_TYPE_is_complete_request] = answer_is_complete,
    [MSG_TYPE_comm_info_request] = answer_comm_info,
    [MSG_TYPE_kernel_info_request] = answer_kernel_info,
    [MSG_TYPE_comm_open] = answer_comm_open,
    [MSG_TYPE_comm_msg] = answer_comm_msg,
    [MSG_TYPE_comm_close] = answer_comm_close,
    [MSG_TYPE_shutdown_request] = answer_shutdown,
    [MSG_TYPE_interrupt_request] = answer_interrupt,
};

json_t *answer_shutdown(struct kernel *kernel, const struct request *request,
                        const json_t *content) {
    json_t *reply = json_pack("{s:s, s:b}", "status", "ok", "restart",
                              json_member_flag(content, "restart", false));
    publish_json(kernel, request, "shutdown_reply", json_incref(reply));
    kernel->stopping = true;
    return reply;
}

json_t *answer_interrupt(struct kernel *kernel, const struct request *request,
                         const json_t *content) {
    (void)request, (void)content;
    kernel->interrupted = true;
    return json_pack("{s:s}", "status", "ok");
}

/* The content of the reply, NULL for none. A content that is not understood is answered too. */
static json_t *answer(struct kernel *kernel, const struct request *request,
                      const struct msg_type *type) {
    answer_function *function = answers[type->id];
    if (!function) {
        fprintf(stderr, "a %s is not known here\n", request->header.msg_type);
        return NULL;
    }
    if (!type->reply)
        return function(kernel, request, NULL);
    json_error_t error;
    struct slice text = request->msg.content;
    json_t *content = json_loadb((const char *)text.data, text.size, JSON_ALLOW_NUL, &error);
    json_t *reply = json_is_object(content) ? function(kernel, request, content)
                                            : json_error("ValueError", error.text);
    json_decref(content);
    return reply;
}

void answer_request(struct kernel *kernel, const struct request *request) {
    const struct msg_type *type = msg_type_from(slice_from_text(request->header.msg_type));
    publish_status(kernel, request, "busy");
    json_t *reply = answer(kernel, request, type);
    if (reply) {
        cleanup_text struct text content = {0};
        json_append_consume(&content, reply);
        message_reply(kernel, request, type->reply, text_slice(&content));
    }
    /* A cell that ended the kernel leaves its request open, as a kernel that died does. */
    if (reply || !kernel->stopping)
        publish_status(kernel, request, "idle");
}
