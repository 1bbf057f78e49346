/* backlog - what a session_id has been sent and has not acknowledged, and behind it what it has not
 * been sent: in order, shared by reference with whoever else holds it.
 *
 * Its one complication is what must go when the unsent becomes too large: the middle. What is lost
 * there is counted, by the parent it belongs to, in a gap between head and tail; answers and ends
 * stay in the tail while there is anything else to lose. Pure: no socket, no clock. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "session/outgoing.h"

/* The parents of one gap; what belongs to further ones is counted with the last. */
enum { GAPS_MAX = 64 };

struct missing {
    struct bytes *parent; /* a header object */
    uint64_t messages, bytes;
};

struct gap {
    struct missing missing[GAPS_MAX];
    size_t count;
};

struct kept {
    struct list link;
    struct frame frame; /* .payload NULL: this is the gap */
    bool is_end;        /* of a request of this session_id: kept the longest */
    uint64_t position;  /* once sent: where in the socket's stream it ends */
    unsigned deaths;    /* of connections that ended in the middle of it */
    size_t size;        /* bytes of memory that it takes, as far as it alone holds it */
};

struct backlog {
    struct list sent, unsent; /* of kept, oldest first */
    size_t sent_bytes, unsent_bytes;
    size_t *total; /* unsent bytes of this and other backlogs */
    struct gap *gap;
    struct kept *gap_at;  /* in unsent; NULL: no gap */
    struct list *looking; /* behind gap_at: up to here there are only ends */
};

/* total is the caller's, who counts several together. */
void backlog_init(struct backlog *backlog, size_t *total);
void backlog_finish(struct backlog *backlog);

/* Each references the frame's payload. A message that was sent, only while nothing is unsent: */
void backlog_add_sent(struct backlog *backlog, const struct frame *frame, bool is_end,
                      uint64_t position);
/* One that waits behind all others. */
void backlog_add_unsent(struct backlog *backlog, const struct frame *frame, bool is_end);
/* One that goes before all others that are unsent. */
void backlog_add_next(struct backlog *backlog, const struct frame *frame);

/* The oldest unsent one, or NULL. It is to be sent, and said to be so, or taken as a gap. */
struct kept *backlog_next(const struct backlog *backlog);
/* kept, which was backlog_next, was sent as frame. */
void backlog_note_sent(struct backlog *backlog, struct kept *kept, const struct frame *frame,
                       uint64_t position);
static inline bool kept_is_gap(const struct kept *kept) {
    return !kept->frame.payload;
}
/* Removes the gap that is backlog_next; the caller's from now on. */
struct gap *backlog_take_gap(struct backlog *backlog);
void gap_destroy(struct gap *gap);
/* backlog_next is not to be sent. */
void backlog_drop_next(struct backlog *backlog);
/* backlog_next is lost. */
void backlog_lose_next(struct backlog *backlog);

/* The peer's TCP has acknowledged so much of the stream: forgets what it has whole. */
void backlog_acknowledge(struct backlog *backlog, uint64_t acknowledged);
/* The connection ended by itself: perhaps since the oldest message that has not arrived was too
 * much for the client, which must have had the beginning of it then. */
void backlog_note_death(struct backlog *backlog, uint64_t acknowledged);
/* The socket is gone: what it has not acknowledged is unsent again. */
void backlog_rewind(struct backlog *backlog);
/* Loses from the middle of what is unsent until that takes at most so many bytes (or is a gap and
 * nothing else). */
void backlog_shrink(struct backlog *backlog, size_t bytes);
