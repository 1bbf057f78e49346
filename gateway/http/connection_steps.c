/* connection_steps - the state table, at the end of this file, is the whole life of a connection.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>

#include "http/connection_parts.h"
#include "http/handshake.h"
#include "http/request.h"
#include "http/tls.h"
#include "http/ws.h"

enum {
    LINGER_MS = 5000,
    /* Of all bodies in memory together: so many times the largest one. A small body is taken even
     * when large ones have used that up. */
    BODIES_FACTOR = 8,
    SMALL_BODY = 64 * 1024,
};

static void begin_linger(struct connection *connection) {
    shutdown(connection->fd, SHUT_WR);
    connection_set_state(connection, STATE_LINGER);
    connection_set_timer(connection, LINGER_MS);
}

void connection_begin_requests(struct connection *connection) {
    connection_set_state(connection, STATE_HEAD);
    connection_set_timer(connection, connection->server->limits.idle_ms);
    if (!connection->turned_away)
        return;
    struct refusal refusal;
    refuse(&refusal, 503, "too_many_connections", "More than http_connections = %u are open.",
           connection->server->limits.connections);
    connection_turn_down(connection, &refusal);
}

void connection_begin_handshake(struct connection *connection) {
    const struct http_server *server = connection->server;
    connection->transport.tls = tls_create(server->tls, connection->fd);
    connection->peer_name = handshake_name_peer(connection->fd);
    connection_set_state(connection, STATE_HANDSHAKE);
    connection_set_timer(connection, server->limits.tls_handshake_ms);
}

static bool advance_handshake(struct connection *connection) {
    if (!tls_is_ready(connection->transport.tls))
        return false;
    connection->peer.subject = tls_subject(connection->transport.tls);
    connection_begin_requests(connection);
    return true;
}

static void give_up_handshake(struct connection *connection, const char *why) {
    handshake_report(connection, why);
    connection_drop(connection);
}

static void finish_handshake(struct connection *connection) {
    give_up_handshake(connection, "the client left");
}

static void time_out_handshake(struct connection *connection) {
    char why[80];
    snprintf(why, sizeof why, "it took longer than tls_handshake_ms = %lld ms",
             (long long)connection->server->limits.tls_handshake_ms);
    give_up_handshake(connection, why);
}

void connection_refuse_plain(struct connection *connection) {
    struct refusal refusal;
    tls_destroy(connection->transport.tls);
    connection->transport.tls = NULL;
    connection_set_state(connection, STATE_HEAD);
    refuse(&refusal, 400, "tls_needed", "This port speaks TLS alone: its URL begins with https.");
    connection_turn_down(connection, &refusal);
}

static void hand_over(struct connection *connection) {
    connection_set_state(connection, STATE_HANDLER);
    const struct http_handler *handler = &connection->server->handler;
    connection->close_after = !connection->request->parser.keep_alive;
    handler->on_request(handler->context, connection->request);
}

static void begin_body(struct connection *connection) {
    connection_set_state(connection, STATE_BODY);
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
    connection_turn_down(connection, &refusal);
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
        connection_turn_down(connection, &parser->refusal);
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

static bool advance_writing(struct connection *connection) {
    if (connection->close_after && outbox_size(&connection->outbox) == 0)
        transport_end(&connection->transport);
    if (outbox_size(&connection->outbox))
        return false;
    if (connection->close_after) {
        begin_linger(connection);
    } else {
        connection_set_state(connection, STATE_HEAD);
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
        return connection_drop(connection);
    struct refusal refusal;
    refuse(&refusal, 400, "incomplete_request", "The connection ended within the request.");
    connection_turn_down(connection, &refusal);
}

static void finish_later(struct connection *connection) {
    (void)connection;
}

static void time_out_head(struct connection *connection) {
    if (!connection->request)
        return connection_drop(connection); /* idle */
    struct refusal refusal;
    refuse(&refusal, 408, "head_timeout", "The head took longer than http_head_ms = %lld ms.",
           (long long)connection->server->limits.head_ms);
    connection_turn_down(connection, &refusal);
}

static void time_out_body(struct connection *connection) {
    struct refusal refusal;
    refuse(&refusal, 408, "body_timeout", "The body came to a halt for http_body_ms = %lld ms.",
           (long long)connection->server->limits.body_ms);
    connection_turn_down(connection, &refusal);
}

static void time_out_websocket(struct connection *connection) {
    ws_time_out(connection->ws);
}

/* What the owner has not let in yet is not lost: the next ping will find out that nobody is there.
 */
static void finish_websocket(struct connection *connection) {
    if (ws_wants_input(connection->ws))
        connection_drop_unsent(connection);
}

const struct step connection_steps[] = {
    [STATE_HANDSHAKE] = {advance_handshake, finish_handshake, time_out_handshake},
    [STATE_HEAD] = {advance_head, finish_request, time_out_head},
    [STATE_BODY] = {advance_body, finish_request, time_out_body},
    [STATE_HANDLER] = {wait_for_others, finish_later, connection_drop},
    [STATE_WRITING] = {advance_writing, finish_later, connection_drop},
    [STATE_WEBSOCKET] = {advance_websocket, finish_websocket, time_out_websocket},
    [STATE_LINGER] = {advance_linger, connection_drop, connection_drop},
};

void connection_note_failure(struct connection *connection, int error) {
    if (connection->state != STATE_HANDSHAKE) {
        connection->broken = true;
    } else if (error == -EPROTO) {
        handshake_report(connection, tls_trouble(connection->transport.tls));
        begin_linger(connection); /* the client shall read our alert */
    } else {
        finish_handshake(connection);
    }
}
