/* request - a request from its first byte to the last of its answer. */
#pragma once

#include "base/list.h"
#include "http/http.h"
#include "http/parser.h"

struct connection;

struct http_request {
    struct connection *connection;
    struct parser parser;
    void *context;
    void (*on_gone)(void *context);
    size_t body_counted; /* of the body, in server.h's bodies */
    struct text added;   /* header lines for its answer */
    struct list joined;  /* values of headers that came more than once and were asked for */
    /* An answer in pieces: */
    bool begun, chunked, bodiless, above_mark;
    struct http_stream_events events;
};

struct http_request *request_create(struct connection *connection,
                                    const struct http_limits *limits);
void request_destroy(struct http_request *request);
/* Tells the owner that the client is gone, in the way it asked for. */
void request_tell_gone(struct http_request *request);
