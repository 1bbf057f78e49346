/* kernel_relay - what passes between one kernel and its clients. Requests go to the kernel at once
 * and in order; answers go to whom they belong, iopub to everyone. The one exception: while a cell
 * runs, kernel_info is answered from the last answer, since clients hold everything back for it. */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/cleanup.h"
#include "loop/loop.h"
#include "msg/build.h"
#include "session/kernel_parts.h"

/* -- towards clients -------------------------------------------------------------------------- */

static void broadcast(struct kernel *kernel, struct outgoing *outgoing) {
    struct kernel_client *client;
    list_for_each (client, &kernel->clients, link)
        client->on_message(client, outgoing);
}

/* Says a message in the kernel's name: to client, or to everyone where it is NULL. */
static void say(struct kernel *kernel, struct kernel_client *client, enum msg_channel channel,
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
        broadcast(kernel, &outgoing);
    outgoing_finish(&outgoing);
    msg_built_finish(&built);
}

static void say_status(struct kernel *kernel, struct kernel_client *client, const char *state,
                       struct slice parent_header) {
    cleanup_bytes struct bytes *content = msg_content_status(state);
    say(kernel, client, MSG_IOPUB, "status", parent_header, (struct slice){0},
        bytes_slice(content));
}

void kernel_say_status(struct kernel *kernel, const char *state, struct slice parent_header) {
    say_status(kernel, NULL, state, parent_header);
}

/* One request's end (DESIGN rule 1): iopub error, reply with status "error", iopub idle; of these
 * what the kernel has not said itself. */
static void end_request(struct kernel *kernel, struct request *request, enum reason reason,
                        const char *sentence) {
    const struct reason_entry *entry = reason_entry(reason);
    struct slice parent = slice_from_text(request->header);
    cleanup_text struct text metadata = {0};
    text_append_format(&metadata, "{\"cellblock\":{\"reason\":\"%s\"}}", entry->word);
    if (!request->replied && request->type->id == MSG_TYPE_execute_request) {
        cleanup_bytes struct bytes *error = msg_content_error(entry->ename, sentence);
        say(kernel, NULL, MSG_IOPUB, "error", parent, text_slice(&metadata), bytes_slice(error));
    }
    if (!request->replied && request->client) {
        cleanup_bytes struct bytes *reply = msg_content_error_reply(entry->ename, sentence);
        say(kernel, request->client, request->channel, request->type->reply, parent,
            text_slice(&metadata), bytes_slice(reply));
    }
    if (!request->idle)
        kernel_say_status(kernel, "idle", parent);
    pending_remove(&kernel->pending, request);
}

void kernel_end_requests(struct kernel *kernel, enum reason reason, const char *sentence) {
    struct request *request;
    kernel_drop_waiting(kernel);
    list_for_each (request, &kernel->pending.requests, link)
        end_request(kernel, request, reason, sentence);
}

/* -- from the kernel -------------------------------------------------------------------------- */

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
        broadcast(kernel, &outgoing);
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

/* -- towards the kernel ----------------------------------------------------------------------- */

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
    kernel_say_status(kernel, "busy", msg->header);
    say(kernel, client, MSG_SHELL, "kernel_info_reply", msg->header, (struct slice){0},
        bytes_slice(kernel->info));
    kernel_say_status(kernel, "idle", msg->header);
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
            end_request(kernel, request, refusal, sentence);
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

/* -- clients ---------------------------------------------------------------------------------- */

const char *kernel_id(const struct kernel *kernel) {
    return kernel->id;
}

const char *kernel_spec_name(const struct kernel *kernel) {
    return kernel->spec_name;
}

int64_t kernel_last_activity_us(const struct kernel *kernel) {
    return kernel->last_activity_us;
}

unsigned kernel_connections(const struct kernel *kernel) {
    unsigned count = 0;
    for (const struct list *at = kernel->clients.next; at != &kernel->clients; at = at->next)
        count++;
    return count;
}

/* The newest socket of a session_id wins: JupyterLab's server opens two at once, and the older one
 * is a zombie (contract 1.2). */
static void replace_older(struct kernel *kernel, const char *session_id) {
    struct kernel_client *older;
    list_for_each (older, &kernel->clients, link) {
        if (strcmp(older->session_id, session_id) != 0)
            continue;
        kernel_detach(kernel, older);
        older->on_end(older, REASON_NONE);
    }
}

void kernel_attach(struct kernel *kernel, struct kernel_client *client) {
    if (*client->session_id) {
        replace_older(kernel, client->session_id);
        pending_adopt(&kernel->pending, client, client->session_id);
    }
    list_append(&kernel->clients, &client->link);
    if (kernel->life == LIFE_DEAD)
        say_status(kernel, client, "dead", (struct slice){0});
}

void kernel_detach(struct kernel *kernel, struct kernel_client *client) {
    list_remove(&client->link);
    pending_forget_client(&kernel->pending, client);
}
