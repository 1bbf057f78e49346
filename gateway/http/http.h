/* http - HTTP/1.1 and WebSocket servers on the event loop. Has never heard of Jupyter.
 *
 * A request is handed to the handler when its head is whole and, unless the handler asked for a
 * stream, its body too. The handler answers now or later, exactly once; requests of one connection
 * are answered in order (the next is not parsed before). A request whose client leaves is told by
 * on_gone and must not be answered any more.
 * Sources: RFC 9110, RFC 9112, RFC 6455; contract http-front.md for what llhttp leaves open. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/slice.h"

struct loop;
struct http_server;
struct http_request;
struct ws;

/* Everything a stranger can grow. Sizes in bytes, times in milliseconds. */
struct http_limits {
    size_t head;           /* request line and headers: 431 */
    unsigned headers;      /* count of them: 431 */
    size_t body;           /* whole bodies: 413 */
    unsigned connections;  /* open at once: 503 and closed */
    int64_t head_ms;       /* from the first byte to the end of the head: 408 */
    int64_t body_ms;       /* without any byte of a body that is still coming: 408 */
    int64_t idle_ms;       /* keep-alive between requests: closed */
    size_t ws_message;     /* one WebSocket message, all fragments: 1009 */
    unsigned ws_fragments; /* of one message: 1009 */
    size_t ws_queue;       /* bytes queued towards one WebSocket: 1013 */
    size_t ws_deflate;     /* the smallest message that is compressed; 0: the offer is declined */
    int64_t ws_ping_ms;    /* a ping every so often, 0: none; a silent peer is not closed for it */
    int64_t ws_dead_ms;    /* how long nothing of what is under way may be acknowledged: dropped */
    int64_t ws_close_ms;   /* how long the peer may take to answer a close */
    int64_t tls_handshake_ms; /* from the connection to the handshake's end: closed */
    unsigned tls_handshakes;  /* under way at once: past it the oldest is closed */
};

/* PEM, as from files. */
struct http_tls {
    struct slice certificates;       /* the server's own, then its chain */
    struct slice key;                /* .data NULL: it stands with the certificates */
    struct slice client_authorities; /* .data NULL: clients are not asked for a certificate */
    bool client_must;                /* who shows none is turned away */
};

/* Who is at the other end, as far as the connection itself tells. */
struct http_peer {
    char *subject; /* of a client certificate that was verified (RFC 2253); NULL: none */
    bool has_user; /* over a unix socket */
    uid_t user;
};

struct http_handler {
    /* The request is the server's; it lives until it is answered or gone. */
    void (*on_request)(void *context, struct http_request *request);
    /* A TLS handshake came to nothing (may be NULL). peer is "HOST:PORT", why a sentence. */
    void (*on_handshake_failed)(void *context, const char *peer, const char *why);
    void *context;
    /* The server itself is about to refuse a request whose head is whole: the owner may add headers
     * and must do nothing else. May be NULL. */
    void (*on_refusal)(void *context, struct http_request *request);
};

struct http_server *http_server_create(struct loop *loop, const struct http_limits *limits,
                                       const struct http_handler *handler);
/* Takes over a bound socket and listens on it: the moment from which requests are answered. */
int http_server_listen_take(struct http_server *server, int fd, struct err *err);
/* From now on connections over TCP are TLS connections with these; those that are open keep theirs.
 * -EINVAL with a sentence where they are no use, and all stays as it was. Over unix sockets there
 * is no TLS. */
int http_server_use_tls(struct http_server *server, const struct http_tls *tls, struct err *err);
/* Closes the listeners and every connection (WebSockets with 1012), at once; owners are told. Not
 * to be called from within an owner's callback. */
void http_server_destroy(struct http_server *server);
/* How many connections are open, WebSockets included. */
unsigned http_server_connections(const struct http_server *server);

/* -- a request; slices live as long as it ---------------------------------------------------- */

struct slice http_request_method(const struct http_request *request);
/* The path as sent, percent-encoded, without the query; begins with "/". */
struct slice http_request_path(const struct http_request *request);
/* Behind "?", without it; .data NULL where there is none. */
struct slice http_request_query(const struct http_request *request);
/* The value of a header, blanks trimmed; .data NULL where it is absent. Several of the same name
 * are joined by ", " (RFC 9110 section 5.3). */
