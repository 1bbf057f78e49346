/* Packets to the warden keep their order whatever the socket takes; answers find their callers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/mem.h"
#include "loop/loop.h"
#include "session/warden.h"

struct scene {
    struct loop *loop;
    struct loop_timer *limit;
    struct warden *warden;
    int peer;
    struct rpc_packet packet; /* the last event, or what the peer received */
    int events, gone, answers;
    int codes[64];
    bool keep_descriptors;
};

static void on_event(void *context, struct rpc_packet *packet) {
    struct scene *scene = context;
    scene->events++;
    scene->packet = *packet;
    if (scene->keep_descriptors)
        for (size_t i = 0; i < packet->fd_count; i++)
            packet->fds[i] = -1;
}

static void on_gone(void *context, const struct err *err) {
    struct scene *scene = context;
    assert_int_not_equal(err->code, 0);
    scene->gone++;
}

static void give_up(void *context) {
    (void)context;
    fail_msg("nothing happened for a minute");
}

static void begin(struct scene *scene) {
    int fds[2];
    memset(scene, 0, sizeof *scene);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
    scene->loop = loop_create();
    scene->limit = loop_timer_create(scene->loop, give_up, scene);
    scene->peer = fds[1];
    struct warden_events events = {on_event, on_gone, scene};
    scene->warden = warden_create_take(scene->loop, fds[0], &events);
    loop_timer_start(scene->limit, 60000);
}

static void end(struct scene *scene) {
    warden_destroy(scene->warden);
    loop_timer_destroy(scene->limit);
    loop_destroy(scene->loop);
    if (scene->peer >= 0)
        close(scene->peer);
    assert_int_equal(mem_live(), 0);
}

static void turn(struct scene *scene) {
    event_base_loop(loop_base(scene->loop), EVLOOP_ONCE);
}

static void answer(struct scene *scene, uint32_t number, int code) {
    struct rpc_reply reply = {.head = {RPC_REPLY, number}};
    if (code)
        err_set(&reply.err, code, "no %u", number);
    assert_int_equal(rpc_send(scene->peer, &reply, (struct slice){0}, NULL, 0, NULL), 0);
}

static void note_answer(void *context, const struct err *err) {
    struct scene *scene = context;
    scene->codes[scene->answers++] = err->code;
}

static void signal_tree(struct scene *scene, uint64_t tree) {
    struct rpc_tree_signal body = {.head.kind = RPC_TREE_SIGNAL, .tree = tree};
    warden_request(scene->warden, &body, sizeof body, (struct slice){0}, note_answer, scene);
}

/* Far more than the socket holds, with packets of every size. */
static void keeps_the_order_when_the_socket_is_full(void **state) {
    (void)state;
    enum { COUNT = 400 };
    static uint8_t tail[RPC_TAIL_MAX];
    struct scene scene;
    begin(&scene);
    for (size_t i = 0; i < sizeof tail; i++)
        tail[i] = (uint8_t)(i * 7);
    for (uint64_t i = 0; i < COUNT; i++) {
        size_t size = i % 3 ? 0 : i * 160;
        struct rpc_tree_start start = {
            .head.kind = RPC_TREE_START, .tree = i, .environment_size = (uint32_t)size};
        if (i % 2)
            signal_tree(&scene, i);
        else
            warden_request(scene.warden, &start, sizeof start, slice_make(tail, size), NULL, NULL);
    }
    fcntl(scene.peer, F_SETFL, O_NONBLOCK);
    for (uint64_t i = 0; i < COUNT; i++) {
        struct err err;
        while (rpc_receive(scene.peer, &scene.packet, &err) == -EAGAIN)
            turn(&scene); /* the timer sends what waits */
        if (i % 2) {
            assert_int_equal(scene.packet.head.kind, RPC_TREE_SIGNAL);
            assert_int_equal(scene.packet.tree_signal.tree, i);
        } else {
            assert_int_equal(scene.packet.head.kind, RPC_TREE_START);
            assert_int_equal(scene.packet.tree_start.tree, i);
            assert_int_equal(scene.packet.tail_size, i % 3 ? 0 : i * 160);
            assert_memory_equal(scene.packet.tail, tail, scene.packet.tail_size);
        }
        assert_int_equal(scene.packet.head.number, i + 1);
    }
    end(&scene);
}

static void finds_the_caller_of_an_answer(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    for (uint64_t i = 1; i <= 4; i++)
        signal_tree(&scene, i);
    answer(&scene, 3, EBUSY);
    answer(&scene, 99, EIO); /* nobody's */
    answer(&scene, 1, 0);
    answer(&scene, 1, EIO); /* a second one is nobody's either */
    answer(&scene, 4, ENOENT);
    while (scene.answers < 3)
        turn(&scene);
    assert_int_equal(scene.codes[0], EBUSY);
    assert_int_equal(scene.codes[1], 0);
    assert_int_equal(scene.codes[2], ENOENT);
    end(&scene); /* the second is still open, and is forgotten */
}

static void closes_the_descriptors_that_are_not_taken(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    struct rpc_tree_sockets body = {.head.kind = RPC_TREE_SOCKETS, .tree = 1};
    for (int kept = 0; kept <= 1; kept++) {
        int pipes[2];
        assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
        scene.keep_descriptors = kept;
        rpc_send(scene.peer, &body, (struct slice){0}, &pipes[1], 1, NULL);
        close(pipes[1]);
        while (scene.events == kept)
            turn(&scene);
        assert_int_equal(scene.packet.fd_count, 1);
        uint8_t byte;
        fcntl(pipes[0], F_SETFL, O_NONBLOCK);
        assert_int_equal(read(pipes[0], &byte, 1), kept ? -1 : 0); /* its other end is gone */
        if (kept)
            close(scene.packet.fds[0]);
        close(pipes[0]);
    }
    end(&scene);
}

static void tells_when_the_warden_is_gone(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    signal_tree(&scene, 1);
    close(scene.peer);
    scene.peer = -1;
    while (!scene.gone)
        turn(&scene);
    signal_tree(&scene, 2); /* goes nowhere, and harms nobody */
    assert_int_equal(scene.gone, 1);
    assert_int_equal(scene.answers, 0);
    end(&scene);
}

static void takes_a_broken_packet_for_the_end(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    assert_int_equal(send(scene.peer, "xy", 2, 0), 2);
    while (!scene.gone)
        turn(&scene);
    end(&scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_the_order_when_the_socket_is_full),
        cmocka_unit_test(finds_the_caller_of_an_answer),
        cmocka_unit_test(closes_the_descriptors_that_are_not_taken),
        cmocka_unit_test(tells_when_the_warden_is_gone),
        cmocka_unit_test(takes_a_broken_packet_for_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
