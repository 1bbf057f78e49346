/* connection - the state table below is the whole life of a connection. */
#include "http/connection.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "http/reply.h"
#include "http/request.h"
#include "http/ws.h"
#include "loop/loop.h"

enum {
    PIPELINE_MAX = 64 * 1024, /* read ahead while a request is being answered */
    STEPS_PER_TURN = 64,      /* requests or frames of one connection before others have theirs */
    LINGER_MS = 5000,
    /* Of all bodies in memory together: so many times the largest one. A small body is taken even
     * when large ones have used that up. */
    BODIES_FACTOR = 8,
    SMALL_BODY = 64 * 1024,
};

/* Each is called from an entry alone. */
struct step {
    /* Does what can be done with what has been received; true when there may be more to do. */
    bool (*advance)(struct connection *);
    /* The peer sent its last byte, and advance has nothing more to do. */
    void (*finish)(struct connection *);
    void (*time_out)(struct connection *);
};
static const struct step steps[];

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

size_t connection_send(struct connection *connection, const struct piece *pieces, size_t count) {
    if (connection->broken || connection->state == STATE_CLOSED)
        return 0;
    if (outbox_send(&connection->outbox, pieces, count) < 0)
        connection_break(connection);
    size_t queued = outbox_size(&connection->outbox);
    if (queued && !connection->writing) {
        event_add(connection->writable, NULL);
        connection->writing = true;
        watch_stall(connection);
    }
    return queued;
}

void connection_close_after_answer(struct connection *connection) {
    connection->close_after = true;
}

bool connection_will_close(const struct connection *connection) {
    return connection->close_after;
}

static void set_state(struct connection *connection, enum connection_state state) {
    connection->state = state;
    loop_timer_stop(connection->timer);
}

static void drop_request(struct connection *connection) {
    if (connection->request)
        connection->server->bodies -= connection->request->body_counted;
    request_destroy(connection->request);
    connection->request = NULL;
}

static void begin_writing(struct connection *connection) {
    set_state(connection, STATE_WRITING);
    watch_stall(connection);
    connection_kick(connection);
}

void connection_end_answer(struct connection *connection, struct http_request *request) {
    if (connection->state == STATE_CLOSED)
        return; /* from within on_gone */
    assert(connection->state == STATE_HANDLER && connection->request == request);
    drop_request(connection);
    begin_writing(connection);
}

void connection_become_websocket(struct connection *connection, struct ws *ws) {
    drop_request(connection);
    connection->ws = ws;
    set_state(connection, STATE_WEBSOCKET);
    connection_kick(connection);
}

void connection_end_websocket(struct connection *connection) {
    connection->ws = NULL;
    connection->close_after = true;
    begin_writing(connection);
}

/* Tells the owner, who may ask what the peer has acknowledged, and closes the socket. */
static void drop(struct connection *connection) {
    enum connection_state before = connection->state;
    set_state(connection, STATE_CLOSED);
    event_del(connection->readable);
    event_del(connection->writable);
    if (before == STATE_HANDLER)
        request_tell_gone(connection->request);
    if (before == STATE_WEBSOCKET)
        ws_tell_gone(connection->ws);
    connection->ws = NULL;
    close(connection->fd);
}

/* Likewise, and what the peer has not acknowledged is not sent any more: the owner may have counted
 * it as lost, and say it again elsewhere. */
