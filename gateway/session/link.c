/* link - see link.h. Its one complication: a dead kernel's last messages may still be on their way
 * through ZeroMQ's thread. That thread closes its end of a connection only after it has handed over
 * all that it read, so a connection that is no longer there means that everything can be received.
 */
#include "session/link.h"

#include <assert.h>
#include <errno.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include "base/mem.h"
#include "loop/loop.h"
#include "session/link_parts.h"

enum {
    DRAIN_POLL_MS = 2,
    DRAIN_LIMIT_MS = 2000,
    LOST_CHECK_MS = 500,
    LOST_CHECKS = 3, /* by then the warden has told of a kernel that only died */
};

static bool is_connection_open(const struct wire *wire) {
    struct stat info;
    return fstat(wire->connection, &info) == 0 && info.st_ino == wire->inode;
}

static bool is_any_open(const struct link *link) {
    bool open = false;
    for (int i = 0; i < MSG_CHANNEL_COUNT; i++)
        open |= is_connection_open(&link->wires[i]);
    return open;
}

bool link_has_unread(const struct link *link) {
    for (int i = 0; i < MSG_CHANNEL_COUNT; i++) {
        const struct wire *wire = &link->wires[i];
        int unread = 0;
        if (is_connection_open(wire) && ioctl(wire->connection, FIONREAD, &unread) == 0 && unread)
            return true;
    }
    return false;
}

/* -- linked ----------------------------------------------------------------------------------- */

static void on_input(void *context) {
    link_read(context);
}

void link_on_connected(struct link *link) {
    link->phase = LINK_LINKED;
    for (int i = 0; i < MSG_CHANNEL_COUNT; i++)
        link->wires[i].watch =
            loop_zmq_create(link->loop, link->wires[i].socket, on_input, &link->wires[i]);
    link_wake(link);
    link->events.on_linked(link->events.context);
}

void link_wake(struct link *link) {
    if (link->phase != LINK_LINKED || link->is_watched)
        return;
    link->is_watched = true;
    link->lost_checks = 0;
    loop_timer_start(link->timer, LOST_CHECK_MS);
}

/* A kernel that lives and has closed a socket, or sent what ZeroMQ refuses, will not answer any
 * more. */
static void check_lost(struct link *link) {
    const struct wire *closed = NULL;
    link->is_watched = !link->events.is_awaited || link->events.is_awaited(link->events.context);
    if (!link->is_watched)
        return;
    for (int i = 0; i < MSG_CHANNEL_COUNT; i++)
        if (!is_connection_open(&link->wires[i]))
            closed = &link->wires[i];
    link->lost_checks = closed ? link->lost_checks + 1 : 0;
    if (link->lost_checks < LOST_CHECKS) {
        loop_timer_start(link->timer, LOST_CHECK_MS);
        return;
    }
    struct err err;
    err_set(&err, EPIPE,
            "the kernel's %s connection was closed by it, or by a part of a message above %lld "
            "bytes",
            msg_channel_name(closed->channel),
            (long long)link->message_max * LINK_PARTS_OF_A_MESSAGE);
    link->events.on_failed(link->events.context, &err);
}

/* -- draining --------------------------------------------------------------------------------- */

static void poll_drained(struct link *link) {
    bool open = is_any_open(link), more = false;
    for (int i = 0; i < MSG_CHANNEL_COUNT; i++)
        more |= link_read(&link->wires[i]);
    if (more)
        loop_timer_start(link->timer, 0); /* behind everyone else's events */
    else if (open && loop_now_ms(link->loop) < link->drain_until_ms)
        loop_timer_start(link->timer, DRAIN_POLL_MS);
    else
        link->events.on_drained(link->events.context);
}

void link_drain(struct link *link) {
    assert(link->phase == LINK_LINKED);
    link->phase = LINK_DRAINING;
    link->drain_until_ms = loop_now_ms(link->loop) + DRAIN_LIMIT_MS;
    loop_timer_start(link->timer, 0);
}

static void on_timer(void *context) {
    static void (*const acts[])(struct link *) = {[LINK_CONNECTING] = link_connect_next,
                                                  [LINK_LINKED] = check_lost,
                                                  [LINK_DRAINING] = poll_drained};
    struct link *link = context;
    acts[link->phase](link);
}

/* -- sending ---------------------------------------------------------------------------------- */

void link_send(struct link *link, const struct msg *msg) {
    assert(link->phase != LINK_CONNECTING && msg->channel != MSG_IOPUB);
    struct wire *wire = &link->wires[msg->channel];
    char signature[SIGN_HEX_SIZE];
    size_t size = signer_sign(link->signer, msg, signature);
    parcel_send(link->flow, wire->socket, slice_make(signature, size), msg);
    loop_zmq_poke(wire->watch);
    link_wake(link);
}

size_t link_queued_bytes(const struct link *link) {
    return flow_bytes(link->flow);
}

/* -- life ------------------------------------------------------------------------------------- */

struct link *link_create_take(struct loop *loop, void *zmq, struct slice key, const int *sockets,
                              int64_t message_max, const struct link_events *events) {
    struct link *link = mem_zalloc(1, sizeof *link);
    link->loop = loop;
    link->zmq = zmq;
    link->message_max = message_max;
    link->retry_ms = 1;
    link->events = *events;
    link->signer = signer_create(key);
    link->flow = flow_create();
    link->timer = loop_timer_create(loop, on_timer, link);
    uint8_t id[ID_BYTES];
    id_make(id);
    id_format(id, link->identity);
    for (int i = 0; i < MSG_CHANNEL_COUNT; i++)
        link->wires[i] = (struct wire){.link = link,
                                       .channel = (enum msg_channel)i,
                                       .target = sockets[link_ports[i]],
                                       .connection = -1};
    close(sockets[CONNECTION_HB]); /* the pidfd in the warden tells more than a heartbeat */
    loop_timer_start(link->timer, 0);
    return link;
}

static void finish_wire(struct wire *wire) {
    link_finish_monitor(wire);
    if (wire->watch)
        loop_zmq_destroy(wire->watch);
    if (wire->socket)
        zmq_close(wire->socket);
    if (wire->target >= 0)
        close(wire->target);
}

void link_destroy(struct link *link) {
    if (!link)
        return;
    for (int i = 0; i < MSG_CHANNEL_COUNT; i++)
        finish_wire(&link->wires[i]);
    loop_timer_destroy(link->timer);
    signer_destroy(link->signer);
    flow_unref(link->flow);
    mem_free(link);
}
