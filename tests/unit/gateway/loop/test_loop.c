#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

#include "base/mem.h"
#include "loop/loop.h"

/* What the timers and watches of a test share. */
struct scene {
    struct loop *loop;
    struct loop_timer *timer;
    struct loop_watch *watch;
    struct loop_zmq *zmq;
    void *socket, *peer;
    char trace[64];
    int count, wanted, share;
    int pipe[2];
};

static void write_a(void *context) {
    struct scene *scene = context;
    strcat(scene->trace, "a");
}

static void write_b_and_stop(void *context) {
    struct scene *scene = context;
    strcat(scene->trace, "b");
    loop_stop(scene->loop);
}

static void fires_timers_in_order(void **state) {
    (void)state;
    struct scene scene = {.loop = loop_create()};
    struct loop_timer *last = loop_timer_create(scene.loop, write_b_and_stop, &scene);
    struct loop_timer *first = loop_timer_create(scene.loop, write_a, &scene);
    struct loop_timer *stopped = loop_timer_create(scene.loop, write_a, &scene);
    loop_timer_start(last, 0);
    loop_timer_start(first, 5);
    loop_timer_start(stopped, 1);
    loop_timer_start(last, 20); /* moved behind the others */
    loop_timer_stop(stopped);
    int64_t begin_ms = loop_now_ms(scene.loop);
    loop_run(scene.loop);
    /* libevent reads CLOCK_MONOTONIC_COARSE: a timer may be early by a tick of it, and
     * loop_now_ms cuts what is less than a millisecond. */
    struct timespec tick;
    assert_int_equal(clock_getres(CLOCK_MONOTONIC_COARSE, &tick), 0);
    int64_t early_ms = tick.tv_nsec / 1000000 + 1;
    assert_true(loop_now_ms(scene.loop) - begin_ms >= 20 - early_ms);
    assert_string_equal(scene.trace, "ab");
    loop_timer_destroy(first);
    loop_timer_destroy(last);
    loop_timer_destroy(stopped);
    loop_timer_destroy(NULL);
    loop_destroy(scene.loop);
    assert_int_equal(mem_live(), 0);
}

static void a_stop_before_the_run_is_not_lost(void **state) {
    (void)state;
    struct loop *loop = loop_create();
    loop_stop(loop);
    loop_run(loop); /* comes back */
    loop_destroy(loop);
    loop_destroy(NULL);
    assert_int_equal(mem_live(), 0);
}

static void take_a_byte(void *context) {
    struct scene *scene = context;
    char byte[2] = "";
    assert_int_equal(read(scene->pipe[0], byte, 1), 1);
    strcat(scene->trace, byte);
    if (strlen(scene->trace) < 3)
        return;
    loop_watch_destroy(scene->watch); /* inside its own call */
    loop_stop(scene->loop);
}

static void watches_descriptors(void **state) {
    (void)state;
    struct scene scene = {.loop = loop_create()};
    assert_int_equal(pipe(scene.pipe), 0);
    scene.watch = loop_watch_create(scene.loop, scene.pipe[0], take_a_byte, &scene);
    assert_int_equal(write(scene.pipe[1], "xyz!", 4), 4);
    loop_run(scene.loop);
    assert_string_equal(scene.trace, "xyz");
    close(scene.pipe[0]);
    close(scene.pipe[1]);
    loop_watch_destroy(NULL);
    loop_destroy(scene.loop);
    assert_int_equal(mem_live(), 0);
}

/* Takes its share of messages, and sends one back for each, which eats the edge of ZMQ_FD. */
static void take_messages(void *context) {
    struct scene *scene = context;
    char text[8];
    for (int i = 0; i < scene->share; i++) {
        if (zmq_recv(scene->socket, text, sizeof text, ZMQ_DONTWAIT) < 0)
            return;
        scene->count++;
        assert_int_equal(zmq_send(scene->socket, "back", 4, 0), 4);
    }
    if (scene->count == scene->wanted)
        loop_stop(scene->loop);
}

