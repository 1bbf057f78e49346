#include "fake_link.h"

#include <assert.h>
#include <errno.h>
#include <unistd.h>

#include "base/mem.h"
#include "wire/connection.h"

struct link {
    struct link_events events;
    int sockets[CONNECTION_PORT_COUNT];
    bool is_linked, is_draining, has_failed, is_telling, has_unread;
    size_t queued;
    char *heard[FAKE_HEARD_MAX]; /* a ring of headers */
    unsigned heard_count;
};

static struct link *links[FAKE_LINKS_MAX];

struct link *fake_link_find(unsigned number) {
    return links[number % FAKE_LINKS_MAX];
}

struct link *link_create_take(struct loop *loop, void *zmq, struct slice key, const int *sockets,
                              int64_t message_max, const struct link_events *events) {
    (void)loop, (void)zmq, (void)message_max;
    assert(key.size);
    struct link *link = mem_zalloc(1, sizeof *link);
    link->events = *events;
    for (size_t i = 0; i < CONNECTION_PORT_COUNT; i++)
        link->sockets[i] = sockets[i];
    size_t at = 0;
    while (at < FAKE_LINKS_MAX && links[at])
        at++;
    assert(at < FAKE_LINKS_MAX);
    links[at] = link;
    return link;
}

void link_destroy(struct link *link) {
    if (!link)
        return;
    assert(!link->is_telling);
    for (size_t i = 0; i < CONNECTION_PORT_COUNT; i++)
        close(link->sockets[i]);
    for (size_t i = 0; i < FAKE_HEARD_MAX; i++)
        mem_free(link->heard[i]);
    for (size_t i = 0; i < FAKE_LINKS_MAX; i++)
        if (links[i] == link)
            links[i] = NULL;
    mem_free(link);
}

void link_send(struct link *link, const struct msg *msg) {
    assert(link->is_linked && msg->channel != MSG_IOPUB);
    char **place = &link->heard[link->heard_count++ % FAKE_HEARD_MAX];
    mem_free(*place);
    *place = mem_copy_text(msg->header.data, msg->header.size);
}

size_t link_queued_bytes(const struct link *link) {
    return link->queued;
}

void link_wake(struct link *link) {
    (void)link;
}

bool link_has_unread(const struct link *link) {
    return link->has_unread;
}

void link_drain(struct link *link) {
    assert(link->is_linked && !link->is_draining);
    link->is_draining = true;
}

/* -- what the target does */

void fake_link_connect(struct link *link) {
    if (link->is_linked || link->has_failed)
        return;
    link->is_linked = true;
    link->events.on_linked(link->events.context);
}

void fake_link_fail(struct link *link) {
    struct err err;
    if (link->is_draining)
        return;
    link->has_failed = true;
    err_set(&err, EPIPE, "the connection was closed");
    link->events.on_failed(link->events.context, &err);
}

void fake_link_drain(struct link *link) {
    if (link->is_draining)
        link->events.on_drained(link->events.context);
}

void fake_link_hold(struct link *link, bool has_unread, size_t queued) {
    link->has_unread = has_unread;
    link->queued = queued;
}

struct slice fake_link_heard(const struct link *link, unsigned number) {
    const char *header = link->heard[number % FAKE_HEARD_MAX];
    return slice_from_text(header ? header : "");
}

void fake_link_say(struct link *link, const struct msg *msg) {
    struct msg_header header = {0}, parent = {0};
    struct err err;
    if (!link->is_linked)
        return;
    link->is_telling = true;
    int result = msg_header_parse(msg->header, &header, &err);
    if (result == 0)
        result = msg_header_parse(msg->parent_header, &parent, &err);
    if (result == 0)
        link->events.on_message(link->events.context, msg, &header, &parent);
    else
        link->events.on_refused(link->events.context, &err);
    link->is_telling = false;
    msg_header_finish(&header);
    msg_header_finish(&parent);
}
