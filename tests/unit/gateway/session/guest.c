#include "guest.h"

#include <jansson.h>

#include "msg/build.h"

static char *copy_member(const json_t *content, const char *name) {
    const char *value = json_string_value(json_object_get(content, name));
    return value ? mem_strdup(value) : NULL;
}

/* What tells one message of a type from another. */
static char *gist_of(const json_t *content) {
    static const char *const names[] = {"execution_state", "status", "ename", "text", "prompt"};
    char *value = NULL;
    for (size_t i = 0; !value && i < sizeof names / sizeof *names; i++)
        value = copy_member(content, names[i]);
    return value ? value : mem_strdup("");
}

static void note(struct guest *guest, struct outgoing *outgoing) {
    const struct msg_header *header;
    const struct msg *msg = outgoing_msg(outgoing, &header);
    assert_non_null(msg);
    struct msg_header parent;
    struct err err;
    assert_int_equal(msg_header_parse(msg->parent_header, &parent, &err), 0);
    json_t *content = json_loadb((const char *)msg->content.data, msg->content.size, 0, NULL);
    char *gist = gist_of(content), *evalue = copy_member(content, "evalue");
    text_append_format(&guest->log, "%s %s%s%s %s\n", msg_channel_name(msg->channel),
                       header->msg_type, *gist ? ":" : "", gist,
                       *parent.msg_id ? parent.msg_id : "-");
    if (evalue) {
        mem_free(guest->evalue);
        guest->evalue = evalue;
    }
    snprintf(guest->session, sizeof guest->session, "%s", header->session);
    text_append(&guest->seen_metadata, msg->metadata);
    mem_free(gist);
    json_decref(content);
    msg_header_finish(&parent);
}

static uint64_t on_message(struct kernel_client *client, struct outgoing *outgoing) {
    struct guest *guest = LIST_ENTRY(client, struct guest, client);
    bool binary;
    assert_int_equal(guest->ended, 0);
    assert_non_null(outgoing_encode(outgoing, ENCODING_V1, &binary));
    assert_non_null(outgoing_encode(outgoing, ENCODING_LEGACY, &binary));
    assert_non_null(outgoing_encode(outgoing, ENCODING_TEXT, &binary));
    assert_false(binary);
    if (guest->is_closing)
        return UINT64_MAX;
    if (!guest->keeps_no_log)
        note(guest, outgoing);
    return ++guest->heard;
}

static uint64_t acknowledged(struct kernel_client *client) {
    const struct guest *guest = LIST_ENTRY(client, struct guest, client);
    return guest->heard - guest->unheard;
}

static size_t queued(struct kernel_client *client) {
    return LIST_ENTRY(client, struct guest, client)->queued;
}

static void on_end(struct kernel_client *client, enum reason reason) {
    struct guest *guest = LIST_ENTRY(client, struct guest, client);
    guest->ended++;
    guest->reason = reason;
    guest->kernel = NULL;
}

static void attach(struct guest *guest, struct kernel *kernel, const char *session_id, size_t bytes,
                   enum encoding encoding) {
    *guest = (struct guest){.kernel = kernel, .queued = bytes};
    snprintf(guest->session_id, sizeof guest->session_id, "%s", session_id);
    guest->client = (struct kernel_client){.session_id = guest->session_id,
                                           .encoding = encoding,
                                           .on_message = on_message,
                                           .acknowledged = acknowledged,
                                           .queued = queued,
                                           .on_end = on_end};
    kernel_attach(kernel, &guest->client);
}

void guest_attach(struct guest *guest, struct kernel *kernel, const char *session_id) {
    attach(guest, kernel, session_id, 0, ENCODING_LEGACY);
}

void guest_attach_with(struct guest *guest, struct kernel *kernel, const char *session_id,
                       size_t bytes) {
    attach(guest, kernel, session_id, bytes, ENCODING_LEGACY);
}

void guest_attach_for_text(struct guest *guest, struct kernel *kernel, const char *session_id) {
    attach(guest, kernel, session_id, 0, ENCODING_TEXT);
}

void guest_leave(struct guest *guest) {
    kernel_detach(guest->kernel, &guest->client, LEFT_SUDDENLY);
    guest->kernel = NULL;
}

void guest_finish(struct guest *guest) {
    if (guest->kernel)
        kernel_detach(guest->kernel, &guest->client, LEFT_FOR_GOOD);
    guest->kernel = NULL;
    guest_forget_log(guest);
    text_finish(&guest->seen_metadata);
    mem_free(guest->evalue);
    guest->evalue = NULL;
}

void guest_ask_as(struct guest *guest, enum msg_channel channel, const char *msg_type,
                  const char *msg_id, const char *session, struct slice content) {
    static unsigned us; /* kernels take no message twice */
    char date[MSG_DATE_SIZE];
    msg_format_date(++us, date);
    struct msg_origin origin = {msg_id, session, "guest", date};
    struct slice nothing = {0};
    struct msg_built built = msg_build(channel, msg_type, &origin, nothing, nothing, content);
    struct msg_header header;
    struct err err;
    assert_int_equal(msg_header_parse(built.msg.header, &header, &err), 0);
    kernel_receive(guest->kernel, &guest->client, &built.msg, &header);
    msg_header_finish(&header);
    msg_built_finish(&built);
}

void guest_ask(struct guest *guest, enum msg_channel channel, const char *msg_type,
               const char *msg_id) {
    char session[80];
    snprintf(session, sizeof session, "s-%s", guest->session_id);
    guest_ask_as(guest, channel, msg_type, msg_id, session, (struct slice){0});
}

unsigned guest_count(const struct guest *guest, const char *line) {
    unsigned count = 0;
    char whole[512];
    snprintf(whole, sizeof whole, "%s\n", line);
    for (const char *at = guest_log(guest); *at; at = strchr(at, '\n') + 1)
        count += strncmp(at, whole, strlen(whole)) == 0;
    return count;
}

void guest_forget_log(struct guest *guest) {
    text_finish(&guest->log);
}
