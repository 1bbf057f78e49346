#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rpc/rpc.h"

static int ends[2];
static struct rpc_packet packet;

static int count_fds(void) {
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    int count = 0;
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static int open_ends(void **state) {
    (void)state;
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends);
}

static int close_ends(void **state) {
    (void)state;
    close(ends[0]);
    close(ends[1]);
    return 0;
}

/* Sends bytes and descriptors past every check of rpc_send. */
static void send_raw(const void *data, size_t size, size_t fd_count) {
    struct iovec part = {(void *)data, size};
    char control[CMSG_SPACE(64 * sizeof(int))] = {0};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (fd_count) {
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
        struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
        for (size_t i = 0; i < fd_count; i++)
            ((int *)CMSG_DATA(rights))[i] = ends[0];
    }
    assert_int_equal(sendmsg(ends[0], &message, 0), size);
}

static void expect_refusal(const void *data, size_t size, size_t fd_count) {
    int before = count_fds();
    send_raw(data, size, fd_count);
    struct err err = {0};
    assert_int_equal(rpc_receive(ends[1], &packet, &err), -EPROTO);
    assert_int_equal(err.code, EPROTO);
    assert_true(err.text[0]);
    assert_int_equal(packet.fd_count, 0);
    assert_int_equal(count_fds(), before);
}

static void carries_every_tail_size(void **state) {
    (void)state;
    static uint8_t tail[RPC_TAIL_MAX];
    for (size_t i = 0; i < sizeof tail; i++)
        tail[i] = (uint8_t)(i * 7);
    static const size_t sizes[] = {0, 1, 100, 800, 880, 919, 920, 921, 5000, RPC_TAIL_MAX};
    struct rpc_tree_start start = {.head = {RPC_TREE_START, 9}, .tree = 77, .spec = 3};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct err err;
        assert_int_equal(rpc_send(ends[0], &start, slice_make(tail, sizes[i]), NULL, 0, &err), 0);
        assert_int_equal(rpc_receive(ends[1], &packet, &err), 0);
        assert_int_equal(packet.head.number, 9);
        assert_int_equal(packet.tree_start.tree, 77);
        assert_int_equal(packet.tail_size, sizes[i]);
        assert_memory_equal(packet.tail, tail, sizes[i]);
    }
}

static void carries_descriptors(void **state) {
    (void)state;
    struct rpc_spec spec = {.head.kind = RPC_SPEC, .file_count = 2, .name = "echo"};
    int before = count_fds();
    int fds[2] = {ends[0], ends[1]};
    struct err err;
    assert_int_equal(rpc_send(ends[0], &spec, (struct slice){0}, fds, 2, &err), 0);
    assert_int_equal(rpc_receive(ends[1], &packet, &err), 0);
    assert_int_equal(packet.fd_count, 2);
    assert_int_equal(fcntl(packet.fds[0], F_GETFD), FD_CLOEXEC);
    assert_int_equal(count_fds(), before + 2);
    rpc_packet_close(&packet);
    assert_int_equal(count_fds(), before);
}

static void keeps_descriptors_that_were_taken(void **state) {
    (void)state;
    struct rpc_tree_sockets sockets = {.head.kind = RPC_TREE_SOCKETS};
    int fds[5] = {ends[0], ends[0], ends[0], ends[0], ends[0]};
    struct err err;
    assert_int_equal(rpc_send(ends[0], &sockets, (struct slice){0}, fds, 5, &err), 0);
    assert_int_equal(rpc_receive(ends[1], &packet, &err), 0);
    int mine = packet.fds[2];
    packet.fds[2] = -1;
    rpc_packet_close(&packet);
    assert_int_equal(fcntl(mine, F_GETFD), FD_CLOEXEC);
    close(mine);
}

