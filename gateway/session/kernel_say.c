/* kernel_say - what the gateway says itself: to clients in a kernel's name, and to the kernel. */
#include "base/cleanup.h"
#include "session/kernel_parts.h"

void said_begin(struct said *said, const struct kernel *kernel, enum msg_channel channel,
                const char *msg_type, struct slice parent_header, struct slice metadata,
                struct slice content) {
    uint8_t id[ID_BYTES];
    id_make(id);
    id_format(id, said->msg_id);
    msg_format_date(id_now_us(), said->date);
    struct msg_origin origin = {.msg_id = said->msg_id,
                                .session = kernel->kernel_session,
                                .username = "kernel",
                                .date = said->date};
    said->built = msg_build(channel, msg_type, &origin, parent_header, metadata, content);
    said->header = (struct msg_header){.msg_id = said->msg_id,
                                       .msg_type = (char *)msg_type,
                                       .session = kernel->kernel_session,
                                       .username = "kernel",
                                       .version = "",
                                       .date = said->date};
    said->outgoing = (struct outgoing){.msg = &said->built.msg, .header = &said->header};
}

void said_begin_instead(struct said *said, const struct kernel *kernel, const struct msg *msg,
                        const struct msg_header *header, const char *sentence) {
    const char *ename = reason_entry(REASON_output)->ename;
    bool is_published = msg->channel == MSG_IOPUB;
    cleanup_bytes struct bytes *content = is_published ? msg_content_stream("stderr", sentence)
                                                       : msg_content_error_reply(ename, sentence);
    said_begin(said, kernel, msg->channel, is_published ? "stream" : header->msg_type,
               msg->parent_header, SLICE_LITERAL("{\"cellblock\":{\"reason\":\"output\"}}"),
               bytes_slice(content));
}

void said_finish(struct said *said) {
    outgoing_finish(&said->outgoing);
    msg_built_finish(&said->built);
}

/* asker: whose request it ends, if anybody's. */
static void say(struct kernel *kernel, struct seat *seat, struct seat *asker,
                enum msg_channel channel, const char *msg_type, struct slice parent_header,
                struct slice metadata, struct slice content) {
    struct said said;
    if (list_is_empty(&kernel->seats))
        return;
    said_begin(&said, kernel, channel, msg_type, parent_header, metadata, content);
    said.outgoing.asker = asker;
    kernel_deliver(kernel, seat, &said.outgoing);
    said_finish(&said);
}

void kernel_say(struct kernel *kernel, struct seat *seat, enum msg_channel channel,
                const char *msg_type, struct slice parent_header, struct slice metadata,
                struct slice content) {
    say(kernel, seat, seat, channel, msg_type, parent_header, metadata, content);
}

void kernel_say_status(struct kernel *kernel, struct seat *seat, const char *state,
                       struct slice parent_header) {
    cleanup_bytes struct bytes *content = msg_content_status(state);
    kernel_say(kernel, seat, MSG_IOPUB, "status", parent_header, (struct slice){0},
               bytes_slice(content));
}

void kernel_say_dead(struct kernel *kernel, struct seat *seat) {
    kernel_say_status(kernel, seat, "dead",
                      SLICE_LITERAL("{\"msg_type\":\"kernel_info_request\"}"));
}

void kernel_say_end(struct kernel *kernel, const struct request *request, enum reason reason,
                    const char *sentence) {
    const struct reason_entry *entry = reason_entry(reason);
    struct slice parent = slice_from_text(request->header);
    cleanup_text struct text metadata = {0};
    text_append_format(&metadata, "{\"cellblock\":{\"reason\":\"%s\"}}", entry->word);
    if (!request->replied && request->type->id == MSG_TYPE_execute_request) {
        cleanup_bytes struct bytes *error = msg_content_error(entry->ename, sentence);
        say(kernel, NULL, request->seat, MSG_IOPUB, "error", parent, text_slice(&metadata),
            bytes_slice(error));
    }
    if (!request->replied && (request->seat || request->is_shared)) {
        cleanup_bytes struct bytes *reply = msg_content_error_reply(entry->ename, sentence);
        say(kernel, request->is_shared ? NULL : request->seat, request->seat, request->channel,
            request->type->reply, parent, text_slice(&metadata), bytes_slice(reply));
    }
    if (!request->idle) {
        cleanup_bytes struct bytes *idle = msg_content_status("idle");
        say(kernel, NULL, request->seat, MSG_IOPUB, "status", parent, (struct slice){0},
            bytes_slice(idle));
    }
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
