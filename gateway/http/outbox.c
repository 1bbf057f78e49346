#include "http/outbox.h"

#include <assert.h>
#include <errno.h>
#include <event2/buffer.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum {
    REFERENCE_MIN = 4096, /* below it a copy costs less than a reference's own memory */
    IOVECS_MAX = 64,
};

/* Bytes taken by the socket, 0 where it is full, or a negative errno. */
static ssize_t send_once(int fd, struct iovec *iovecs, size_t count) {
    struct msghdr message = {.msg_iov = iovecs, .msg_iovlen = count};
    ssize_t sent;
    do
        sent = sendmsg(fd, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent >= 0)
        return sent;
    return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -errno;
}

static ssize_t send_pieces(int fd, const struct piece *pieces, size_t count) {
    struct iovec iovecs[PIECES_MAX];
    assert(count <= PIECES_MAX);
    for (size_t i = 0; i < count; i++)
        iovecs[i] = (struct iovec){(void *)pieces[i].data.data, pieces[i].data.size};
    return send_once(fd, iovecs, count);
}

static void drop_reference(const void *data, size_t size, void *owner) {
    (void)data, (void)size;
    bytes_unref(owner);
}

static void queue_piece(struct outbox *outbox, struct slice data, struct bytes *owner) {
    int result;
    if (!outbox->queue)
        outbox->queue = evbuffer_new();
    if (owner && data.size >= REFERENCE_MIN)
        result = evbuffer_add_reference(outbox->queue, data.data, data.size, drop_reference,
                                        bytes_ref(owner));
    else
        result = evbuffer_add(outbox->queue, data.data, data.size);
    assert(result == 0);
}

int outbox_send(struct outbox *outbox, const struct piece *pieces, size_t count) {
    for (size_t i = 0; i < count; i++)
        outbox->handed += pieces[i].data.size;
    ssize_t sent = outbox->queue ? 0 : send_pieces(outbox->fd, pieces, count);
    if (sent < 0)
        return (int)sent;
    outbox->taken += (size_t)sent;
    for (size_t i = 0, skip = (size_t)sent; i < count; i++) {
        size_t size = pieces[i].data.size, done = skip < size ? skip : size;
        skip -= done;
        if (done < size)
            queue_piece(outbox, slice_from(pieces[i].data, done), pieces[i].owner);
    }
    return 0;
}

ssize_t outbox_flush(struct outbox *outbox) {
    if (!outbox->queue)
        return 0;
    struct evbuffer_iovec iovecs[IOVECS_MAX];
    int count = evbuffer_peek(outbox->queue, -1, NULL, iovecs, IOVECS_MAX);
    if (count > IOVECS_MAX)
        count = IOVECS_MAX;
    ssize_t sent = send_once(outbox->fd, iovecs, (size_t)count);
    if (sent > 0) {
        evbuffer_drain(outbox->queue, (size_t)sent);
        outbox->taken += (size_t)sent;
    }
    if (evbuffer_get_length(outbox->queue) == 0)
        outbox_finish(outbox);
    return sent;
}

size_t outbox_size(const struct outbox *outbox) {
    return outbox->queue ? evbuffer_get_length(outbox->queue) : 0;
}

uint64_t outbox_acknowledged(const struct outbox *outbox) {
    int unacknowledged; /* counts our FIN too */
    int result = ioctl(outbox->fd, SIOCOUTQ, &unacknowledged);
    assert(result == 0);
    if ((uint64_t)unacknowledged > outbox->taken)
        return 0;
    return outbox->taken - (uint64_t)unacknowledged;
}

bool outbox_is_unheard(const struct outbox *outbox, int64_t for_ms) {
    struct tcp_info info;
    socklen_t size = sizeof info;
    return getsockopt(outbox->fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
           info.tcpi_unacked > 0 && info.tcpi_last_ack_recv > for_ms;
}

void outbox_finish(struct outbox *outbox) {
    if (outbox->queue)
        evbuffer_free(outbox->queue);
    outbox->queue = NULL;
}
