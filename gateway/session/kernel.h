/* kernel - one session's kernel as clients see it: who is attached, what is open, in which state it
 * is. Made and found through kernels.h. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/list.h"
#include "msg/header.h"
#include "msg/msg.h"
#include "session/outgoing.h"
#include "session/reasons.h"

struct kernel;
struct seat;

/* A client of a kernel: a member of whatever a face keeps per connection. */
struct kernel_client {
    struct seat *seat;      /* the kernel's */
    const char *session_id; /* the client's own name for itself, "" where it gave none; borrowed */
    enum encoding encoding;
    /* A message for this client, which outgoing_encode gives in its encoding. The kernel must not
     * be detached from within. Returns where it ends in the stream to the client, UINT64_MAX where
     * it is not sent. */
    uint64_t (*on_message)(struct kernel_client *client, struct outgoing *outgoing);
    /* How much of that stream is certain to have arrived, and how many bytes of it wait here. */
    uint64_t (*acknowledged)(struct kernel_client *client);
    size_t (*queued)(struct kernel_client *client);
    /* The kernel is gone for good, or a newer client of that session_id took this one's place: the
     * client is already detached. */
    void (*on_end)(struct kernel_client *client, enum reason reason);
};

/* Somebody who waits for the end of a start, a restart or a deletion. Unlink it to wait no more. */
struct kernel_waiter {
    struct list link;
    void (*done)(struct kernel_waiter *waiter,
                 const struct err *err); /* err->code 0: it was done */
};

const char *kernel_id(const struct kernel *kernel);
const char *kernel_spec_name(const struct kernel *kernel);
/* "starting", "idle", "busy", "restarting", "dead" or "terminating". */
const char *kernel_execution_state(const struct kernel *kernel);
int64_t kernel_last_activity_us(const struct kernel *kernel);
unsigned kernel_connections(const struct kernel *kernel);
/* Dead, or about to be without a restart. */
bool kernel_is_dead(const struct kernel *kernel);
/* A sentence on its last end, where it is dead or was started again by itself; NULL otherwise. */
const char *kernel_reason(const struct kernel *kernel);
/* What parameters_show said when it was made; NULL where nothing was given; borrowed, never
 * changed.
 */
json_t *kernel_parameters(const struct kernel *kernel);

/* An attached client of the same session_id is told on_end(REASON_NONE) and detached first. What
 * it, or one that was lost, had not acknowledged is sent to the new one, and what is open under
 * that session_id is answered to it. */
void kernel_attach(struct kernel *kernel, struct kernel_client *client);
/* What follows is kept for its session_id, unless it left for good. A message of which it had only
 * a part when it left suddenly may be what ended it. */
enum departure { LEFT_FOR_GOOD, LEFT_FOR_NOW, LEFT_SUDDENLY };
void kernel_detach(struct kernel *kernel, struct kernel_client *client, enum departure departure);
/* Nothing waits to be sent to the client any more. */
void kernel_catch_up(struct kernel *kernel, struct kernel_client *client);

/* Takes one message of an attached client: sent to the kernel at once, kept until the kernel is
 * ready, or ended with an error. Every request that has a reply gets one. */
void kernel_receive(struct kernel *kernel, struct kernel_client *client, const struct msg *msg,
                    const struct msg_header *header);

/* Whether it is starting or restarting: waiter is told when it answers, or why it does not. */
bool kernel_is_starting(const struct kernel *kernel);
void kernel_await_start(struct kernel *kernel, struct kernel_waiter *waiter);
/* -EBUSY while the kernel is starting or restarting, -ESRCH where it is dead. Where grace_ms is not
 * negative and what runs now still runs after it, the kernel is ended (REASON_interrupted). */
int kernel_interrupt(struct kernel *kernel, int64_t grace_ms, struct err *err);
/* Ends what is open, then the kernel's processes, and starts new ones in the same jail; waiter is
 * told when the new kernel answers, or why it does not. */
void kernel_restart(struct kernel *kernel, struct kernel_waiter *waiter);
/* From now on kernels_find does not find it. waiter (may be NULL) is told when nothing is left. */
void kernel_delete(struct kernel *kernel, struct kernel_waiter *waiter);
