#include "msg/msg.h"

#include <assert.h>

static const char *const names[MSG_CHANNEL_COUNT] = {
    [MSG_SHELL] = "shell",
    [MSG_CONTROL] = "control",
    [MSG_STDIN] = "stdin",
    [MSG_IOPUB] = "iopub",
};

const char *msg_channel_name(enum msg_channel channel) {
    assert(channel < MSG_CHANNEL_COUNT);
    return names[channel];
}

enum msg_channel msg_channel_from(struct slice name) {
    enum msg_channel channel = 0;
    while (channel < MSG_CHANNEL_COUNT && !slice_equal_text(name, names[channel]))
        channel++;
    return channel;
}

size_t msg_size(const struct msg *msg) {
    size_t size =
        msg->header.size + msg->parent_header.size + msg->metadata.size + msg->content.size;
    for (size_t i = 0; i < msg->buffer_count; i++)
        size += msg->buffers[i].size;
    return size;
}