static void set_up_pair(struct scene *scene, void *zmq) {
    scene->socket = zmq_socket(zmq, ZMQ_PAIR);
    scene->peer = zmq_socket(zmq, ZMQ_PAIR);
    int zero = 0;
    zmq_setsockopt(scene->socket, ZMQ_SNDHWM, &zero, sizeof zero);
    zmq_setsockopt(scene->socket, ZMQ_RCVHWM, &zero, sizeof zero);
    zmq_setsockopt(scene->peer, ZMQ_SNDHWM, &zero, sizeof zero);
    zmq_setsockopt(scene->peer, ZMQ_RCVHWM, &zero, sizeof zero);
    zmq_setsockopt(scene->socket, ZMQ_LINGER, &zero, sizeof zero);
    zmq_setsockopt(scene->peer, ZMQ_LINGER, &zero, sizeof zero);
    assert_int_equal(zmq_bind(scene->socket, "inproc://scene"), 0);
    assert_int_equal(zmq_connect(scene->peer, "inproc://scene"), 0);
}

static void tear_down_pair(struct scene *scene, void *zmq) {
    zmq_close(scene->socket);
    zmq_close(scene->peer);
    zmq_ctx_term(zmq);
    loop_destroy(scene->loop);
    assert_int_equal(mem_live(), 0);
}

static void send_more(void *context) {
    struct scene *scene = context;
    for (int i = 0; i < 100; i++)
        assert_int_equal(zmq_send(scene->peer, "more", 4, 0), 4);
}

static void loses_no_zmq_message(void **state) {
    (void)state;
    void *zmq = zmq_ctx_new();
    struct scene scene = {.loop = loop_create(), .wanted = 200, .share = 1};
    set_up_pair(&scene, zmq);
    for (int i = 0; i < 100; i++) /* before the watch: their edge is gone when it begins */
        assert_int_equal(zmq_send(scene.peer, "text", 4, 0), 4);
    int events;
    size_t size = sizeof events;
    assert_int_equal(zmq_getsockopt(scene.socket, ZMQ_EVENTS, &events, &size), 0);
    scene.zmq = loop_zmq_create(scene.loop, scene.socket, take_messages, &scene);
    struct loop_timer *later = loop_timer_create(scene.loop, send_more, &scene);
    loop_timer_start(later, 10);
    loop_run(scene.loop);
    assert_int_equal(scene.count, 200);
    loop_timer_destroy(later);
    loop_zmq_destroy(scene.zmq);
    loop_zmq_destroy(NULL);
    tear_down_pair(&scene, zmq);
}

static void eat_edge_then_poke(void *context) {
    struct scene *scene = context;
    assert_int_equal(zmq_send(scene->peer, "text", 4, 0), 4);
    /* A send looks at the socket's mailbox, so ZMQ_FD stays quiet about the message above. */
    for (int i = 0; i < 3; i++)
        assert_int_equal(zmq_send(scene->socket, "x", 1, 0), 1);
    loop_zmq_poke(scene->zmq);
}

static void a_poke_finds_what_a_send_hid(void **state) {
    (void)state;
    void *zmq = zmq_ctx_new();
    struct scene scene = {.loop = loop_create(), .wanted = 1, .share = 1};
    set_up_pair(&scene, zmq);
    scene.zmq = loop_zmq_create(scene.loop, scene.socket, take_messages, &scene);
    struct loop_timer *later = loop_timer_create(scene.loop, eat_edge_then_poke, &scene);
    loop_timer_start(later, 1);
    loop_run(scene.loop);
    assert_int_equal(scene.count, 1);
    loop_timer_destroy(later);
    loop_zmq_destroy(scene.zmq);
    tear_down_pair(&scene, zmq);
}

static void end_at_first_message(void *context) {
    struct scene *scene = context;
    loop_zmq_destroy(scene->zmq);
    loop_stop(scene->loop);
}

static void may_be_destroyed_inside_its_call(void **state) {
    (void)state;
    void *zmq = zmq_ctx_new();
    struct scene scene = {.loop = loop_create()};
    set_up_pair(&scene, zmq);
    scene.zmq = loop_zmq_create(scene.loop, scene.socket, end_at_first_message, &scene);
    assert_int_equal(zmq_send(scene.peer, "text", 4, 0), 4);
    loop_run(scene.loop);
    tear_down_pair(&scene, zmq);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fires_timers_in_order),
        cmocka_unit_test(a_stop_before_the_run_is_not_lost),
        cmocka_unit_test(watches_descriptors),
        cmocka_unit_test(loses_no_zmq_message),
        cmocka_unit_test(a_poke_finds_what_a_send_hid),
        cmocka_unit_test(may_be_destroyed_inside_its_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
