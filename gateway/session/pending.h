/* pending - the requests that a kernel owes an answer, in the order in which they came.
 * A request is over when its reply and its idle have both been seen. Its one complication: a kernel
 * names a request by msg_id and session alone, which two clients may both have chosen; then answers
 * belong to the oldest that still lacks them. */
#pragma once

#include <stdbool.h>

#include "base/list.h"
#include "base/map.h"
#include "msg/header.h"
#include "msg/msg.h"
#include "msg/types.h"

struct seat;

struct request {
    struct list link;
    char *key;                /* msg_id and session */
    struct request *younger;  /* the next one of that key */
    struct request *youngest; /* the last one of that key; kept by the oldest alone */
    const struct msg_type *type;
    char *header;      /* the client's header object: parent of a synthesised end */
    char *session_id;  /* whose it is when its seat comes back; NULL: nobody's */
    struct seat *seat; /* NULL once it left */
    bool is_shared;    /* another client sent the same header: a reply is for all */
    enum msg_channel channel;
    uint64_t number; /* from 1 on, in the order in which they came */
    bool busy, failed, replied, idle;
};

struct pending {
    struct list requests;
    struct map by_key;
    uint64_t last_number;
    size_t count;
    size_t bytes;     /* of memory that they take */
    size_t executing; /* execute_requests of which no end is seen: error, reply or idle */
    size_t busy;      /* tracked ones between busy and idle */
};

void pending_init(struct pending *pending);
void pending_finish(struct pending *pending);

/* Remembers a request of seat that is about to be sent; NULL where msg_type has no reply. The
 * very same header again is the same request, which comes back. */
struct request *pending_add(struct pending *pending, struct seat *seat, const char *session_id,
                            const struct msg *msg, const struct msg_header *header);
void pending_remove(struct pending *pending, struct request *request);

/* The oldest open request that parent names, or NULL. */
struct request *pending_find(const struct pending *pending, const struct msg_header *parent);
/* Of the requests of oldest's key, the one that such a reply answers, or NULL. */
struct request *pending_find_asker(struct request *oldest, enum msg_channel channel,
                                   const struct msg_type *reply);
/* What the kernel said of a request: each may end it, which frees it. */
void pending_note_reply(struct pending *pending, struct request *request);
void pending_note_busy(struct pending *pending, struct request *oldest);
void pending_note_idle(struct pending *pending, struct request *oldest);
/* This one ends nothing, but an error is the last that comes of a cell. */
void pending_note_error(struct pending *pending, struct request *oldest);

/* What keeps the kernel busy, or NULL. */
const struct request *pending_find_busy(const struct pending *pending);

/* The seat goes: its requests stay, and are nobody's until its session_id comes back. */
void pending_forget_seat(struct pending *pending, const struct seat *seat);
/* There is a seat of that session_id (again): what is open is its own. */
void pending_adopt(struct pending *pending, struct seat *seat, const char *session_id);
