/* ws_codec - RFC 6455 frames as a server sees them, pure: bytes in, verdicts out.
 * A whole frame is unmasked where it lies; only the fragments of a message are put together, and a
 * compressed one unpacked, in memory of their own. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"
#include "base/text.h"
#include "http/ws_deflate.h"

enum {
    WS_HEADER_MAX = 10,  /* of a frame from a server: no mask */
    WS_CONTROL_MAX = 125 /* payload of a ping, pong or close (section 5.5) */
};

enum ws_opcode {
    WS_OPCODE_CONTINUATION = 0x0,
    WS_OPCODE_TEXT = 0x1,
    WS_OPCODE_BINARY = 0x2,
    WS_OPCODE_CLOSE = 0x8,
    WS_OPCODE_PING = 0x9,
    WS_OPCODE_PONG = 0xa
};

/* Section 7.4.1. */
enum ws_code {
    WS_CODE_NORMAL = 1000,
    WS_CODE_PROTOCOL_ERROR = 1002,
    WS_CODE_NONE = 1005,     /* never sent: the close frame had no code */
    WS_CODE_ABNORMAL = 1006, /* never sent: there was no close frame */
    WS_CODE_NOT_UTF8 = 1007,
    WS_CODE_TOO_BIG = 1009,
    WS_CODE_RESTART = 1012,
    WS_CODE_TRY_LATER = 1013
};

/* All zero but for the limits is a decoder between two messages. */
struct ws_decoder {
    size_t message_max;         /* bytes of one message, also once it is unpacked */
    unsigned fragments_max;     /* frames of one message */
    struct ws_deflate *deflate; /* unpacks messages; NULL: permessage-deflate was not agreed on */
    uint8_t opcode;             /* of the message whose fragments come; 0 between messages */
    bool is_packed;             /* that message */
    unsigned fragment_count;
    struct text fragments, unpacked;
    char why[WS_CONTROL_MAX - 2 + 1]; /* WS_FAILED: what to say in the close frame */
};

enum ws_verdict { WS_MORE, WS_TEXT, WS_BINARY, WS_PING, WS_PONG, WS_CLOSE, WS_FAILED };

struct ws_event {
    struct slice payload; /* of a message, ping or pong; the reason of a close */
    uint16_t code;        /* WS_CLOSE: the peer's; WS_FAILED: what to close with */
    size_t needed;        /* WS_MORE: how many bytes the frame takes, 0 while it is not known */
};

/* Takes frames from data until one means something. *ret_consumed bytes are done with; with WS_MORE
 * the rest is the beginning of a frame. A payload lives until the next call, ws_decoder_forget, or
 * a change of data. After WS_FAILED the decoder takes nothing more. */
enum ws_verdict ws_decode(struct ws_decoder *decoder, uint8_t *data, size_t size,
                          size_t *ret_consumed, struct ws_event *ret_event);
/* Frees what the last message needed. */
void ws_decoder_forget(struct ws_decoder *decoder);

/* The bit of a header's first byte that says that the message is compressed (RFC 7692). */
enum { WS_RSV1 = 0x40 };
/* Writes the header of a final, unmasked frame; returns its size. */
size_t ws_encode_header(uint8_t ret_header[WS_HEADER_MAX], enum ws_opcode opcode, size_t size);
/* Writes the payload of a close frame, the reason cut at a character; returns its size. */
size_t ws_encode_close(uint8_t ret_payload[WS_CONTROL_MAX], uint16_t code, const char *reason);
/* The same bytes masked and unmasked (section 5.3). */
void ws_mask(uint8_t *data, size_t size, const uint8_t key[4]);
/* True for the codes that a close frame may carry (section 7.4, and the IANA registry). */
bool ws_code_may_be_sent(uint16_t code);
