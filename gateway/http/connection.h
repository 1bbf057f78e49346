/* connection - one client: requests one after another, perhaps a WebSocket, and the end.
 *
 * The owner of a request or WebSocket is called from connection.c's entries alone (on_readable,
 * on_writable, on_time, on_kick), never from within a call of its own; what such a call finds out
 * (a broken socket, the next pipelined request) is done by a kick in the same turn of the loop. */
#pragma once

#include "base/list.h"
#include "http/inbox.h"
#include "http/outbox.h"
#include "http/refusal.h"
#include "http/server.h"
#include "http/transport.h"

enum connection_state {
    STATE_HANDSHAKE, /* of TLS */
    STATE_HEAD,      /* between two requests, or in a head */
    STATE_BODY,      /* in a body */
    STATE_HANDLER,   /* the request is the handler's */
    STATE_WRITING,   /* answered, but the answer is not all sent */
    STATE_WEBSOCKET, /* ws.c */
    STATE_LINGER,    /* nothing more is sent; what comes is thrown away until the peer closes */
    STATE_CLOSED     /* freed when the entry is left */
};

struct connection {
    struct http_server *server;
    struct list link;
    int fd;
    struct transport transport;
    struct http_peer peer;
    char *peer_name; /* of a handshake; else NULL */
    struct event *readable, *writable;
    struct loop_timer *timer, *kick;
    enum connection_state state;
    bool entered;          /* one of the entries is on the stack */
    bool reading, writing; /* which events are armed */
    bool has_more;         /* of what was received, for the next turn */
    bool broken;           /* the socket failed */
    bool finished;         /* the peer will send nothing more */
    bool close_after;      /* the answer, or the close frame */
    bool turned_away;      /* there are too many: said once TLS is there */
    int64_t stall_ms;      /* how long the peer may take none of what waits for it */
    struct inbox inbox;
    struct outbox outbox;
    struct http_request *request; /* the one being read or answered */
    struct ws *ws;
};

/* Takes fd. over_tcp: with TLS where the server has it. turned_away: the client is only told that
 * there are too many. */
void connection_open_take(struct http_server *server, int fd, bool over_tcp, bool turned_away);
/* Ends it now, with the owners told. Never from within one of their calls. */
void connection_destroy(struct connection *connection);

/* -- for reply.c and ws.c --------------------------------------------------------------------- */

/* Returns the bytes that wait. A socket that is broken takes nothing. */
size_t connection_send(struct connection *connection, const struct piece *pieces, size_t count);
/* Goes on with whatever can be done, from the loop. */
void connection_kick(struct connection *connection);
void connection_close_after_answer(struct connection *connection);
bool connection_will_close(const struct connection *connection);
/* The request was answered; it is freed. */
void connection_end_answer(struct connection *connection, struct http_request *request);
/* The request was answered by 101; it is freed. */
void connection_become_websocket(struct connection *connection, struct ws *ws);
/* The WebSocket is over: sends what waits, then closes. */
void connection_end_websocket(struct connection *connection);
void connection_set_timer(struct connection *connection, int64_t after_ms);
/* Marks it as broken; the rest is done by a kick. */
void connection_break(struct connection *connection);
