/* outbox - packets to the gateway that its socket did not take yet, in order. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"
#include "rpc/rpc.h"

struct outbox {
    struct list packets;
};

void outbox_init(struct outbox *outbox);
/* Drops what waits. */
void outbox_finish(struct outbox *outbox);
bool outbox_is_empty(const struct outbox *outbox);
/* Copies the packet behind those that wait; takes over the descriptors. */
void outbox_put_take(struct outbox *outbox, const void *body, struct slice tail, const int *fds,
                     size_t fd_count);
/* Sends what fd takes. 0 too where it took nothing yet; else the peer is gone. */
int outbox_flush(struct outbox *outbox, int fd, struct err *err);
