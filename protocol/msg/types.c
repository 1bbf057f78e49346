#include "msg/types.h"

#include <assert.h>

enum {
    NONE = 0,
    SHELL = 1 << MSG_SHELL,
    CONTROL = 1 << MSG_CONTROL,
    STDIN = 1 << MSG_STDIN,
    IOPUB = 1 << MSG_IOPUB,
    EVERY = SHELL | CONTROL | STDIN | IOPUB
};

#define ENDS_WITH(text, end)                                                                       \
    (sizeof(text) >= sizeof(end) &&                                                                \
     __builtin_memcmp((text) + sizeof(text) - sizeof(end), end, sizeof(end)) == 0)

/* The role follows from the row: what has a reply is a request, and what is called so a reply. */
static const struct msg_type types[] = {
#define MSG_TYPE(name_, from_client_, from_kernel_, reply_, tracked_)                              \
    {                                                                                              \
        .id = MSG_TYPE_##name_,                                                                    \
        .name = #name_,                                                                            \
        .from_client = from_client_,                                                               \
        .from_kernel = from_kernel_,                                                               \
        .role = sizeof(reply_) > 1            ? MSG_REQUEST                                        \
                : ENDS_WITH(#name_, "_reply") ? MSG_REPLY                                          \
                                              : MSG_PUBLISH,                                       \
        .reply = sizeof(reply_) > 1 ? (reply_) : NULL,                                             \
        .tracked = tracked_,                                                                       \
    },
#include "msg/types.def"
#undef MSG_TYPE
    {MSG_TYPE_UNKNOWN, "", EVERY, EVERY, MSG_PUBLISH, NULL, true},
};

static const size_t sizes[] = {
#define MSG_TYPE(name, from_client, from_kernel, reply, tracked) sizeof #name - 1,
#include "msg/types.def"
#undef MSG_TYPE
};

const struct msg_type *msg_type_from(struct slice name) {
    for (size_t i = 0; i < MSG_TYPE_UNKNOWN; i++)
        if (sizes[i] == name.size && memcmp(types[i].name, name.data, name.size) == 0)
            return &types[i];
    return &types[MSG_TYPE_UNKNOWN];
}

const struct msg_type *msg_type_of(enum msg_type_id id) {
    assert(id <= MSG_TYPE_UNKNOWN);
    return &types[id];
}
