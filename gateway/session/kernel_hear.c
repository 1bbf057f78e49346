/* kernel_hear - what the kernel says: an answer goes to the client that asked, iopub to everyone,
 * and what answers the gateway's own requests to nobody. */
#include <jansson.h>
#include <string.h>

#include "base/mem.h"
#include "session/kernel_parts.h"

static void finish_if_over(struct kernel *kernel, struct request *request) {
    if (request->replied && request->idle)
        pending_remove(&kernel->pending, request);
}

static void note_status(struct kernel *kernel, const struct msg *msg, struct request *request) {
    json_t *content = json_loadb((const char *)msg->content.data, msg->content.size, 0, NULL);
    const char *state = json_string_value(json_object_get(content, "execution_state"));
    if (request && state && strcmp(state, "busy") == 0)
        request->busy = true;
    if (request && state && strcmp(state, "idle") == 0) {
        request->idle = true;
        finish_if_over(kernel, request);
    }
    json_decref(content);
}

static void keep_info(struct kernel *kernel, const struct msg *msg) {
    bytes_unref(kernel->info);
    kernel->info = bytes_copy(msg->content);
}

/* Answers that the gateway asked for itself, and what a kernel says to a new subscription (JEP 65):
 * nobody's business but ours. */
static bool take_own(struct kernel *kernel, const struct msg *msg, const struct msg_header *header,
                     const struct msg_header *parent, const struct msg_type *type) {
    bool own = strcmp(parent->session, kernel->own_session) == 0;
    if (!own && strcmp(header->msg_type, "iopub_welcome") != 0)
        return false;
    if (type->id == MSG_TYPE_kernel_info_reply)
        keep_info(kernel, msg);
    kernel_on_answer(kernel, msg->channel);
    return true;
}

/* To whom a message of the kernel goes: NULL for everyone. */
static struct kernel_client *receiver_of(const struct msg *msg, struct request *request,
                                         bool *ret_nobody) {
    *ret_nobody = false;
    if (msg->channel == MSG_IOPUB || !request)
        return NULL;
    *ret_nobody = !request->client;
    return request->client;
}

/* What a kernel prints while it starts. On every Jupyter server clients subscribe later and never
 * see it; the last of it is told where the kernel does not become ready. */
static bool is_noise_of_the_start(const struct kernel *kernel, const struct msg_header *parent,
                                  const struct msg_type *type) {
    return kernel->life < LIFE_READY && !*parent->msg_id && type->id != MSG_TYPE_status;
}

static void on_message(void *context, const struct msg *msg, const struct msg_header *header,
                       const struct msg_header *parent) {
    struct kernel *kernel = context;
    const struct msg_type *type = msg_type_from(slice_from_text(header->msg_type));
    if (strcmp(kernel->kernel_session, header->session) != 0) {
        mem_free(kernel->kernel_session);
        kernel->kernel_session = mem_strdup(header->session);
    }
    if (take_own(kernel, msg, header, parent, type) || is_noise_of_the_start(kernel, parent, type))
        return;
    kernel->last_activity_us = id_now_us();
    struct request *request = pending_find(&kernel->pending, parent);
    struct outgoing outgoing = {.msg = msg, .header = header};
    bool nobody;
    struct kernel_client *client = receiver_of(msg, request, &nobody);
    if (client)
        client->on_message(client, &outgoing);
    else if (!nobody)
        kernel_broadcast(kernel, &outgoing);
    outgoing_finish(&outgoing);
    if (type->id == MSG_TYPE_kernel_info_reply)
        keep_info(kernel, msg);
    if (msg->channel == MSG_IOPUB && type->id == MSG_TYPE_status)
        note_status(kernel, msg, request);
    else if (request && msg->channel == request->channel && type->role == MSG_REPLY) {
        request->replied = true;
        finish_if_over(kernel, request);
    }
}

static void on_refused(void *context, const struct err *err) {
    struct kernel *kernel = context;
    kernel->context->on_trouble(kernel->id, err->text);
}

const struct link_events kernel_link_events = {
    .on_linked = kernel_on_linked,
    .on_failed = kernel_on_link_failed,
    .on_message = on_message,
    .on_refused = on_refused,
    .on_drained = kernel_on_drained,
};
