/* server - what all connections of one server share. */
#pragma once

#include <time.h>

#include "base/list.h"
#include "http/http.h"

enum { DATE_SIZE = 30 };

struct http_server {
    struct loop *loop;
    struct http_limits limits;
    struct http_handler handler;
    struct list listeners, connections; /* the latter in the order in which they came */
    unsigned open;                      /* connections */
    unsigned handshakes;                /* of them, those in STATE_HANDSHAKE */
    struct ssl_ctx_st *tls;             /* NULL: plain */
    size_t bodies;                      /* bytes of requests' bodies in memory */
    struct loop_timer *accept_again;    /* after the descriptors ran out */
    uint8_t *scratch;                   /* inbox.h */
    struct ws_deflate *deflate;
    time_t date_at;
    char date[DATE_SIZE]; /* as of date_at */
};

/* "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110 section 5.6.7). */
const char *server_date(struct http_server *server);
