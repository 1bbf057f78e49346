/* loop - the gateway's one event loop (libevent), its timers, and the only file that knows ZMQ_FD.
 * Everything in the gateway runs on it; nothing blocks. */
#pragma once

#include <stdint.h>

struct event_base;
struct loop;
struct loop_timer;
struct loop_watch;
struct loop_zmq;

/* Aborts where the system gives no epoll. */
struct loop *loop_create(void);
void loop_destroy(struct loop *loop);
/* For http/, which needs libevent's buffers. */
struct event_base *loop_base(struct loop *loop);
/* Runs until loop_stop. */
void loop_run(struct loop *loop);
void loop_stop(struct loop *loop);
/* Monotonic milliseconds, as of this turn of the loop. */
int64_t loop_now_ms(struct loop *loop);

/* A one-shot timer: armed by loop_timer_start, which also moves an armed one. */
struct loop_timer *loop_timer_create(struct loop *loop, void (*fire)(void *), void *context);
void loop_timer_start(struct loop_timer *timer, int64_t after_ms);
void loop_timer_stop(struct loop_timer *timer);
void loop_timer_destroy(struct loop_timer *timer);

/* Calls ready whenever fd (borrowed) can be read. */
struct loop_watch *loop_watch_create(struct loop *loop, int fd, void (*ready)(void *),
                                     void *context);
void loop_watch_destroy(struct loop_watch *watch);

/* Calls ready whenever the ZeroMQ socket (borrowed) has something to read. ZMQ_FD is edge-triggered
 * and any zmq call on the socket can eat the edge, so: ready reads until EAGAIN or until it has had
 * its share, and whoever calls zmq_send or zmq_getsockopt on the socket calls loop_zmq_poke after.
 * When ready returns with input left, it is called again in a later turn. */
struct loop_zmq *loop_zmq_create(struct loop *loop, void *socket, void (*ready)(void *),
                                 void *context);
void loop_zmq_poke(struct loop_zmq *watch);
void loop_zmq_destroy(struct loop_zmq *watch);
