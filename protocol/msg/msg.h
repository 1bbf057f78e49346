/* msg - one Jupyter message as borrowed pieces of a single memory: the four JSON objects exactly as
 * they came, and the binary buffers. Nothing here is parsed; see header.h for the one part that is.
 * Source: jupyter_client, "Messaging in Jupyter", section "General Message Format". */
#pragma once

#include "base/slice.h"

enum msg_channel { MSG_SHELL, MSG_CONTROL, MSG_STDIN, MSG_IOPUB, MSG_CHANNEL_COUNT };

/* More buffers than this in one message are refused by every decoder. */
enum { MSG_BUFFERS_MAX = 1024 };

struct msg {
    enum msg_channel channel;
    struct slice header, parent_header, metadata, content; /* JSON objects, "{}" where absent */
    const struct slice *buffers;                           /* buffer_count of them */
    size_t buffer_count;
};

/* The bytes of all its pieces. */
size_t msg_size(const struct msg *msg);
/* "shell", "control", "stdin", "iopub". */
const char *msg_channel_name(enum msg_channel channel);
/* MSG_CHANNEL_COUNT where name is none of them. */
enum msg_channel msg_channel_from(struct slice name);
