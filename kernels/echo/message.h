/* message - Jupyter messages on ZeroMQ sockets: received whole and checked, sent signed. */
#pragma once

#include "base/text.h"
#include "msg/header.h"
#include "msg/msg.h"
#include "wire/multipart.h"

struct kernel;

/* Parts of one message: identities, the fixed ones, buffers. A message with more is dropped. */
enum { REQUEST_PARTS_MAX = 16 + MULTIPART_FIXED + MSG_BUFFERS_MAX };

/* One received message. Everything in it borrows from bytes. */
struct request {
    struct text bytes;
    struct slice parts[REQUEST_PARTS_MAX];
    size_t identity_count; /* the first parts: where a reply goes */
    struct msg msg;
    struct msg_header header;
};

/* Takes the next message of a channel. -EAGAIN where there is none; another error where it was not
 * well-formed, or its signature was wrong or a replay: then it is dropped, with a line on stderr.
 */
int request_receive(struct kernel *kernel, enum msg_channel channel, struct request *ret_request);
void request_finish(struct request *request);

/* A message to be sent. Everything borrowed. */
struct outgoing {
    enum msg_channel channel;
    const char *msg_type;
    const struct slice *prefix; /* identities, or the topic */
    size_t prefix_count;
    struct slice parent_header; /* empty: {} */
    struct slice content;
    const struct slice *buffers;
    size_t buffer_count;
};

void message_send(struct kernel *kernel, const struct outgoing *outgoing);

/* To whom sent request, on its channel. */
void message_reply(struct kernel *kernel, const struct request *request, const char *msg_type,
                   struct slice content);

/* Sends what was received on socket back on it, whatever it is: the heartbeat. */
void message_return(void *socket);
