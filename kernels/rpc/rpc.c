/* rpc - packets of rpc.h over SOCK_SEQPACKET. Its one complication: a body's size follows from its
 * kind, which is only known once the packet has been read; what of the tail then lies in the body's
 * union is moved over. */
#include "rpc/rpc.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct shape {
    size_t body_size; /* 0: no such kind */
    size_t tail_max;
    size_t fd_max;
};

static const struct shape shapes[] = {
    [RPC_READY] = {sizeof(struct rpc_head), 0, 0},
    [RPC_JAIL_CREATE] = {sizeof(struct rpc_jail_create), 0, 0},
    [RPC_JAIL_LIMITS] = {sizeof(struct rpc_jail_create), 0, 0},
    [RPC_JAIL_END] = {sizeof(struct rpc_jail_end), 0, 0},
    [RPC_TREE_START] = {sizeof(struct rpc_tree_start), RPC_TAIL_MAX, 0},
    [RPC_TREE_SIGNAL] = {sizeof(struct rpc_tree_signal), 0, 0},
    [RPC_TREE_KILL] = {sizeof(struct rpc_tree_kill), 0, 0},
    [RPC_REPLY] = {sizeof(struct rpc_reply), 0, 0},
    [RPC_SPEC] = {sizeof(struct rpc_spec), 0, RPC_SPEC_FILES_MAX},
    [RPC_SPECS_END] = {sizeof(struct rpc_specs_end), 0, 0},
    [RPC_TREE_SOCKETS] = {sizeof(struct rpc_tree_sockets), 0, 5},
    [RPC_TREE_ENDED] = {sizeof(struct rpc_tree_ended), RPC_OUTPUT_MAX, 0},
    [RPC_DATA] = {sizeof(struct rpc_data), 0, 0},
    [RPC_TLS] = {sizeof(struct rpc_tls), 0, 3},
};

enum { BODY_MAX = offsetof(struct rpc_packet, tail_size) };

static const struct shape *shape_of(uint32_t kind) {
    if (kind >= sizeof shapes / sizeof shapes[0] || shapes[kind].body_size == 0)
        return NULL;
    return &shapes[kind];
}

size_t rpc_body_size(uint32_t kind) {
    const struct shape *shape = shape_of(kind);
    return shape ? shape->body_size : 0;
}

/* Control space for as many descriptors as a packet may bring. */
union control {
    struct cmsghdr align;
    char space[CMSG_SPACE(RPC_FDS_MAX * sizeof(int))];
};

int rpc_send(int fd, const void *body, struct slice tail, const int *fds, size_t fd_count,
             struct err *err) {
    const struct shape *shape = shape_of(((const struct rpc_head *)body)->kind);
    assert(shape && tail.size <= shape->tail_max && fd_count <= shape->fd_max);
    struct iovec parts[2] = {{(void *)body, shape->body_size}, {(void *)tail.data, tail.size}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = tail.size ? 2 : 1};
    union control control = {0};
    if (fd_count) {
        message.msg_control = control.space;
        message.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
        struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
        memcpy(CMSG_DATA(rights), fds, fd_count * sizeof(int));
    }
    while (sendmsg(fd, &message, MSG_NOSIGNAL) < 0)
        if (errno != EINTR)
            return err_errno(err, errno, "send packet %u",
                             (unsigned)((const struct rpc_head *)body)->kind);
    return 0;
}

void rpc_packet_close(struct rpc_packet *packet) {
    for (size_t i = 0; i < packet->fd_count; i++)
        if (packet->fds[i] >= 0)
            close(packet->fds[i]);
    packet->fd_count = 0;
}

/* Only descriptors can come: nobody asked the socket for credentials or timestamps. */
static void take_fds(struct msghdr *message, struct rpc_packet *packet) {
    struct cmsghdr *rights = CMSG_FIRSTHDR(message);
    if (!rights || rights->cmsg_level != SOL_SOCKET || rights->cmsg_type != SCM_RIGHTS)
        return;
    packet->fd_count = (rights->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    memcpy(packet->fds, CMSG_DATA(rights), packet->fd_count * sizeof(int));
}

static bool is_text(const char *text, size_t size) {
    return memchr(text, 0, size) != NULL;
}

/* Texts in a body end within it, and as many descriptors came as it says. */
static bool is_whole(const struct rpc_packet *packet) {
    if (packet->head.kind == RPC_TLS)
        return packet->tls.has_key <= 1 && packet->tls.has_client_ca <= 1 &&
               packet->fd_count == 1 + packet->tls.has_key + packet->tls.has_client_ca;
    if (packet->head.kind == RPC_REPLY)
        return is_text(packet->reply.err.text, sizeof packet->reply.err.text);
    if (packet->head.kind == RPC_DATA)
        return is_text(packet->data.name, sizeof packet->data.name);
    if (packet->head.kind != RPC_SPEC)
        return true;
    const struct rpc_spec *spec = &packet->spec;
    bool end = is_text(spec->name, sizeof spec->name);
    for (size_t i = 0; i < RPC_SPEC_FILES_MAX; i++)
        end = end && is_text(spec->files[i], sizeof spec->files[i]);
    return end && spec->file_count == packet->fd_count;
}

/* size bytes were read over the union's end into the tail: gives each its own. */
static int split(struct rpc_packet *packet, size_t size, struct err *err) {
    if (size < sizeof packet->head)
        return err_set(err, EPROTO, "packet of %zu bytes", size);
    uint32_t kind = packet->head.kind;
    const struct shape *shape = shape_of(kind);
    if (!shape)
        return err_set(err, EPROTO, "packet of unknown kind %u", kind);
    if (size < shape->body_size || size - shape->body_size > shape->tail_max)
        return err_set(err, EPROTO, "packet %u of %zu bytes", kind, size);
    if (packet->fd_count > shape->fd_max)
        return err_set(err, EPROTO, "packet %u with %zu descriptors", kind, packet->fd_count);
    packet->tail_size = size - shape->body_size;
    size_t in_union = BODY_MAX - shape->body_size;
    if (size > BODY_MAX)
        memmove(packet->tail + in_union, packet->tail, size - BODY_MAX);
    else
        in_union = packet->tail_size;
    memcpy(packet->tail, (const uint8_t *)packet + shape->body_size, in_union);
    if (!is_whole(packet))
        return err_set(err, EPROTO, "packet %u is malformed", kind);
    return 0;
}

int rpc_receive(int fd, struct rpc_packet *ret_packet, struct err *err) {
    struct iovec parts[2] = {{ret_packet, BODY_MAX}, {ret_packet->tail, sizeof ret_packet->tail}};
    union control control;
    struct msghdr message = {.msg_iov = parts,
                             .msg_iovlen = 2,
                             .msg_control = control.space,
                             .msg_controllen = sizeof control.space};
    ssize_t size;
    do
        size = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    while (size < 0 && errno == EINTR);
    ret_packet->fd_count = 0;
    if (size < 0 && errno != ECONNRESET)
        return err_errno(err, errno, "receive packet");
    if (size < 0) /* it left with packets of ours unread */
        return err_set(err, EPIPE, "the peer is gone");
    take_fds(&message, ret_packet);
    int result;
    if (size == 0 && ret_packet->fd_count == 0)
        return err_set(err, EPIPE, "the peer is gone");
    if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
        result = err_set(err, EPROTO, "packet was cut");
    else
        result = split(ret_packet, (size_t)size, err);
    if (result < 0)
        rpc_packet_close(ret_packet);
    return result;
}
