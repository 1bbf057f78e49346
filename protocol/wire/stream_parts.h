/* stream_parts - a stream message with a large text, as several whose texts follow one another, so
 * that no client's frame limit (websockets for Python: 1 MiB, tornado: 10 MiB) is met by mere
 * output. The first part keeps the header as it came; the msg_id of the others has ".2", ".3", ...
 * behind it, and the rest of every part is what the kernel said, byte for byte. */
#pragma once

#include "base/text.h"
#include "msg/header.h"
#include "msg/msg.h"

enum {
    STREAM_PART_MAX = 256 * 1024, /* bytes of a part's text, as it stands in JSON */
    STREAM_REST_MAX = 32 * 1024,  /* what else a message that is split may have: each part has it */
};

/* One part at a time; it lives until the next call. */
struct stream_parts {
    struct msg msg;
    struct msg_header header;
    const struct msg *whole;
    const struct msg_header *whole_header;
    struct slice before, left, behind; /* of the content: around the text that is left */
    struct slice msg_id;               /* in the whole's header, with its quotes */
    unsigned number;
    struct text header_json, part_id, content;
};

/* False where the message, a stream on iopub, is to be passed on as it is: its text is small, or it
 * has no msg_id, buffers, or much beside the text. msg and header outlive parts. */
bool stream_parts_begin(struct stream_parts *parts, const struct msg *msg,
                        const struct msg_header *header);
/* Puts the next part into parts->msg and parts->header; false behind the last. */
bool stream_parts_next(struct stream_parts *parts);
void stream_parts_finish(struct stream_parts *parts);
