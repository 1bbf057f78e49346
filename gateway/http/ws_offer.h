/* ws_offer - what a client offers in Sec-WebSocket-Extensions, and what is agreed on: one
 * extension, permessage-deflate (RFC 7692). Pure.
 *
 * Neither side keeps a window from one message to the next (no_context_takeover both ways): so a
 * connection costs no memory, and a message that is compressed once goes to every client. */
#pragma once

#include <stdbool.h>

#include "base/slice.h"
#include "base/text.h"

enum { WS_WINDOW_BITS_MAX = 15 };

struct ws_agreement {
    bool names_window;    /* the offer bounds our window, so the answer says which it is */
    unsigned window_bits; /* of what we send: 9 to 15 */
};

/* Judges the offers in a header's value, best first, and takes the first that can be kept. False
 * where there is none: others, unknown parameters, a window of 8 bits (which zlib cannot keep), or
 * no such list at all. */
bool ws_offer_judge(struct slice value, struct ws_agreement *ret_agreement);
/* Appends the header line that answers it. */
void ws_offer_append_answer(const struct ws_agreement *agreement, struct text *lines);
