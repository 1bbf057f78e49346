/* outgoing - one message on its way to clients: encoded at most once per encoding, however many
 * clients take it. Its one complication: a message that was kept is only there in the encoding in
 * which it was kept, and is decoded when another is wanted. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"
#include "msg/header.h"
#include "msg/msg.h"

/* ENCODING_TEXT is the legacy one without binary frames. */
enum encoding { ENCODING_LEGACY, ENCODING_V1, ENCODING_TEXT, ENCODING_COUNT };

struct decoded;

/* The payload of a WebSocket frame. Never in ENCODING_TEXT, which is not decoded again. */
struct frame {
    struct bytes *payload;
    enum encoding encoding;
    bool binary;
};

struct outgoing {
    const struct msg *msg; /* NULL: see outgoing_msg */
    const struct msg_header *header;
    const void *asker; /* the seat whose request this message ends, if any */
    struct bytes *encoded[ENCODING_COUNT];
    struct bytes
        *packed[ENCODING_COUNT]; /* what the transport made of it to send it, if anything */
    bool binary[ENCODING_COUNT];
    struct decoded *decoded;
};

/* A message that was kept as this frame, whose payload is referenced. */
void outgoing_begin(struct outgoing *outgoing, const struct frame *frame);
/* The message, and its header if ret_header is not NULL; NULL where a frame cannot be decoded: what
 * a kernel says may be more than the legacy encoding's reader takes. */
const struct msg *outgoing_msg(struct outgoing *outgoing, const struct msg_header **ret_header);
/* The payload of a WebSocket frame, borrowed from outgoing (take a reference to keep it); NULL
 * where outgoing_msg is. */
struct bytes *outgoing_encode(struct outgoing *outgoing, enum encoding encoding, bool *ret_binary);
/* The frame that is kept of what a client of that encoding is sent; borrowed likewise, .payload
 * NULL where outgoing_msg is. */
struct frame outgoing_frame(struct outgoing *outgoing, enum encoding encoding);
void outgoing_finish(struct outgoing *outgoing);
