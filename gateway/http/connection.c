/* connection - a connection's entries, and what its steps (connection_steps.c) are made of. */
#include "http/connection_parts.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "http/handshake.h"
#include "http/reply.h"
#include "http/request.h"
#include "http/tls.h"
#include "http/ws.h"
#include "loop/loop.h"

enum {
    PIPELINE_MAX = 64 * 1024, /* read ahead while a request is being answered */
    STEPS_PER_TURN = 64,      /* requests or frames of one connection before others have theirs */
};

/* -- timers, sending, ending ------------------------------------------------------------------ */

void connection_set_timer(struct connection *connection, int64_t after_ms) {
    loop_timer_start(connection->timer, after_ms);
}

void connection_kick(struct connection *connection) {
    if (!connection->entered)
        loop_timer_start(connection->kick, 0);
}

void connection_break(struct connection *connection) {
    connection->broken = true;
    connection_kick(connection);
}

/* While the handler works nothing is timed but a peer that does not take what waits for it. */
static void watch_stall(struct connection *connection) {
    if (connection->state == STATE_HANDLER || connection->state == STATE_WRITING)
        connection_set_timer(connection, connection->stall_ms);
}

static void update_writing(struct connection *connection) {
    if (connection->writing || outbox_size(&connection->outbox) == 0)
        return;
    event_add(connection->writable, NULL);
    connection->writing = true;
    watch_stall(connection);
}

size_t connection_send(struct connection *connection, const struct piece *pieces, size_t count) {
    if (connection->broken || connection->state == STATE_CLOSED)
        return 0;
    if (outbox_send(&connection->outbox, pieces, count) < 0)
        connection_break(connection);
    update_writing(connection);
    return outbox_size(&connection->outbox);
}

void connection_close_after_answer(struct connection *connection) {
    connection->close_after = true;
}

bool connection_will_close(const struct connection *connection) {
    return connection->close_after;
}

void connection_set_state(struct connection *connection, enum connection_state state) {
    connection->server->handshakes -= connection->state == STATE_HANDSHAKE;
    connection->server->handshakes += state == STATE_HANDSHAKE;
    connection->state = state;
    loop_timer_stop(connection->timer);
}

void connection_drop_request(struct connection *connection) {
    if (connection->request)
        connection->server->bodies -= connection->request->body_counted;
    request_destroy(connection->request);
    connection->request = NULL;
}

static void begin_writing(struct connection *connection) {
    connection_set_state(connection, STATE_WRITING);
    watch_stall(connection);
    connection_kick(connection);
}

void connection_end_answer(struct connection *connection, struct http_request *request) {
    if (connection->state == STATE_CLOSED)
        return; /* from within on_gone */
    assert(connection->state == STATE_HANDLER && connection->request == request);
    connection_drop_request(connection);
    begin_writing(connection);
}

void connection_become_websocket(struct connection *connection, struct ws *ws) {
    connection_drop_request(connection);
    connection->ws = ws;
    connection_set_state(connection, STATE_WEBSOCKET);
    connection_kick(connection);
}

void connection_end_websocket(struct connection *connection) {
    connection->ws = NULL;
    connection->close_after = true;
    begin_writing(connection);
}

void connection_drop(struct connection *connection) {
    enum connection_state before = connection->state;
    connection_set_state(connection, STATE_CLOSED);
    event_del(connection->readable);
    event_del(connection->writable);
    if (before == STATE_HANDLER)
        request_tell_gone(connection->request);
    if (before == STATE_WEBSOCKET)
        ws_tell_gone(connection->ws);
    connection->ws = NULL;
    close(connection->fd);
}