static void drop_unsent(struct connection *connection) {
    static const struct linger at_once = {.l_onoff = 1};
    if (outbox_acknowledged(&connection->outbox) < connection->outbox.handed)
        setsockopt(connection->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    drop(connection);
}

static void free_connection(struct connection *connection) {
    list_remove(&connection->link);
    connection->server->open--;
    drop_request(connection);
    inbox_finish(&connection->inbox);
    outbox_finish(&connection->outbox);
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

/* Answers with the refusal as JSON; the connection closes behind it. */
static void turn_down(struct connection *connection, const struct refusal *refusal) {
    struct text body = {0}, lines = {0}, head = {0};
    text_append_format(&body,
                       "{\"reason\": \"%s\", \"message\": ", http_status_phrase(refusal->status));
    text_append_json_string(&body, slice_from_text(refusal->message));
    text_append_format(&body, ", \"code\": \"%s\"}\n", refusal->code);
    text_append_format(&lines,
                       "Connection: close\r\nContent-Type: application/json\r\n"
                       "Content-Length: %zu\r\n%s",
                       body.size, refusal->header ? refusal->header : "");
    struct answer answer = {
        .status = refusal->status, .lines = lines.data, .added = added_headers(connection)};
    reply_append_head(&head, connection->server, &answer);
    struct piece pieces[] = {{text_slice(&head), NULL}, {text_slice(&body), NULL}};
    connection->close_after = true;
    connection_send(connection, pieces, is_head_request(connection->request) ? 1 : 2);
    text_finish(&body);
    text_finish(&lines);
    text_finish(&head);
    drop_request(connection);
    begin_writing(connection);
}

/* -- the steps -------------------------------------------------------------------------------- */

static void hand_over(struct connection *connection) {
    set_state(connection, STATE_HANDLER);
    const struct http_handler *handler = &connection->server->handler;
    connection->close_after = !connection->request->parser.keep_alive;
    handler->on_request(handler->context, connection->request);
}

static void begin_body(struct connection *connection) {
    set_state(connection, STATE_BODY);
    connection_set_timer(connection, connection->server->limits.body_ms);
    if (connection->request->parser.wants_continue && inbox_size(&connection->inbox) == 0)
        connection_send(connection,
                        &(struct piece){SLICE_LITERAL("HTTP/1.1 100 Continue\r\n\r\n"), NULL}, 1);
}

/* False where strangers together send more than fits. */
static bool count_body(struct connection *connection) {
    struct http_server *server = connection->server;
    struct http_request *request = connection->request;
    size_t size = request->parser.body.size, most = server->limits.body;
    server->bodies += size - request->body_counted;
    request->body_counted = size;
    if (size <= SMALL_BODY || server->bodies / BODIES_FACTOR <= most)
        return true;
    struct refusal refusal;
    refuse(&refusal, 503, "too_many_bodies",
           "All bodies together are larger than %d times http_body_bytes = %zu.", BODIES_FACTOR,
           most);
    turn_down(connection, &refusal);
    return false;
}

static bool feed(struct connection *connection) {
    size_t consumed;
    struct parser *parser = &connection->request->parser;
    enum parser_state state = parser_feed(parser, inbox_slice(&connection->inbox), &consumed);
    inbox_consume(&connection->inbox, consumed);
    if (!count_body(connection))
        return true;
    if (state == PARSER_HEAD)
        begin_body(connection);
    else if (state == PARSER_DONE)
        hand_over(connection);
    else if (state == PARSER_REFUSED)
        turn_down(connection, &parser->refusal);
    return state != PARSER_MORE;
}

static bool advance_head(struct connection *connection) {
    if (inbox_size(&connection->inbox) == 0)
        return false;
    if (!connection->request) {
        connection->request = request_create(connection, &connection->server->limits);
        connection_set_timer(connection, connection->server->limits.head_ms);
    }
    return feed(connection);
}

static bool advance_body(struct connection *connection) {
    if (inbox_size(&connection->inbox) == 0)
        return false;
    connection_set_timer(connection, connection->server->limits.body_ms);
    return feed(connection);
}

static bool wait_for_others(struct connection *connection) {
    (void)connection;
    return false;
}

static void begin_linger(struct connection *connection) {
    shutdown(connection->fd, SHUT_WR);
    set_state(connection, STATE_LINGER);
    connection_set_timer(connection, LINGER_MS);
}

static bool advance_writing(struct connection *connection) {
    if (outbox_size(&connection->outbox))
        return false;
    if (connection->close_after) {
        begin_linger(connection);
    } else {
        set_state(connection, STATE_HEAD);
        connection_set_timer(connection, connection->server->limits.idle_ms);
    }
    return true;
}

static bool advance_websocket(struct connection *connection) {
    return ws_advance(connection->ws);
}

static bool advance_linger(struct connection *connection) {
    inbox_consume(&connection->inbox, inbox_size(&connection->inbox));
    return false;
}

static void finish_request(struct connection *connection) {
    if (!connection->request)
        return drop(connection);
    struct refusal refusal;
    refuse(&refusal, 400, "incomplete_request", "The connection ended within the request.");
    turn_down(connection, &refusal);
}

static void finish_later(struct connection *connection) {
    (void)connection;
}

static void time_out_head(struct connection *connection) {
    if (!connection->request)
        return drop(connection); /* idle */
    struct refusal refusal;
    refuse(&refusal, 408, "head_timeout", "The head took longer than http_head_ms = %lld ms.",
           (long long)connection->server->limits.head_ms);
    turn_down(connection, &refusal);
}

static void time_out_body(struct connection *connection) {
    struct refusal refusal;
    refuse(&refusal, 408, "body_timeout", "The body came to a halt for http_body_ms = %lld ms.",
           (long long)connection->server->limits.body_ms);
    turn_down(connection, &refusal);
}

static void time_out_websocket(struct connection *connection) {
    ws_time_out(connection->ws);
}

/* What the owner has not let in yet is not lost: the next ping will find out that nobody is there.
 */
static void finish_websocket(struct connection *connection) {
    if (ws_wants_input(connection->ws))
        drop_unsent(connection);
}

static const struct step steps[] = {
    [STATE_HEAD] = {advance_head, finish_request, time_out_head},
    [STATE_BODY] = {advance_body, finish_request, time_out_body},
    [STATE_HANDLER] = {wait_for_others, finish_later, drop},
    [STATE_WRITING] = {advance_writing, finish_later, drop},
    [STATE_WEBSOCKET] = {advance_websocket, finish_websocket, time_out_websocket},
    [STATE_LINGER] = {advance_linger, drop, drop},
};

/* -- the entries ------------------------------------------------------------------------------ */

static bool step_once(struct connection *connection) {
    enum connection_state before = connection->state;
    bool more = steps[before].advance(connection) || connection->state != before;
    if (!more && connection->finished) {
        steps[before].finish(connection);
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
        drop_unsent(connection);
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

static void update_reading(struct connection *connection) {
    bool wanted = !connection->finished && !connection->has_more && wants_input(connection);
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
}

static void on_readable(evutil_socket_t fd, short what, void *argument) {
    (void)what;
    struct connection *connection = argument;
    enter(connection);
    size_t needed = connection->state == STATE_WEBSOCKET ? ws_bytes_needed(connection->ws) : 0;
    ssize_t got = inbox_receive(&connection->inbox, fd, connection->server->scratch, needed);
    if (got == 0)
        connection->finished = true;
    else if (got < 0 && got != -EAGAIN)
        connection->broken = true;
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
    else if (sent > 0)
        watch_progress(connection);
    if (!connection->broken)
        tell_drained(connection);
    leave(connection);
}

static void on_time(void *argument) {
    struct connection *connection = argument;
    enter(connection);
    steps[connection->state].time_out(connection);
    leave(connection);
}

static void on_kick(void *argument) {
    struct connection *connection = argument;
    enter(connection);
    leave(connection);
}

/* -- beginning and end ------------------------------------------------------------------------ */

static struct connection *create(struct http_server *server, int fd) {
    struct connection *connection = mem_zalloc(1, sizeof *connection);
    connection->server = server;
    connection->fd = connection->outbox.fd = fd;
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

void connection_open_take(struct http_server *server, int fd) {
    struct connection *connection = create(server, fd);
    connection_set_timer(connection, server->limits.idle_ms);
    update_reading(connection);
}

void connection_turn_away_take(struct http_server *server, int fd) {
    struct connection *connection = create(server, fd);
    struct refusal refusal;
    refuse(&refusal, 503, "too_many_connections", "More than http_connections = %u are open.",
           server->limits.connections);
    enter(connection);
    turn_down(connection, &refusal);
    leave(connection);
}

/* What has come is read, or closing would be a reset, in which the peer loses the close frame. */
static void say_goodbye(struct connection *connection) {
    ws_say_goodbye(connection->ws);
    shutdown(connection->fd, SHUT_WR);
    recv(connection->fd, connection->server->scratch, SCRATCH_SIZE, MSG_DONTWAIT);
}

void connection_destroy(struct connection *connection) {
    enter(connection); /* asserts that no owner is on the stack */
    if (connection->state == STATE_WEBSOCKET)
        say_goodbye(connection);
    if (connection->state != STATE_CLOSED)
        drop(connection);
    free_connection(connection);
}
