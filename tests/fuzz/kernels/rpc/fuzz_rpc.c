/* fuzz_rpc - what a hostile peer can put on the socket. Input: a byte that says how many
 * descriptors come along, then the packet. What is accepted must survive being sent again. */
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int ends[2];
    if (size < 1 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
        return 0;
    int free_before = lowest_free_fd();
    if (send_raw(ends[0], data + 1, size - 1, data[0] % 32) == 0) {
        struct err err = {0};
        int result = rpc_receive(ends[1], &packet, &err);
        assert(result == 0 || result == -EPROTO || result == -EPIPE);
        assert(result == 0 || err.code == -result);
        if (result == 0) {
            struct slice tail = slice_make(packet.tail, packet.tail_size);
            int sent = rpc_send(ends[0], &packet, tail, packet.fds, packet.fd_count, &err);
            assert(sent == 0);
            int received = rpc_receive(ends[1], &again, &err);
            assert(received == 0 && again.tail_size == packet.tail_size);
            assert(memcmp(again.tail, packet.tail, packet.tail_size) == 0);
            rpc_packet_close(&again);
            rpc_packet_close(&packet);
        }
    }
    assert(lowest_free_fd() == free_before);
    close(ends[0]);
    close(ends[1]);
    return 0;
}
