/* outgoing - one message on its way to clients: encoded at most once per encoding, however many
 * clients take it. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"
#include "msg/header.h"
#include "msg/msg.h"

enum encoding { ENCODING_LEGACY, ENCODING_V1, ENCODING_COUNT };

struct outgoing {
    const struct msg *msg;
    const struct msg_header *header;
    struct bytes *encoded[ENCODING_COUNT];
    bool binary[ENCODING_COUNT];
};

/* The payload of a WebSocket frame, borrowed from outgoing (take a reference to keep it). */
struct bytes *outgoing_encode(struct outgoing *outgoing, enum encoding encoding, bool *ret_binary);
void outgoing_finish(struct outgoing *outgoing);
