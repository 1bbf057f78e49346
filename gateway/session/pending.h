/* pending - the requests that a kernel owes an answer, in the order in which they came.
 * A request is over when its reply and its idle have both been seen. */
#pragma once

#include <stdbool.h>

#include "base/list.h"
#include "base/map.h"
#include "msg/header.h"
#include "msg/msg.h"
#include "msg/types.h"

struct kernel_client;

struct request {
    struct list link;
    char *key; /* msg_id and session: two clients may use one msg_id */
    const struct msg_type *type;
    char *header;                 /* the client's header object: parent of a synthesised end */
    char *session_id;             /* whose it is when its socket comes back; NULL: nobody's */
    struct kernel_client *client; /* NULL once it left */
    enum msg_channel channel;
    bool busy, replied, idle;
};

struct pending {
    struct list requests;
    struct map by_key;
    size_t count;
};

void pending_init(struct pending *pending);
void pending_finish(struct pending *pending);

/* Remembers a request of client that is about to be sent; NULL where msg_type has no reply. A
 * request of the same msg_id and session that is still open is forgotten first. */
struct request *pending_add(struct pending *pending, struct kernel_client *client,
                            const char *session_id, const struct msg *msg,
                            const struct msg_header *header);
/* The open request that parent names, or NULL. */
struct request *pending_find(const struct pending *pending, const struct msg_header *parent);
void pending_remove(struct pending *pending, struct request *request);
/* Whether any tracked request is between its busy and its idle. */
bool pending_is_busy(const struct pending *pending);
/* Whether an execute_request is open. */
bool pending_is_executing(const struct pending *pending);
/* The client leaves: its requests stay, and are nobody's until its session_id comes back. */
void pending_forget_client(struct pending *pending, const struct kernel_client *client);
/* A client of that session_id came (back): what is open is its own. */
void pending_adopt(struct pending *pending, struct kernel_client *client, const char *session_id);
