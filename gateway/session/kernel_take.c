/* kernel_take - what clients send: to the kernel at once and in order, or kept until it is ready.
 * The one exception: while a cell runs, kernel_info is answered from the last answer, since clients
 * hold everything back for it. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "msg/build.h"
#include "session/kernel_parts.h"
#include "wire/span.h"

/* Copies one piece of a message to *at and moves it on. */
static struct slice copy_piece(struct slice piece, uint8_t **at) {
    if (piece.size)
        memcpy(*at, piece.data, piece.size);
    struct slice copy = slice_make(*at, piece.size);
    *at += piece.size;
    return copy;
}

static size_t waiting_size(const struct msg *msg) {
    return msg_size(msg) + msg->buffer_count * sizeof *msg->buffers;
}

static void keep_waiting(struct kernel *kernel, const struct msg *msg) {
    size_t size = sizeof(struct waiting_message) + waiting_size(msg);
    struct waiting_message *waiting = mem_alloc(size);
    uint8_t *at = waiting->data;
    waiting->size = size;
    waiting->buffers = mem_alloc(msg->buffer_count * sizeof *waiting->buffers);
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

/* A kernel_info_request while a cell runs: the last answer, with a busy and an idle of its own.
 * Where the cell has failed the kernel answers, after it has aborted what is queued: AutoGen sends
 * its next cell behind that answer, which must not be aborted too. */
static bool answer_from_cache(struct kernel *kernel, struct seat *seat, const struct msg *msg,
                              const struct msg_type *type) {
    if (type->id != MSG_TYPE_kernel_info_request || msg->channel != MSG_SHELL || !kernel->info ||
        kernel->life != LIFE_READY || !kernel->pending.executing)
        return false;
    kernel_say_status(kernel, NULL, "busy", msg->header);
    kernel_say(kernel, seat, MSG_SHELL, "kernel_info_reply", msg->header, (struct slice){0},
               bytes_slice(kernel->info));
    kernel_say_status(kernel, NULL, "idle", msg->header);
    return true;
}

/* -- what is not taken ------------------------------------------------------------------------ */

struct refusal {
    enum reason reason; /* REASON_NONE: it is taken */
    const char *sentence;
    char made[ERR_TEXT_MAX]; /* where the sentence is not somebody else's */
};

__attribute__((format(printf, 3, 4))) static void
refuse(struct refusal *refusal, enum reason reason, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(refusal->made, sizeof refusal->made, format, args);
    va_end(args);
    refusal->reason = reason;
    refusal->sentence = refusal->made;
}

/* Bytes that the gateway holds for this session's requests. */
static size_t held_bytes(const struct kernel *kernel) {
    size_t queued = kernel->link_to_kernel ? link_queued_bytes(kernel->link_to_kernel) : 0;
    return kernel->pending.bytes + kernel->waiting_bytes + queued;
}

static void judge(const struct kernel *kernel, const struct msg *msg, const struct msg_type *type,
                  struct refusal *ret_refusal) {
    const struct params *params = kernel->context->params;
    *ret_refusal = (struct refusal){.reason = REASON_NONE};
    if (kernel_is_doomed(kernel)) {
        ret_refusal->reason = kernel->fate.reason;
        ret_refusal->sentence = kernel->fate.sentence;
    } else if (!msg_type_fits_client(type, msg->channel))
        refuse(ret_refusal, REASON_refused, "%s is not for the channel %s", type->name,
               msg_channel_name(msg->channel));
    else if (type->reply && kernel->pending.count >= params->session_pending_requests)
        refuse(ret_refusal, REASON_limit,
               "%zu requests are open, which is all that session_pending_requests allows",
               kernel->pending.count);
    else if (held_bytes(kernel) + msg_size(msg) > params->session_pending_bytes)
        refuse(ret_refusal, REASON_limit,
               "with %zu bytes more the session's requests take more than session_pending_bytes, "
               "%llu",
               msg_size(msg), (unsigned long long)params->session_pending_bytes);
}

/* Ends at once what is not taken; what has no reply can only be told to the operator. */
static void turn_down(struct kernel *kernel, struct seat *seat, const struct msg *msg,
                      const struct msg_type *type, const struct refusal *refusal) {
    if (!type->reply) {
        kernel_complain(kernel, &kernel->dropped, refusal->sentence);
        return;
    }
    cleanup_mem char *header = mem_copy_text(msg->header.data, msg->header.size);
    struct request request = {
        .type = type, .header = header, .seat = seat, .channel = msg->channel};
    kernel_say_end(kernel, &request, refusal->reason, refusal->sentence);
}

/* -- what is ---------------------------------------------------------------------------------- */

static void note_shutdown(struct kernel *kernel, const struct msg *msg) {
    static const char *const name = "restart";
    struct slice value = {0};
    span_members(msg->content, &name, 1, &value, NULL);
    kernel_on_shutdown(kernel, slice_equal_text(value, "true"));
}

static void send_on(struct kernel *kernel, const struct msg *msg, const struct msg_header *header) {
    struct msg sent = *msg;
    cleanup_bytes struct bytes *dated = msg_header_with_iso_date(msg->header, header);
    if (dated)
        sent.header = bytes_slice(dated);
    if (kernel->life == LIFE_READY)
        link_send(kernel->link_to_kernel, &sent);
    else
        keep_waiting(kernel, &sent);
}

void kernel_receive(struct kernel *kernel, struct kernel_client *client, const struct msg *msg,
                    const struct msg_header *header) {
    const struct msg_type *type = msg_type_from(slice_from_text(header->msg_type));
    struct refusal refusal;
    if (msg->channel == MSG_IOPUB || answer_from_cache(kernel, client->seat, msg, type))
        return;
    judge(kernel, msg, type, &refusal);
    if (refusal.reason != REASON_NONE) {
        turn_down(kernel, client->seat, msg, type, &refusal);
        return;
    }
    if (type->tracked)
        kernel_note_activity(kernel);
    pending_add(&kernel->pending, client->seat, client->session_id, msg, header);
    send_on(kernel, msg, header);
    if (type->id == MSG_TYPE_shutdown_request)
        note_shutdown(kernel, msg);
}
