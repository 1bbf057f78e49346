#include "echo/publish.h"

#include <zmq.h>

#include "base/cleanup.h"
#include "echo/json.h"
#include "echo/kernel.h"
#include "echo/message.h"
#include "msg/utf8.h"

static void send(struct kernel *kernel, struct slice topic, const struct request *parent,
                 const char *msg_type, struct slice content, bool with_buffers) {
    struct outgoing outgoing = {
        .channel = MSG_IOPUB,
        .msg_type = msg_type,
        .prefix = &topic,
        .prefix_count = 1,
        .content = content,
    };
    if (parent)
        outgoing.parent_header = parent->msg.header;
    if (parent && with_buffers) {
        outgoing.buffers = parent->msg.buffers;
        outgoing.buffer_count = parent->msg.buffer_count;
    }
    message_send(kernel, &outgoing);
}

static void send_typed(struct kernel *kernel, const struct request *parent, const char *msg_type,
                       struct slice content, bool with_buffers) {
    cleanup_text struct text topic = {0};
    text_append_format(&topic, "kernel.%s.%s", kernel->session, msg_type);
    send(kernel, text_slice(&topic), parent, msg_type, content, with_buffers);
}

void publish(struct kernel *kernel, const struct request *parent, const char *msg_type,
             struct slice content) {
    send_typed(kernel, parent, msg_type, content, false);
}

void publish_with_buffers(struct kernel *kernel, const struct request *parent, const char *msg_type,
                          struct slice content) {
    send_typed(kernel, parent, msg_type, content, true);
}

void publish_json(struct kernel *kernel, const struct request *parent, const char *msg_type,
                  json_t *content) {
    cleanup_text struct text text = {0};
    json_append_consume(&text, content);
    publish(kernel, parent, msg_type, text_slice(&text));
}

void publish_status(struct kernel *kernel, const struct request *parent, const char *state) {
    publish_json(kernel, parent, "status", json_pack("{s:s}", "execution_state", state));
}

void publish_stream(struct kernel *kernel, const struct request *parent, const char *name,
                    struct slice said) {
    cleanup_text struct text mended = {0}, content = {0};
    utf8_append_mended(&mended, said);
    text_append_format(&content, "{\"name\":\"%s\",\"text\":", name);
    text_append_json_string(&content, text_slice(&mended));
    text_append_text(&content, "}");
    publish(kernel, parent, "stream", text_slice(&content));
}

/* event is one byte, 1 for a subscription and 0 for its end, and the topic. XPUB tells only the
 * first subscription of a topic. */
static void welcome(struct kernel *kernel, struct slice event) {
    if (event.size == 0 || event.data[0] != 1)
        return;
    struct slice topic = slice_from(event, 1);
    if (!text_is_utf8(topic))
        return;
    cleanup_text struct text content = {0};
    text_append_text(&content, "{\"subscription\":");
    text_append_json_string(&content, topic);
    text_append_text(&content, "}");
    send(kernel, topic, NULL, "iopub_welcome", text_slice(&content), false);
}

void publish_welcomes(struct kernel *kernel) {
    zmq_msg_t event;
    zmq_msg_init(&event);
    while (zmq_msg_recv(&event, kernel->sockets[CONNECTION_IOPUB], ZMQ_DONTWAIT) >= 0)
        welcome(kernel, slice_make(zmq_msg_data(&event), zmq_msg_size(&event)));
    zmq_msg_close(&event);
}