void connection_drop_unsent(struct connection *connection) {
    static const struct linger at_once = {.l_onoff = 1};
    if (transport_acknowledged(&connection->transport) < connection->outbox.handed)
        setsockopt(connection->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    connection_drop(connection);
}

static void free_connection(struct connection *connection) {
    list_remove(&connection->link);
    connection->server->open--;
    connection_drop_request(connection);
    inbox_finish(&connection->inbox);
    outbox_finish(&connection->outbox);
    tls_destroy(connection->transport.tls);
    mem_free(connection->peer.subject);
    mem_free(connection->peer_name);
    event_free(connection->readable);
    event_free(connection->writable);
    loop_timer_destroy(connection->timer);
    loop_timer_destroy(connection->kick);
    mem_free(connection);
}

static bool is_head_request(const struct http_request *request) {
    return request && slice_equal_text(http_request_method(request), "HEAD");
}

/* What the owner adds; NULL where it has not heard of this request. */
static const char *added_headers(struct connection *connection) {
    const struct http_handler *handler = &connection->server->handler;
    struct http_request *request = connection->request;
    if (!request || !request->parser.head_done || !handler->on_refusal)
        return NULL;
    handler->on_refusal(handler->context, request);
    return request->added.data;
}

void connection_turn_down(struct connection *connection, const struct refusal *refusal) {
    cleanup_text struct text message = {0};
    reply_append_refusal(&message, connection->server, refusal, added_headers(connection),
                         !is_head_request(connection->request));
    connection->close_after = true;
    connection_send(connection, &(struct piece){text_slice(&message), NULL}, 1);
    connection_drop_request(connection);
    begin_writing(connection);
}

/* -- the entries ------------------------------------------------------------------------------ */

static bool step_once(struct connection *connection) {
    enum connection_state before = connection->state;
    bool more = connection_steps[before].advance(connection) || connection->state != before;
    if (!more && connection->finished) {
        connection_steps[before].finish(connection);
        more = connection->state != before;
    }
    return more;
}

static void run(struct connection *connection) {
    connection->has_more = true;
    for (int i = 0; i < STEPS_PER_TURN && connection->has_more; i++)
        connection->has_more =
            !connection->broken && connection->state != STATE_CLOSED && step_once(connection);
    if (connection->has_more)
        loop_timer_start(connection->kick, 0);
    if (connection->broken && connection->state != STATE_CLOSED)
        connection_drop_unsent(connection);
}

static bool wants_input(const struct connection *connection) {
    switch (connection->state) {
    case STATE_HANDLER:
    case STATE_WRITING:
        return inbox_size(&connection->inbox) < PIPELINE_MAX;
    case STATE_WEBSOCKET:
        return ws_wants_input(connection->ws);
    default:
        return true;
    }
}

static bool may_read(const struct connection *connection) {
    return !connection->finished && !connection->has_more && wants_input(connection);
}

/* What lies in TLS is not looked at any more where all that comes is thrown away. */
static bool has_unread(const struct connection *connection) {
    return connection->state != STATE_LINGER && transport_has_unread(&connection->transport);
}

static void update_reading(struct connection *connection) {
    bool wanted = may_read(connection);
    if (wanted && has_unread(connection))
        loop_timer_start(connection->kick, 0);
    if (wanted == connection->reading)
        return;
    if (wanted)
        event_add(connection->readable, NULL);
    else
        event_del(connection->readable);
    connection->reading = wanted;
}

static void enter(struct connection *connection) {
    assert(!connection->entered);
    connection->entered = true;
}

static void leave(struct connection *connection) {
    run(connection);
    connection->entered = false;
    if (connection->state == STATE_CLOSED)
        return free_connection(connection);
    inbox_settle(&connection->inbox);
    update_reading(connection);
    update_writing(connection);
}

static void receive(struct connection *connection) {
    size_t needed = connection->state == STATE_WEBSOCKET ? ws_bytes_needed(connection->ws) : 0;
    uint8_t *scratch = connection->server->scratch;
    ssize_t got = connection->state == STATE_LINGER
                      ? transport_discard(&connection->transport, scratch, SCRATCH_SIZE)
                      : inbox_receive(&connection->inbox, &connection->transport, scratch, needed);
    if (got == 0)
        connection->finished = true;
    else if (got < 0 && got != -EAGAIN)
        connection_note_failure(connection, (int)got);
}

static void on_readable(evutil_socket_t fd, short what, void *argument) {
    (void)fd, (void)what;
    struct connection *connection = argument;
    enter(connection);
    if (connection->state == STATE_HANDSHAKE && handshake_looks_plain(connection))
        connection_refuse_plain(connection);
    else
        receive(connection);
    leave(connection);
}

static void watch_progress(struct connection *connection) {
    watch_stall(connection);
    if (connection->state == STATE_WEBSOCKET)
        ws_tell_progress(connection->ws);
    if (outbox_size(&connection->outbox))
        return;
    event_del(connection->writable);
    connection->writing = false;
    if (connection->state == STATE_HANDLER)
        loop_timer_stop(connection->timer);
}

static void tell_drained(struct connection *connection) {
    size_t queued = outbox_size(&connection->outbox);
    if (connection->state == STATE_HANDLER && connection->request->begun)
        reply_tell_drained(connection->request, queued);
    else if (connection->state == STATE_WEBSOCKET && queued == 0)
        ws_tell_drained(connection->ws);
}

static void on_writable(evutil_socket_t fd, short what, void *argument) {
    (void)fd, (void)what;
    struct connection *connection = argument;
    enter(connection);
    ssize_t sent = outbox_flush(&connection->outbox);
    if (sent < 0)
        connection->broken = true;
    else if (sent > 0 || outbox_size(&connection->outbox) == 0) /* receiving flushes TLS too */
        watch_progress(connection);
    if (!connection->broken)
        tell_drained(connection);
    leave(connection);
}

static void on_time(void *argument) {
    struct connection *connection = argument;
    enter(connection);
    connection_steps[connection->state].time_out(connection);
    leave(connection);
}

static void on_kick(void *argument) {
    struct connection *connection = argument;
    enter(connection);
    if (has_unread(connection) && may_read(connection))
        receive(connection);
    leave(connection);
}

/* -- beginning and end ------------------------------------------------------------------------ */

static struct connection *create(struct http_server *server, int fd) {
    struct connection *connection = mem_zalloc(1, sizeof *connection);
    connection->server = server;
    connection->fd = connection->transport.fd = fd;
    connection->outbox.transport = &connection->transport;
    connection->state = STATE_HEAD;
    connection->stall_ms = server->limits.idle_ms;
    struct event_base *base = loop_base(server->loop);
    connection->readable = event_new(base, fd, EV_READ | EV_PERSIST, on_readable, connection);
    connection->writable = event_new(base, fd, EV_WRITE | EV_PERSIST, on_writable, connection);
    connection->timer = loop_timer_create(server->loop, on_time, connection);
    connection->kick = loop_timer_create(server->loop, on_kick, connection);
    list_append(&server->connections, &connection->link);
    server->open++;
    return connection;
}

/* SO_PEERCRED: the user that connected, whatever it became since (unix(7)). */
static void read_peer(int fd, struct http_peer *peer) {
    struct ucred who;
    socklen_t size = sizeof who;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0 || who.pid == 0)
        return;
    peer->has_user = true;
    peer->user = who.uid;
}

void connection_open_take(struct http_server *server, int fd, bool over_tcp, bool turned_away) {
    struct connection *connection = create(server, fd);
    connection->turned_away = turned_away;
    enter(connection);
    connection->transport.is_local = !over_tcp;
    if (!over_tcp)
        read_peer(fd, &connection->peer);
    if (over_tcp && server->tls)
        connection_begin_handshake(connection);
    else
        connection_begin_requests(connection);
    leave(connection);
    handshake_make_room(server);
}

/* What has come is read, or closing would be a reset, in which the peer loses the close frame. */
static void say_goodbye(struct connection *connection) {
    ws_say_goodbye(connection->ws);
    transport_end(&connection->transport);
    shutdown(connection->fd, SHUT_WR);
    transport_discard(&connection->transport, connection->server->scratch, SCRATCH_SIZE);
}

void connection_destroy(struct connection *connection) {
    enter(connection); /* asserts that no owner is on the stack */
    if (connection->state == STATE_WEBSOCKET)
        say_goodbye(connection);
    if (connection->state != STATE_CLOSED)
        connection_drop(connection);
    free_connection(connection);
}
