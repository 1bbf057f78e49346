/* kernel_hear - what the kernel says: an answer goes to the client that asked, iopub to everyone,
 * and what answers the gateway's own requests to nobody. Nothing here is trusted: a kernel is
 * whatever its user made of it. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "msg/build.h"
#include "session/kernel_parts.h"
#include "wire/span.h"
#include "wire/stream_parts.h"

enum {
    INFO_MAX = 256 * 1024, /* bytes of a kernel_info_reply that is kept */
    SESSION_MAX = 256,     /* of a session that is taken over into what we say */
    ENCODING_MAX = 2048,   /* what an encoding adds to a message, but for each buffer and its id */
};

/* -- what it tells of itself ------------------------------------------------------------------ */

static bool member_means(struct slice object, const char *name, const char *text) {
    struct slice value;
    return span_members(object, &name, 1, &value, NULL) == 0 && span_string_means(value, text);
}

/* An answer that clients can use: while a kernel aborts what is queued it has none (ipykernel). */
static bool is_good_info(struct slice content) {
    struct slice value;
    const char *name = "status";
    return content.size <= INFO_MAX && span_members(content, &name, 1, &value, NULL) == 0 &&
           (!value.data || span_string_means(value, "ok"));
}

static void keep_info(struct kernel *kernel, const struct msg *msg) {
    if (!is_good_info(msg->content))
        return;
    bytes_unref(kernel->info);
    kernel->info = bytes_copy(msg->content);
}

static void keep_session(struct kernel *kernel, const char *session) {
    if (strcmp(kernel->kernel_session, session) == 0 || strlen(session) > SESSION_MAX)
        return;
    mem_free(kernel->kernel_session);
    kernel->kernel_session = mem_strdup(session);
}

/* A status whose parent is no request with a reply: comms keep a kernel busy too. */
static void note_other(struct kernel *kernel, const struct msg_header *parent, bool is_busy) {
    bool is_ours = kernel->busy_with && strcmp(kernel->busy_with, parent->msg_id) == 0;
    if (is_busy ? !msg_type_from(slice_from_text(parent->msg_type))->tracked : !is_ours)
        return;
    mem_free(kernel->busy_with);
    kernel->busy_with = is_busy && *parent->msg_id ? mem_strdup(parent->msg_id) : NULL;
}

/* "busy" or "idle"; NULL for every other state. */
static const char *state_of(const struct msg *msg) {
    static const char *const states[] = {"busy", "idle"};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (member_means(msg->content, "execution_state", states[i]))
            return states[i];
    return NULL;
}

static void note_status(struct kernel *kernel, const struct msg *msg,
                        const struct msg_header *parent, struct request *oldest) {
    const char *state = state_of(msg);
    if (!state)
        return;
    bool is_busy = strcmp(state, "busy") == 0;
    if (!oldest)
        note_other(kernel, parent, is_busy);
    else if (is_busy)
        pending_note_busy(&kernel->pending, oldest);
    else
        pending_note_idle(&kernel->pending, oldest);
}

/* -- what clients hear ------------------------------------------------------------------------ */

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

/* What a kernel prints while it starts, and that it does, which ipykernel says late at times. On
 * every Jupyter server clients subscribe later and never see it, so some take a parent's msg_id for
 * granted (Kernel Gateway's and Enterprise Gateway's own tests); the last of it is told where the
 * kernel does not become ready. */
static bool is_noise_of_the_start(const struct kernel *kernel, const struct msg *msg,
                                  const struct msg_header *parent, const struct msg_type *type) {
    if (*parent->msg_id)
        return false;
    return kernel->life < LIFE_READY || (type->id == MSG_TYPE_status &&
                                         member_means(msg->content, "execution_state", "starting"));
}

/* Who is to hear a message that belongs to request (NULL: to none that is open). */
static bool find_receiver(const struct msg *msg, const struct request *request,
                          struct seat **ret_seat) {
    bool is_for_all = msg->channel == MSG_IOPUB || !request || request->is_shared;
    *ret_seat = is_for_all ? NULL : request->seat;
    return is_for_all || request->seat;
}

/* A message that no client's queue can hold. */
static bool is_too_large(const struct kernel *kernel, const struct msg *msg,
                         const struct msg_header *header) {
    size_t added = ENCODING_MAX + 2 * strlen(header->msg_id) + msg->buffer_count * sizeof(uint64_t);
    return msg_size(msg) + added > kernel->context->params->ws_queue_bytes;
}

