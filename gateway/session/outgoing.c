#include "session/outgoing.h"

#include "wire/ws_legacy.h"
#include "wire/ws_v1.h"

struct bytes *outgoing_encode(struct outgoing *outgoing, enum encoding encoding, bool *ret_binary) {
    struct bytes **slot = &outgoing->encoded[encoding];
    if (!*slot && encoding == ENCODING_V1) {
        *slot = ws_v1_encode(outgoing->msg);
        outgoing->binary[encoding] = true;
    } else if (!*slot)
        *slot = ws_legacy_encode(outgoing->msg, outgoing->header, &outgoing->binary[encoding]);
    *ret_binary = outgoing->binary[encoding];
    return *slot;
}

void outgoing_finish(struct outgoing *outgoing) {
    for (int i = 0; i < ENCODING_COUNT; i++)
        bytes_unref(outgoing->encoded[i]);
}