struct slice http_request_header(const struct http_request *request, const char *name);
struct slice http_request_body(const struct http_request *request);
/* Lives as long as the request. */
const struct http_peer *http_request_peer(const struct http_request *request);
/* True where the request asks for a WebSocket in the form of RFC 6455 section 4.2.1. */
bool http_request_is_websocket(const struct http_request *request);

/* The caller's pointer, and what to call when the client leaves before the answer. One that only
 * closed its half still waits: over TCP a closed connection shows as such when something is sent.
 */
void http_request_set_context(struct http_request *request, void *context,
                              void (*on_gone)(void *context));
void *http_request_context(const struct http_request *request);

/* Percent-decodes one path segment or query value (plus stays plus in a path). 0, or -EINVAL for a
 * bad escape or a NUL. ret_text (owned) is NUL-terminated. */
int http_percent_decode(struct slice encoded, bool plus_is_blank, char **ret_text);
/* The decoded value of a query parameter (owned), the first of that name; NULL where absent or not
 * decodable. */
char *http_query_get(struct slice query, const char *name);

/* -- an answer -------------------------------------------------------------------------------- */

struct http_header {
    const char *name, *value;
};

/* "Not Found" for 404; "Unknown" where a status has no phrase. */
const char *http_status_phrase(int status);

/* Adds a header to whatever answers the request, which is still to be answered. */
void http_request_add_header(struct http_request *request, const char *name, const char *value);

/* Answers whole. Content-Length, Date, Connection are set here; HEAD and 204/304 send no body.
 * body is referenced, not taken; NULL is empty. */
void http_reply(struct http_request *request, int status, const struct http_header *headers,
                size_t header_count, struct bytes *body);

/* Answers in pieces, chunked for HTTP/1.1: begin, any number of chunks, end. */
struct http_stream_events {
    void (*on_drained)(void *context); /* the queue fell below the low mark again */
    void (*on_gone)(void *context);    /* the client left; the stream must not be used any more */
    void *context;
};
void http_reply_begin(struct http_request *request, int status, const struct http_header *headers,
                      size_t header_count, const struct http_stream_events *events);
/* Returns the bytes queued towards the client: above 256 KiB the caller waits for on_drained. */
size_t http_reply_chunk(struct http_request *request, struct bytes *chunk);
void http_reply_end(struct http_request *request);

/* -- WebSocket -------------------------------------------------------------------------------- */

struct ws_events {
    /* payload is unmasked in place and lives for this call; text is valid UTF-8. */
    void (*on_message)(void *context, struct slice payload, bool binary);
    /* The last call, always made exactly once. The code is that of the side that began to close;
     * 1006 where neither did, 1005 where the peer gave none. */
    void (*on_close)(void *context, uint16_t code, struct slice reason);
    /* The queue towards the peer is empty again (may be NULL). */
    void (*on_drained)(void *context);
    void *context;
};

/* Answers 101 at once and turns the connection into a WebSocket. subprotocol is NULL or one that
 * the client offered (http_request_header "Sec-WebSocket-Protocol"). The request ends here. */
struct ws *ws_accept(struct http_request *request, const char *subprotocol,
                     const struct http_header *headers, size_t header_count,
                     const struct ws_events *events);
/* One write per frame, TCP_NODELAY. payload is referenced, not copied. Returns the bytes queued; a
 * queue above limits.ws_queue closes with 1013 and a reason that names the limit. After a close,
 * nothing is sent and 0 returned. */
size_t ws_send(struct ws *ws, struct bytes *payload, bool binary);
/* Likewise, for a message that goes to several: *packed, NULL at first, is what was made of it
 * where clients agreed on compression, so that it is made once; the caller drops that reference. */
size_t ws_send_shared(struct ws *ws, struct bytes *payload, bool binary, struct bytes **packed);
/* Bytes queued towards the peer, not taken by its socket yet. */
size_t ws_queued(const struct ws *ws);
/* Where in the stream to the peer the frame of the last ws_send ends; UINT64_MAX where it was not
 * sent. The peer's TCP has acknowledged that frame whole when ws_acknowledged is no smaller; that
 * may be asked until on_close returns. */
uint64_t ws_position(const struct ws *ws);
uint64_t ws_acknowledged(const struct ws *ws);
/* Begins the closing handshake; on_close follows. reason may be NULL and is cut to 123 bytes at a
 * character. */
void ws_close(struct ws *ws, uint16_t code, const char *reason);
/* While paused nothing is read from the peer (backpressure). */
void ws_pause(struct ws *ws, bool paused);
