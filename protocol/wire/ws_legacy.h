/* ws_legacy - Jupyter's older WebSocket encoding: a text frame with one JSON object; a binary frame
 * where the message has buffers. content is copied as bytes, never parsed (NaN, lone surrogates and
 * 70-digit integers pass). Layout: contract 1.5. */
#pragma once

#include "base/bytes.h"
#include "base/err.h"
#include "msg/header.h"
#include "msg/msg.h"

/* Points ret_msg into frame, which is UTF-8 where it came as text (RFC 6455 section 8.1); the
 * binary one checks that itself, and writes to buffers (room for MSG_BUFFERS_MAX). Tolerates what
 * clients send: no channel (shell), no buffers, buffers
 * {} or [], null or absent parent_header and metadata ("{}" then), unknown members. -EINVAL with a
 * sentence where header or content is no object or the frame is not JSON at the level looked at;
 * -ENOENT for an unknown channel. */
int ws_legacy_decode_text(struct slice frame, struct msg *ret_msg, struct err *err);
int ws_legacy_decode_binary(struct slice frame, struct slice *buffers, struct msg *ret_msg,
                            struct err *err);

/* The payload of a frame, one reference; *ret_binary says which kind. parsed is msg's header:
 * clients want its msg_id and msg_type at the top level. Bytes of a kernel that are not UTF-8
 * become U+FFFD. A message with buffers must stay below 4 GiB. */
struct bytes *ws_legacy_encode(const struct msg *msg, const struct msg_header *parsed,
                               bool *ret_binary);

/* Buffers of a message that a text frame carries. */
enum { WS_LEGACY_TEXT_BUFFERS_MAX = 4 * 1024 * 1024 };

/* Likewise, always of a text frame, for clients that die on a binary one (jupyter_server as a
 * gateway's client decodes whatever comes as UTF-8): "buffers" is empty, and the member "cellblock"
 * is {"buffers": [base64, ...]}, or {"left_out": {"buffers": count, "bytes": size}} where they are
 * larger together than is carried. */
struct bytes *ws_legacy_encode_text(const struct msg *msg, const struct msg_header *parsed);
