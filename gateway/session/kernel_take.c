/* kernel_take - what clients send: to the kernel at once and in order, or kept until it is ready.
 * The one exception: while a cell runs, kernel_info is answered from the last answer, since clients
 * hold everything back for it. */
#include <jansson.h>
#include <string.h>

#include "base/cleanup.h"
#include "msg/build.h"
#include "session/kernel_parts.h"

/* Copies one piece of a message to *at and moves it on. */
static struct slice copy_piece(struct slice piece, uint8_t **at) {
    if (piece.size)
        memcpy(*at, piece.data, piece.size);
    struct slice copy = slice_make(*at, piece.size);
    *at += piece.size;
    return copy;
}

static size_t size_of(const struct msg *msg) {
    size_t size =
        msg->header.size + msg->parent_header.size + msg->metadata.size + msg->content.size;
    for (size_t i = 0; i < msg->buffer_count; i++)
        size += msg->buffers[i].size;
    return size;
}

static void keep_waiting(struct kernel *kernel, const struct msg *msg) {
    size_t size = size_of(msg);
    struct waiting_message *waiting = mem_alloc(sizeof *waiting + size);
    uint8_t *at = waiting->data;
    waiting->size = size;
    waiting->buffers = mem_zalloc(msg->buffer_count, sizeof *waiting->buffers);
    waiting->msg = (struct msg){.channel = msg->channel,
                                .header = copy_piece(msg->header, &at),
                                .parent_header = copy_piece(msg->parent_header, &at),
                                .metadata = copy_piece(msg->metadata, &at),
                                .content = copy_piece(msg->content, &at),
                                .buffers = waiting->buffers,
                                .buffer_count = msg->buffer_count};
    for (size_t i = 0; i < msg->buffer_count; i++)
        waiting->buffers[i] = copy_piece(msg->buffers[i], &at);
    list_append(&kernel->waiting, &waiting->link);
    kernel->waiting_bytes += size;
}

static void drop_message(struct kernel *kernel, struct waiting_message *waiting) {
    list_remove(&waiting->link);
    kernel->waiting_bytes -= waiting->size;
    mem_free(waiting->buffers);
    mem_free(waiting);
}

void kernel_send_waiting(struct kernel *kernel) {
    struct waiting_message *waiting;
    list_for_each (waiting, &kernel->waiting, link) {
        link_send(kernel->link_to_kernel, &waiting->msg);
        drop_message(kernel, waiting);
    }
}

void kernel_drop_waiting(struct kernel *kernel) {
    struct waiting_message *waiting;
    list_for_each (waiting, &kernel->waiting, link)
        drop_message(kernel, waiting);
}

/* A kernel_info_request while a cell runs: the last answer, with a busy and an idle of its own. */
static bool answer_from_cache(struct kernel *kernel, struct kernel_client *client,
                              const struct msg *msg, const struct msg_type *type) {
    if (type->id != MSG_TYPE_kernel_info_request || msg->channel != MSG_SHELL || !kernel->info ||
        kernel->life != LIFE_READY || !pending_is_executing(&kernel->pending))
        return false;
    kernel_say_status(kernel, NULL, "busy", msg->header);
    kernel_say(kernel, client, MSG_SHELL, "kernel_info_reply", msg->header, (struct slice){0},
               bytes_slice(kernel->info));
    kernel_say_status(kernel, NULL, "idle", msg->header);
    return true;
}

static void note_shutdown(struct kernel *kernel, const struct msg *msg) {
    json_t *content = json_loadb((const char *)msg->content.data, msg->content.size, 0, NULL);
    kernel->shutdown_asked = true;
    kernel->shutdown_restarts = json_is_true(json_object_get(content, "restart"));
    json_decref(content);
}

/* Why a request cannot be taken; REASON_NONE where it can. */
static enum reason refusal_of(const struct kernel *kernel, const struct msg *msg,
                              const char **ret_sentence) {
    const struct params *params = kernel->context->params;
    *ret_sentence =
        "the session has session_pending_requests or session_pending_bytes open already";
    if (kernel->life == LIFE_DEAD || kernel->life == LIFE_DRAINING) {
        *ret_sentence = kernel->fate.sentence;
        return kernel->fate.reason;
    }
    if (kernel->pending.count > params->session_pending_requests)
        return REASON_limit;
    if (kernel->life != LIFE_READY &&
        kernel->waiting_bytes + size_of(msg) > params->session_pending_bytes)
        return REASON_limit;
    return REASON_NONE;
}

void kernel_receive(struct kernel *kernel, struct kernel_client *client, const struct msg *msg,
                    const struct msg_header *header) {
    const struct msg_type *type = msg_type_from(slice_from_text(header->msg_type));
    kernel->last_activity_us = id_now_us();
    if (msg->channel == MSG_IOPUB || answer_from_cache(kernel, client, msg, type))
        return;
    struct request *request =
        pending_add(&kernel->pending, client, client->session_id, msg, header);
    const char *sentence;
    enum reason refusal = refusal_of(kernel, msg, &sentence);
    if (refusal != REASON_NONE) {
        if (request)
            kernel_end_request(kernel, request, refusal, sentence);
        return;
    }
    if (type->id == MSG_TYPE_shutdown_request)
        note_shutdown(kernel, msg);
    struct msg sent = *msg;
    cleanup_bytes struct bytes *dated = msg_header_with_iso_date(msg->header, header);
    if (dated)
        sent.header = bytes_slice(dated);
    if (kernel->life == LIFE_READY)
        link_send(kernel->link_to_kernel, &sent);
    else
        keep_waiting(kernel, &sent);
}
