/* link - one kernel's four ZeroMQ sockets: connects them to descriptors of the jail, signs what
 * goes out, verifies what comes in. Knows nothing of requests or clients. Source: jupyter_client,
 * "Messaging in Jupyter"; DESIGN.md "The kernel's sockets". */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "msg/header.h"
#include "msg/msg.h"

struct loop;
struct link;

struct link_events {
    /* All four sockets are connected; the descriptors may be closed. */
    void (*on_linked)(void *context);
    /* They could not be, or one was closed by a kernel that lives: a sentence. The link is of no
     * more use. */
    void (*on_failed)(void *context, const struct err *err);
    /* A verified message. Everything borrowed for the call, in which link_destroy is not allowed.
     */
    void (*on_message)(void *context, const struct msg *msg, const struct msg_header *header,
                       const struct msg_header *parent);
    /* A message that was refused: a sentence, for the log. */
    void (*on_refused)(void *context, const struct err *err);
    /* After link_drain: everything that the dead kernel had sent has been told. */
    void (*on_drained)(void *context);
    void *context;
    /* Whether it matters now that the kernel may have closed a socket: nobody notices else, and
     * looking takes system calls. NULL: always. */
    bool (*is_awaited)(void *context);
};

/* sockets are O_PATH descriptors of unix sockets in the order of enum connection_port, owned by the
 * link from here on (all five of them). key signs. zmq is the process's one ZeroMQ context. A
 * larger message than message_max bytes is told without being verified, so that its loss can be
 * told; a part of one that is four times as large ends the connection. */
struct link *link_create_take(struct loop *loop, void *zmq, struct slice key, const int *sockets,
                              int64_t message_max, const struct link_events *events);
void link_destroy(struct link *link);

/* Sends to the kernel on msg->channel, copying. Only after on_linked. */
void link_send(struct link *link, const struct msg *msg);
/* is_awaited may have become true. */
void link_wake(struct link *link);
/* Bytes that were sent and that the kernel has not taken: it decides how many. */
size_t link_queued_bytes(const struct link *link);

/* Whether ZeroMQ has not taken yet all that the kernel has sent. */
bool link_has_unread(const struct link *link);

/* The kernel's processes are gone: reads what is still under way, then calls on_drained. */
void link_drain(struct link *link);
