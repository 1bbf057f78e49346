/* ws_v1 - the WebSocket subprotocol v1.kernel.websocket.jupyter.org: always binary frames.
 * Little-endian u64: the number of offsets, then that many absolute offsets, the last of which is
 * the frame's length; then the segments channel, header, parent_header, metadata, content, buffers.
 * Source: jupyter_server, "WebSocket wire protocols". */
#pragma once

#include "base/bytes.h"
#include "base/err.h"
#include "msg/msg.h"

#define WS_V1_SUBPROTOCOL "v1.kernel.websocket.jupyter.org"

/* Points ret_msg into frame; its buffers are written to buffers (room for MSG_BUFFERS_MAX).
 * -EINVAL with a sentence where the frame is not such a message, -ENOENT for an unknown channel. */
int ws_v1_decode(struct slice frame, struct slice *buffers, struct msg *ret_msg, struct err *err);

/* The payload of a binary frame; one reference. An empty parent_header becomes {}. */
struct bytes *ws_v1_encode(const struct msg *msg);
