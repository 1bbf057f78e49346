/* warden - see warden.h. Its one complication: a full socket. The warden always reads, so a short
 * timer sends what waits; order is kept by sending nothing past a waiting packet. */
#include "session/warden.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/mem.h"
#include "loop/loop.h"

struct open_request {
    struct list link;
    uint32_t number;
    void (*done)(void *context, const struct err *err);
    void *context;
};

struct waiting_packet {
    struct list link;
    size_t body_size, tail_size;
    _Alignas(8) uint8_t data[]; /* the body, then the tail */
};

struct warden {
    int fd;
    uint32_t last_number;
    struct warden_events events;
    struct list open, waiting;
    struct loop_watch *watch;
    struct loop_timer *retry;
    struct rpc_packet packet; /* 64 KiB of tail: too large for a stack */
};

enum { RETRY_MS = 2 };

static void answer(struct warden *warden, const struct rpc_reply *reply) {
    struct open_request *request;
    list_for_each (request, &warden->open, link) {
        if (request->number != reply->head.number)
            continue;
        list_remove(&request->link);
        struct open_request copy = *request;
        mem_free(request);
        if (copy.done)
            copy.done(copy.context, &reply->err);
        return;
    }
}

static void read_packets(void *context) {
    struct warden *warden = context;
    struct err err;
    /* One packet a turn: a callback may end the warden. */
    int result = rpc_receive(warden->fd, &warden->packet, &err);
    if (result == -EAGAIN)
        return;
    if (result < 0) {
        loop_watch_destroy(warden->watch);
        warden->watch = NULL;
        warden->events.on_gone(warden->events.context, &err);
        return;
    }
    if (warden->packet.head.kind == RPC_REPLY)
        answer(warden, &warden->packet.reply);
    else
        warden->events.on_event(warden->events.context, &warden->packet);
    rpc_packet_close(&warden->packet);
}

static void send_waiting(void *context) {
    struct warden *warden = context;
    struct waiting_packet *packet;
    list_for_each (packet, &warden->waiting, link) {
        int result = rpc_send(warden->fd, packet->data,
                              slice_make(packet->data + packet->body_size, packet->tail_size), NULL,
                              0, NULL);
        if (result == -EAGAIN || result == -ENOBUFS || result == -ENOMEM) {
            loop_timer_start(warden->retry, RETRY_MS);
            return;
        }
        /* Any other failure is the warden's end, which read_packets tells. */
        list_remove(&packet->link);
        mem_free(packet);
    }
}

struct warden *warden_create_take(struct loop *loop, int fd, const struct warden_events *events) {
    struct warden *warden = mem_zalloc(1, sizeof *warden);
    warden->fd = fd;
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    warden->events = *events;
    list_init(&warden->open);
    list_init(&warden->waiting);
    warden->watch = loop_watch_create(loop, fd, read_packets, warden);
    warden->retry = loop_timer_create(loop, send_waiting, warden);
    return warden;
}

void warden_destroy(struct warden *warden) {
    if (!warden)
        return;
    struct open_request *request;
    list_for_each (request, &warden->open, link)
        mem_free(request);
    struct waiting_packet *packet;
    list_for_each (packet, &warden->waiting, link)
        mem_free(packet);
    if (warden->watch)
        loop_watch_destroy(warden->watch);
    loop_timer_destroy(warden->retry);
    close(warden->fd);
    mem_free(warden);
}

static void wait_packet(struct warden *warden, const void *body, size_t size, struct slice tail) {
    struct waiting_packet *packet = mem_alloc(sizeof *packet + size + tail.size);
    packet->body_size = size;
    packet->tail_size = tail.size;
    memcpy(packet->data, body, size);
    if (tail.size)
        memcpy(packet->data + size, tail.data, tail.size);
    list_append(&warden->waiting, &packet->link);
}

void warden_request(struct warden *warden, void *body, size_t size, struct slice tail,
                    void (*done)(void *context, const struct err *err), void *context) {
    struct rpc_head *head = body;
    head->number = ++warden->last_number;
    if (head->number == 0)
        head->number = ++warden->last_number; /* 0 is for events */
    struct open_request *request = mem_alloc(sizeof *request);
    *request = (struct open_request){.number = head->number, .done = done, .context = context};
    list_append(&warden->open, &request->link);
    wait_packet(warden, body, size, tail);
    send_waiting(warden);
}
