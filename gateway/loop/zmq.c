/* zmq - ZeroMQ sockets on the loop. Its one complication: ZMQ_FD tells only that the socket may
 * have changed, and is quiet again after any zmq call that looked; so input is asked for by
 * ZMQ_EVENTS after each such call, and what is left over is served by a timer of zero length, in a
 * later turn, behind everyone else's events (zmq_getsockopt(3), ZMQ_FD). */
#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdbool.h>
#include <zmq.h>

#include "base/mem.h"
#include "loop/loop.h"

struct loop_zmq {
    struct event changed; /* ZMQ_FD */
    struct event again;
    void *socket;
    void (*ready)(void *);
    void *context;
    bool running;   /* ready is on the stack */
    bool destroyed; /* by ready itself: freed when it returns */
};

/* False also where the context is being terminated. */
static bool has_input(void *socket) {
    int events, result;
    size_t size = sizeof events;
    do
        result = zmq_getsockopt(socket, ZMQ_EVENTS, &events, &size);
    while (result < 0 && errno == EINTR);
    assert(result == 0 || errno == ETERM);
    return result == 0 && events & ZMQ_POLLIN;
}

static void on_change(evutil_socket_t fd, short what, void *argument) {
    (void)fd, (void)what;
    struct loop_zmq *watch = argument;
    if (!has_input(watch->socket))
        return;
    watch->running = true;
    watch->ready(watch->context);
    watch->running = false;
    if (watch->destroyed)
        mem_free(watch);
    else
        loop_zmq_poke(watch);
}

static int descriptor_of(void *socket) {
    int fd;
    size_t size = sizeof fd;
    int result = zmq_getsockopt(socket, ZMQ_FD, &fd, &size);
    assert(result == 0);
    return fd;
}

struct loop_zmq *loop_zmq_create(struct loop *loop, void *socket, void (*ready)(void *),
                                 void *context) {
    struct loop_zmq *watch = mem_zalloc(1, sizeof *watch);
    watch->socket = socket;
    watch->ready = ready;
    watch->context = context;
    struct event_base *base = loop_base(loop);
    event_assign(&watch->changed, base, descriptor_of(socket), EV_READ | EV_PERSIST, on_change,
                 watch);
    event_assign(&watch->again, base, -1, 0, on_change, watch);
    event_add(&watch->changed, NULL);
    loop_zmq_poke(watch);
    return watch;
}

void loop_zmq_poke(struct loop_zmq *watch) {
    static const struct timeval at_once = {0, 0};
    if (!watch->running && has_input(watch->socket))
        event_add(&watch->again, &at_once);
}

void loop_zmq_destroy(struct loop_zmq *watch) {
    if (!watch)
        return;
    event_del(&watch->changed);
    event_del(&watch->again);
    if (watch->running)
        watch->destroyed = true;
    else
        mem_free(watch);
}
