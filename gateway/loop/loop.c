/* loop - libevent behind a small face. Its one complication: the first loop_create of a process
 * says where memory comes from. libevent's goes through base/mem.h, so that a program which counts
 * what it forgot counts events and buffers too (libevent takes such functions only before its first
 * allocation). And malloc keeps what was freed: a message of 1 MiB would else be mapped, faulted in
 * page by page and unmapped each time, which takes four times as long as relaying it. */
#include "loop/loop.h"

#include <assert.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"

struct loop {
    struct event_base *base;
    bool stopped;
};

struct loop_timer {
    struct event event;
    void (*fire)(void *);
    void *context;
};

struct loop_watch {
    struct event event;
    void (*ready)(void *);
    void *context;
};

enum {
    MAPPED_ALONE_MIN = 16 * 1024 * 1024, /* allocations above it are given back when freed */
    KEPT_FREE_MAX = 32 * 1024 * 1024,    /* at the end of the heap */
};

static void set_up_memory(void) {
    static bool done;
    if (done)
        return;
    done = true;
    event_set_mem_functions(mem_alloc, mem_realloc, mem_free);
    mallopt(M_MMAP_THRESHOLD, MAPPED_ALONE_MIN);
    mallopt(M_TRIM_THRESHOLD, KEPT_FREE_MAX);
}

static struct event_base *create_epoll_base(void) {
    struct event_config *config = event_config_new();
    /* Only epoll has this feature on Linux. Times come from CLOCK_MONOTONIC, whole milliseconds are
     * exact enough. */
    event_config_require_features(config, EV_FEATURE_ET | EV_FEATURE_O1);
    event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK | EVENT_BASE_FLAG_IGNORE_ENV);
    struct event_base *base = event_base_new_with_config(config);
    event_config_free(config);
    if (!base) {
        fprintf(stderr, "the system gives no epoll\n");
        abort();
    }
    return base;
}

struct loop *loop_create(void) {
    set_up_memory();
    struct loop *loop = mem_zalloc(1, sizeof *loop);
    loop->base = create_epoll_base();
    return loop;
}

void loop_destroy(struct loop *loop) {
    if (!loop)
        return;
    event_base_free(loop->base);
    mem_free(loop);
}

struct event_base *loop_base(struct loop *loop) {
    return loop->base;
}

void loop_run(struct loop *loop) {
    while (!loop->stopped)
        if (event_base_loop(loop->base, EVLOOP_NO_EXIT_ON_EMPTY) < 0)
            abort(); /* epoll_wait itself failed */
    loop->stopped = false;
}

void loop_stop(struct loop *loop) {
    loop->stopped = true;
    event_base_loopbreak(loop->base);
}

int64_t loop_now_ms(struct loop *loop) {
    (void)loop;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* -- timers ----------------------------------------------------------------------------------- */

static void on_timeout(evutil_socket_t fd, short what, void *argument) {
    (void)fd, (void)what;
    struct loop_timer *timer = argument;
    timer->fire(timer->context);
}

struct loop_timer *loop_timer_create(struct loop *loop, void (*fire)(void *), void *context) {
    struct loop_timer *timer = mem_zalloc(1, sizeof *timer);
    timer->fire = fire;
    timer->context = context;
    event_assign(&timer->event, loop->base, -1, 0, on_timeout, timer);
    return timer;
}

void loop_timer_start(struct loop_timer *timer, int64_t after_ms) {
    assert(after_ms >= 0);
    struct timeval after = {after_ms / 1000, after_ms % 1000 * 1000};
    event_add(&timer->event, &after);
}

void loop_timer_stop(struct loop_timer *timer) {
    event_del(&timer->event);
}

void loop_timer_destroy(struct loop_timer *timer) {
    if (!timer)
        return;
    event_del(&timer->event);
    mem_free(timer);
}

/* -- descriptors ------------------------------------------------------------------------------ */

static void on_readable(evutil_socket_t fd, short what, void *argument) {
    (void)fd, (void)what;
    struct loop_watch *watch = argument;
    watch->ready(watch->context);
}

struct loop_watch *loop_watch_create(struct loop *loop, int fd, void (*ready)(void *),
                                     void *context) {
    struct loop_watch *watch = mem_zalloc(1, sizeof *watch);
    watch->ready = ready;
    watch->context = context;
    event_assign(&watch->event, loop->base, fd, EV_READ | EV_PERSIST, on_readable, watch);
    event_add(&watch->event, NULL);
    return watch;
}

void loop_watch_destroy(struct loop_watch *watch) {
    if (!watch)
        return;
    event_del(&watch->event);
    mem_free(watch);
}
