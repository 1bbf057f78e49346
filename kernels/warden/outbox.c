#include "warden/outbox.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

struct waiting {
    struct list link;
    size_t fd_count;
    int fds[RPC_FDS_MAX];
    size_t tail_size;
    _Alignas(uint64_t) uint8_t body[sizeof(struct rpc_spec)];
    uint8_t tail[];
};

void outbox_init(struct outbox *outbox) {
    list_init(&outbox->packets);
}

static void drop(struct waiting *packet) {
    list_remove(&packet->link);
    for (size_t i = 0; i < packet->fd_count; i++)
        close(packet->fds[i]);
    mem_free(packet);
}

void outbox_finish(struct outbox *outbox) {
    struct waiting *packet;
    list_for_each (packet, &outbox->packets, link)
        drop(packet);
}

bool outbox_is_empty(const struct outbox *outbox) {
    return list_is_empty(&outbox->packets);
}

void outbox_put_take(struct outbox *outbox, const void *body, struct slice tail, const int *fds,
                     size_t fd_count) {
    struct waiting *packet = mem_zalloc(1, sizeof *packet + tail.size);
    packet->fd_count = fd_count;
    if (fd_count)
        memcpy(packet->fds, fds, fd_count * sizeof *fds);
    memcpy(packet->body, body, rpc_body_size(((const struct rpc_head *)body)->kind));
    packet->tail_size = tail.size;
    if (tail.size)
        memcpy(packet->tail, tail.data, tail.size);
    list_append(&outbox->packets, &packet->link);
}

int outbox_flush(struct outbox *outbox, int fd, struct err *err) {
    struct waiting *packet;
    list_for_each (packet, &outbox->packets, link) {
        struct slice tail = slice_make(packet->tail, packet->tail_size);
        int result = rpc_send(fd, packet->body, tail, packet->fds, packet->fd_count, err);
        if (result == -EAGAIN)
            return 0;
        if (result < 0)
            return result;
        drop(packet);
    }
    return 0;
}
