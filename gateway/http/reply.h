/* reply - the head of an answer, as text. */
#pragma once

#include "base/text.h"
#include "http/refusal.h"
#include "http/server.h"

struct answer {
    int status;
    const struct http_header *headers;
    size_t header_count;
    const char *lines; /* more headers, each with its CRLF; may be NULL */
    const char *added; /* likewise, what http_request_add_header gave */
};

void reply_append_head(struct text *head, struct http_server *server, const struct answer *answer);
/* The whole answer to a request that is not served: JSON, and the connection closes behind it. */
void reply_append_refusal(struct text *message, struct http_server *server,
                          const struct refusal *refusal, const char *added, bool with_body);
struct http_request;
/* Tells the owner of a stream that it may go on, where it was told to wait. */
void reply_tell_drained(struct http_request *request, size_t queued);