/* Of a status, its state is said all the same: somebody waits for the idle. */
static void say_too_large(struct kernel *kernel, struct seat *seat, const struct msg *msg,
                          const struct msg_header *header) {
    char sentence[ERR_TEXT_MAX];
    struct said said;
    snprintf(sentence, sizeof sentence,
             "%.40s: a message of %zu bytes was left out, ws_queue_bytes allows %llu",
             header->msg_type, msg_size(msg),
             (unsigned long long)kernel->context->params->ws_queue_bytes);
    said_begin_instead(&said, kernel, msg, header, sentence);
    said.outgoing.asker = seat;
    kernel_deliver(kernel, seat, &said.outgoing);
    said_finish(&said);
    bool is_status = msg->channel == MSG_IOPUB && strcmp(header->msg_type, "status") == 0;
    const char *state = is_status ? state_of(msg) : NULL;
    if (state)
        kernel_say_status(kernel, seat, state, msg->parent_header);
    kernel_complain(kernel, &kernel->left_out, sentence);
}

/* What its client must not miss, whatever else it misses. */
static bool is_end(const struct msg *msg, const struct msg_header *header) {
    return msg->channel != MSG_IOPUB || strcmp(header->msg_type, "status") == 0 ||
           strcmp(header->msg_type, "error") == 0;
}

static bool is_stream(const struct msg *msg, const struct msg_header *header) {
    return msg->channel == MSG_IOPUB && strcmp(header->msg_type, "stream") == 0;
}

static void pass_part_on(struct kernel *kernel, struct seat *seat, const struct msg *msg,
                         const struct msg_header *header, struct seat *asker) {
    struct outgoing outgoing = {.msg = msg, .header = header, .asker = asker};
    kernel_deliver(kernel, seat, &outgoing);
    outgoing_finish(&outgoing);
}

static void pass_on(struct kernel *kernel, const struct msg *msg, const struct msg_header *header,
                    const struct request *request) {
    struct seat *seat;
    if (!find_receiver(msg, request, &seat))
        return;
    if (is_too_large(kernel, msg, header)) {
        say_too_large(kernel, seat, msg, header);
        return;
    }
    struct stream_parts parts;
    if (is_stream(msg, header) && stream_parts_begin(&parts, msg, header)) {
        while (stream_parts_next(&parts))
            pass_part_on(kernel, seat, &parts.msg, &parts.header, NULL);
        stream_parts_finish(&parts);
    } else {
        struct seat *asker = request && is_end(msg, header) ? request->seat : NULL;
        pass_part_on(kernel, seat, msg, header, asker);
    }
}

static void on_message(void *context, const struct msg *msg, const struct msg_header *header,
                       const struct msg_header *parent) {
    struct kernel *kernel = context;
    kernels_note_traffic(kernel->kernels);
    const struct msg_type *type = msg_type_from(slice_from_text(header->msg_type));
    keep_session(kernel, header->session);
    if (take_own(kernel, msg, header, parent, type) ||
        is_noise_of_the_start(kernel, msg, parent, type))
        return;
    if (type->tracked || msg_type_from(slice_from_text(parent->msg_type))->tracked)
        kernel_note_activity(kernel);
    struct request *oldest = pending_find(&kernel->pending, parent);
    struct request *asker = pending_find_asker(oldest, msg->channel, type);
    pass_on(kernel, msg, header, asker ? asker : oldest);
    if (asker)
        pending_note_reply(&kernel->pending, asker);
    else if (msg->channel == MSG_IOPUB && type->id == MSG_TYPE_status)
        note_status(kernel, msg, parent, oldest);
    else if (msg->channel == MSG_IOPUB && type->id == MSG_TYPE_error && oldest)
        pending_note_error(&kernel->pending, oldest);
    if (type->id == MSG_TYPE_kernel_info_reply && msg->channel != MSG_IOPUB)
        keep_info(kernel, msg);
}

/* Somebody who is there will ask, or has asked. */
static bool is_awaited(void *context) {
    struct kernel *kernel = context;
    return kernel->life != LIFE_READY || kernel->pending.count > 0 ||
           kernel_connections(kernel) > 0;
}

static void on_refused(void *context, const struct err *err) {
    struct kernel *kernel = context;
    kernel_complain(kernel, &kernel->refused, err->text);
}

const struct link_events kernel_link_events = {
    .on_linked = kernel_on_linked,
    .on_failed = kernel_on_link_failed,
    .on_message = on_message,
    .on_refused = on_refused,
    .on_drained = kernel_on_drained,
    .is_awaited = is_awaited,
};
