/* kernel_say - what the gateway says itself: to clients in a kernel's name, and to the kernel. */
#include "base/cleanup.h"
#include "msg/build.h"
#include "session/kernel_parts.h"

void kernel_broadcast(struct kernel *kernel, struct outgoing *outgoing) {
    struct kernel_client *client;
    list_for_each (client, &kernel->clients, link)
        client->on_message(client, outgoing);
}

void kernel_say(struct kernel *kernel, struct kernel_client *client, enum msg_channel channel,
                const char *msg_type, struct slice parent_header, struct slice metadata,
                struct slice content) {
    if (list_is_empty(&kernel->clients))
        return;
    char date[MSG_DATE_SIZE], msg_id[ID_TEXT_SIZE];
    uint8_t id[ID_BYTES];
    id_make(id);
    id_format(id, msg_id);
    msg_format_date(id_now_us(), date);
    struct msg_origin origin = {
        .msg_id = msg_id, .session = kernel->kernel_session, .username = "kernel", .date = date};
    struct msg_built built =
        msg_build(channel, msg_type, &origin, parent_header, metadata, content);
    struct msg_header header = {.msg_id = msg_id,
                                .msg_type = (char *)msg_type,
                                .session = kernel->kernel_session,
                                .username = "kernel",
                                .version = "",
                                .date = date};
    struct outgoing outgoing = {.msg = &built.msg, .header = &header};
    if (client)
        client->on_message(client, &outgoing);
    else
        kernel_broadcast(kernel, &outgoing);
    outgoing_finish(&outgoing);
    msg_built_finish(&built);
}

void kernel_say_status(struct kernel *kernel, struct kernel_client *client, const char *state,
                       struct slice parent_header) {
    cleanup_bytes struct bytes *content = msg_content_status(state);
    kernel_say(kernel, client, MSG_IOPUB, "status", parent_header, (struct slice){0},
               bytes_slice(content));
}

void kernel_say_end(struct kernel *kernel, const struct request *request, enum reason reason,
                    const char *sentence) {
    const struct reason_entry *entry = reason_entry(reason);
    struct slice parent = slice_from_text(request->header);
    cleanup_text struct text metadata = {0};
    text_append_format(&metadata, "{\"cellblock\":{\"reason\":\"%s\"}}", entry->word);
    if (!request->replied && request->type->id == MSG_TYPE_execute_request) {
        cleanup_bytes struct bytes *error = msg_content_error(entry->ename, sentence);
        kernel_say(kernel, NULL, MSG_IOPUB, "error", parent, text_slice(&metadata),
                   bytes_slice(error));
    }
    if (!request->replied && (request->client || request->is_shared)) {
        cleanup_bytes struct bytes *reply = msg_content_error_reply(entry->ename, sentence);
        kernel_say(kernel, request->is_shared ? NULL : request->client, request->channel,
                   request->type->reply, parent, text_slice(&metadata), bytes_slice(reply));
    }
    if (!request->idle)
        kernel_say_status(kernel, NULL, "idle", parent);
}

void kernel_end_requests(struct kernel *kernel, enum reason reason, const char *sentence) {
    struct request *request;
    kernel_drop_waiting(kernel);
    list_for_each (request, &kernel->pending.requests, link) {
        kernel_say_end(kernel, request, reason, sentence);
        pending_remove(&kernel->pending, request);
    }
}

void kernel_complain(struct kernel *kernel, unsigned *times, const char *sentence) {
    ++*times;
    if (*times & (*times - 1))
        return;
    cleanup_text struct text line = {0};
    text_append_format(&line, "%s (%u times)", sentence, *times);
    kernel->context->on_trouble(kernel->id, line.data);
}

void kernel_ask(struct kernel *kernel, enum msg_channel channel, const char *msg_type) {
    char date[MSG_DATE_SIZE], msg_id[ID_TEXT_SIZE];
    uint8_t id[ID_BYTES];
    id_make(id);
    id_format(id, msg_id);
    msg_format_date(id_now_us(), date);
    struct msg_origin origin = {
        .msg_id = msg_id, .session = kernel->own_session, .username = "gateway", .date = date};
    struct slice nothing = {0};
    struct msg_built built = msg_build(channel, msg_type, &origin, nothing, nothing, nothing);
    link_send(kernel->link_to_kernel, &built.msg);
    msg_built_finish(&built);
}
