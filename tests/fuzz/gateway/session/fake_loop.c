#include "fake_loop.h"

#include <assert.h>
#include <poll.h>
#include <stddef.h>

#include "base/list.h"
#include "base/mem.h"

struct loop {
    int64_t now_ms;
    struct list timers, watches;
};

struct loop_timer {
    struct list link; /* of those that are armed; points at itself else */
    struct loop *loop;
    int64_t at_ms;
    void (*fire)(void *);
    void *context;
};

struct loop_watch {
    struct list link;
    int fd;
    void (*ready)(void *);
    void *context;
};

struct loop *loop_create(void) {
    struct loop *loop = mem_zalloc(1, sizeof *loop);
    loop->now_ms = 1000;
    list_init(&loop->timers);
    list_init(&loop->watches);
    return loop;
}

void loop_destroy(struct loop *loop) {
    assert(list_is_empty(&loop->timers) && list_is_empty(&loop->watches));
    mem_free(loop);
}

struct event_base *loop_base(struct loop *loop) {
    (void)loop;
    return NULL;
}

void loop_run(struct loop *loop) {
    (void)loop;
}

void loop_stop(struct loop *loop) {
    (void)loop;
}

int64_t loop_now_ms(struct loop *loop) {
    return loop->now_ms;
}

/* -- timers */

struct loop_timer *loop_timer_create(struct loop *loop, void (*fire)(void *), void *context) {
    struct loop_timer *timer = mem_zalloc(1, sizeof *timer);
    *timer = (struct loop_timer){.loop = loop, .fire = fire, .context = context};
    list_init(&timer->link);
    return timer;
}

void loop_timer_start(struct loop_timer *timer, int64_t after_ms) {
    assert(after_ms >= 0);
    list_remove(&timer->link);
    timer->at_ms = timer->loop->now_ms + after_ms;
    list_append(&timer->loop->timers, &timer->link);
}

void loop_timer_stop(struct loop_timer *timer) {
    list_remove(&timer->link);
}

void loop_timer_destroy(struct loop_timer *timer) {
    if (!timer)
        return;
    list_remove(&timer->link);
    mem_free(timer);
}

static struct loop_timer *find_first(struct loop *loop) {
    struct loop_timer *first = NULL, *timer;
    list_for_each (timer, &loop->timers, link)
        if (!first || timer->at_ms < first->at_ms)
            first = timer;
    return first;
}

void fake_loop_pass(struct loop *loop, int64_t ms) {
    int64_t until_ms = loop->now_ms + ms;
    struct loop_timer *first;
    while ((first = find_first(loop)) && first->at_ms <= until_ms) {
        loop->now_ms = first->at_ms;
        list_remove(&first->link);
        first->fire(first->context);
    }
    loop->now_ms = until_ms;
}

/* -- descriptors */

struct loop_watch *loop_watch_create(struct loop *loop, int fd, void (*ready)(void *),
                                     void *context) {
    struct loop_watch *watch = mem_zalloc(1, sizeof *watch);
    *watch = (struct loop_watch){.fd = fd, .ready = ready, .context = context};
    list_append(&loop->watches, &watch->link);
    return watch;
}

void loop_watch_destroy(struct loop_watch *watch) {
    if (!watch)
        return;
    list_remove(&watch->link);
    mem_free(watch);
}

static struct loop_watch *find_ready(struct loop *loop) {
    struct loop_watch *watch;
    list_for_each (watch, &loop->watches, link) {
        struct pollfd poll_fd = {.fd = watch->fd, .events = POLLIN};
        if (poll(&poll_fd, 1, 0) == 1)
            return watch;
    }
    return NULL;
}

void fake_loop_turn(struct loop *loop) {
    struct loop_watch *watch;
    while ((watch = find_ready(loop)))
        watch->ready(watch->context);
}

/* -- ZeroMQ, which is not there */

struct loop_zmq *loop_zmq_create(struct loop *loop, void *socket, void (*ready)(void *),
                                 void *context) {
    (void)loop, (void)socket, (void)ready, (void)context;
    return NULL;
}

void loop_zmq_poke(struct loop_zmq *watch) {
    (void)watch;
}

void loop_zmq_destroy(struct loop_zmq *watch) {
    (void)watch;
}
