/* types - what is known of each message type: the rows of types.def. */
#pragma once

#include <stdbool.h>

#include "base/slice.h"
#include "msg/msg.h"

/* MSG_TYPE_execute_request, ...; a type that no row names is MSG_TYPE_UNKNOWN. */
enum msg_type_id {
#define MSG_TYPE(name, from_client, from_kernel, reply, tracked) MSG_TYPE_##name,
#include "msg/types.def"
#undef MSG_TYPE
    MSG_TYPE_UNKNOWN
};

enum msg_role {
    MSG_REQUEST, /* is answered by a message of type reply */
    MSG_REPLY,   /* is such an answer */
    MSG_PUBLISH  /* is neither: iopub, and comms on shell */
};

struct msg_type {
    enum msg_type_id id;
    const char *name;
    unsigned from_client, from_kernel; /* sets of 1u << enum msg_channel */
    enum msg_role role;
    const char *reply; /* NULL where nothing answers it */
    bool tracked;      /* a status that it caused counts as the kernel's state */
};

/* The row of the type called name. Never NULL: an unknown type (kernels may invent some) comes back
 * as MSG_TYPE_UNKNOWN with an empty name, on every channel, MSG_PUBLISH, tracked. */
const struct msg_type *msg_type_from(struct slice name);
/* The row of id. */
const struct msg_type *msg_type_of(enum msg_type_id id);

static inline bool msg_type_fits_client(const struct msg_type *type, enum msg_channel channel) {
    return type->from_client & 1u << channel;
}
static inline bool msg_type_fits_kernel(const struct msg_type *type, enum msg_channel channel) {
    return type->from_kernel & 1u << channel;
}
