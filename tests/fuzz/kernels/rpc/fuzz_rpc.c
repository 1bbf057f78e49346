/* fuzz_rpc - what a hostile peer can put on the socket. Input: a byte that says how many
 * descriptors come along (5 bits) and whether the rest is the packet, or a kind and what follows
 * its head, brought to that kind's size at least; so seeds outlive a change of rpc.h. What is
 * accepted must survive being sent again. */
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rpc/rpc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct rpc_packet packet, again;

static int send_raw(int fd, const uint8_t *data, size_t size, size_t fd_count) {
    struct iovec part = {(void *)data, size};
    char control[CMSG_SPACE(32 * sizeof(int))] = {0};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (fd_count) {
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
        struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
        for (size_t i = 0; i < fd_count; i++)
            ((int *)CMSG_DATA(rights))[i] = fd;
    }
    return sendmsg(fd, &message, MSG_DONTWAIT) < 0 ? -errno : 0;
}

/* The next descriptor that would be opened: the same as before where none was left open. */
static int lowest_free_fd(void) {
    int fd = dup(0);
    close(fd);
    return fd;
}

enum { IS_SHAPED = 0x80, FDS = 0x1f };

/* A packet of a kind: head, what the input has, and zeros. */
static size_t shape(struct rpc_packet *shaped, const uint8_t *data, size_t size,
                    uint32_t fd_count) {
    static const size_t head = sizeof(struct rpc_head);
    uint32_t kind = size ? data[0] : 0;
    size_t body_size = rpc_body_size(kind), more = size ? size - 1 : 0;
    if (more > RPC_TAIL_MAX)
        more = RPC_TAIL_MAX;
    memset(shaped, 0, body_size > head ? body_size : head);
    shaped->head = (struct rpc_head){kind, 1};
    if (more)
        memcpy((uint8_t *)shaped + head, data + 1, more);
    if (kind == RPC_SPEC && more < body_size)
        shaped->spec.file_count = fd_count;
    return head + more > body_size ? head + more : body_size;
}

static void receive(int from, int to) {
    struct err err = {0};
    int result = rpc_receive(to, &packet, &err);
    assert(result == 0 || result == -EPROTO || result == -EPIPE);
    assert(result == 0 || err.code == -result);
    if (result < 0)
        return;
    struct slice tail = slice_make(packet.tail, packet.tail_size);
    int sent = rpc_send(from, &packet, tail, packet.fds, packet.fd_count, &err);
    assert(sent == 0);
    int received = rpc_receive(to, &again, &err);
    assert(received == 0 && again.tail_size == packet.tail_size);
    assert(memcmp(again.tail, packet.tail, packet.tail_size) == 0);
    assert(again.fd_count == packet.fd_count);
    rpc_packet_close(&again);
    rpc_packet_close(&packet);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int ends[2];
    if (size < 1 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
        return 0;
    int free_before = lowest_free_fd();
    const uint8_t *bytes = data + 1;
    size_t count = size - 1, fd_count = data[0] & FDS;
    if (data[0] & IS_SHAPED) {
        count = shape(&packet, bytes, count, (uint32_t)fd_count);
        bytes = (const uint8_t *)&packet;
    }
    if (send_raw(ends[0], bytes, count, fd_count) == 0)
        receive(ends[0], ends[1]);
    assert(lowest_free_fd() == free_before);
    close(ends[0]);
    close(ends[1]);
    return 0;
}