static void refuses_wrong_sizes(void **state) {
    (void)state;
    static uint8_t data[sizeof(struct rpc_packet)];
    struct rpc_head *head = (struct rpc_head *)data;
    expect_refusal(data, 1, 0);
    expect_refusal(data, 7, 0);
    expect_refusal(data, 8, 0); /* kind 0 */
    static const uint32_t kinds[] = {2, 3, 4, 5, 6, 7, 64, 65, 66, 67, 68, 69};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        head->kind = kinds[i];
        expect_refusal(data, sizeof *head, 0);
    }
    head->kind = RPC_READY;
    expect_refusal(data, sizeof *head + 1, 0);
    head->kind = RPC_TREE_KILL;
    expect_refusal(data, sizeof(struct rpc_tree_kill) + 8, 0);
    head->kind = RPC_TREE_START;
    expect_refusal(data, sizeof(struct rpc_tree_start) + RPC_TAIL_MAX + 1, 0);
    head->kind = RPC_TREE_ENDED;
    expect_refusal(data, sizeof(struct rpc_tree_ended) + RPC_OUTPUT_MAX + 1, 0);
    /* Longer than any packet may be. */
    static uint8_t longer[sizeof(struct rpc_packet) + 4096];
    ((struct rpc_head *)longer)->kind = RPC_TREE_START;
    expect_refusal(longer, sizeof longer, 0);
}

static void refuses_unknown_kinds(void **state) {
    (void)state;
    struct rpc_head head = {0};
    static const uint32_t kinds[] = {0, 8, 63, 70, 1000, 0x80000001, UINT32_MAX};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        head.kind = kinds[i];
        expect_refusal(&head, sizeof head, 0);
    }
}

static void refuses_descriptors_nobody_wants(void **state) {
    (void)state;
    struct rpc_head ready = {RPC_READY, 1};
    expect_refusal(&ready, sizeof ready, 1);
    expect_refusal(&ready, sizeof ready, RPC_FDS_MAX);
    expect_refusal(&ready, sizeof ready, 60); /* more than there is room for */
    struct rpc_tree_sockets sockets = {.head.kind = RPC_TREE_SOCKETS};
    expect_refusal(&sockets, sizeof sockets, 6);
}

static void refuses_texts_without_end(void **state) {
    (void)state;
    struct rpc_reply reply = {.head = {RPC_REPLY, 1}};
    memset(reply.err.text, 'x', sizeof reply.err.text);
    expect_refusal(&reply, sizeof reply, 0);
    struct rpc_spec spec = {.head.kind = RPC_SPEC, .file_count = 1};
    memset(spec.files[11], 'x', sizeof spec.files[11]);
    expect_refusal(&spec, sizeof spec, 1);
    memset(spec.files[11], 0, sizeof spec.files[11]);
    expect_refusal(&spec, sizeof spec, 2); /* says 1 */
    struct rpc_data data = {.head.kind = RPC_DATA};
    memset(data.name, 'x', sizeof data.name);
    expect_refusal(&data, sizeof data, 0);
}

static void tells_nothing_from_the_end(void **state) {
    (void)state;
    struct err err;
    assert_int_equal(rpc_receive(ends[1], &packet, &err), -EAGAIN);
    close(ends[0]);
    assert_int_equal(rpc_receive(ends[1], &packet, &err), -EPIPE);
    ends[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void tells_an_end_with_unread_packets(void **state) {
    (void)state;
    struct rpc_head ready = {RPC_READY, 1};
    struct err err;
    assert_int_equal(rpc_send(ends[1], &ready, (struct slice){0}, NULL, 0, &err), 0);
    close(ends[0]);
    assert_int_equal(rpc_receive(ends[1], &packet, &err), -EPIPE);
    ends[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void says_when_the_socket_is_full(void **state) {
    (void)state;
    static uint8_t tail[RPC_TAIL_MAX];
    struct rpc_tree_start start = {.head.kind = RPC_TREE_START};
    struct err err;
    int result = 0;
    for (int i = 0; i < 1000 && result == 0; i++)
        result = rpc_send(ends[0], &start, slice_make(tail, sizeof tail), NULL, 0, &err);
    assert_int_equal(result, -EAGAIN);
    assert_int_equal(rpc_receive(ends[1], &packet, &err), 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_ends, close_ends)
    const struct CMUnitTest tests[] = {
        TEST(carries_every_tail_size),
        TEST(carries_descriptors),
        TEST(keeps_descriptors_that_were_taken),
        TEST(refuses_wrong_sizes),
        TEST(refuses_unknown_kinds),
        TEST(refuses_descriptors_nobody_wants),
        TEST(refuses_texts_without_end),
        TEST(tells_nothing_from_the_end),
        TEST(tells_an_end_with_unread_packets),
        TEST(says_when_the_socket_is_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
