/* ws_deflate - messages of permessage-deflate (RFC 7692), each compressed by itself.
 *
 * Its one complication is what it may cost. A message is packed only where that takes little time
 * and saves a quarter at least; unpacking stops at the first byte beyond the limit. One struct
 * serves all connections of a server, one message at a time. */
#pragma once

#include "base/bytes.h"
#include "base/text.h"

struct ws_deflate;

/* Larger messages are sent as they are: one of that size takes 10 to 30 ms. */
enum { WS_DEFLATE_MAX = 1024 * 1024 };

struct ws_deflate *ws_deflate_create(void);
void ws_deflate_destroy(struct ws_deflate *deflate);

/* One reference to the payload of a frame with RSV1; NULL where it does not pay. window_bits as in
 * struct ws_agreement. */
struct bytes *ws_deflate_pack(struct ws_deflate *deflate, struct slice message,
                              unsigned window_bits);
/* Appends the message that packed holds to ret_message. -EMSGSIZE where it is larger than max,
 * -EINVAL where it is no such payload; ret_message holds some of it then. */
int ws_deflate_unpack(struct ws_deflate *deflate, struct slice packed, size_t max,
                      struct text *ret_message);
