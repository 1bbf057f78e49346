/* auth - may this request be answered? The connection itself may say who is there: a client
 * certificate that was verified, or over a unix socket a user who is let in. Else a token is shown
 * in one of four forms, and one that is right is enough: Authorization: token X     or Bearer X, in
 * any letter case, with any blanks between ?token=X                   percent-encoded /t/X/api/...
 * a path prefix, for clients that send no headers (GatewayKernelClient) An empty token counts as
 * none: clients send "Authorization: token " and
 * "?token=" unasked. Sources: contract jupyter.md 1.2-1.4. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/slice.h"

struct http_request;

struct auth {
    struct slice base;  /* what every path begins with, without a slash at its end; may be empty */
    struct slice token; /* must not be empty, unless is_open */
    bool is_open;       /* answer everyone */
    bool any_page;      /* web pages of anybody are answered, if they show the token */
    const uid_t *users; /* who need no token over a unix socket */
    size_t user_count;
};

/* Plain words, so that every face can put them into its own form of error. */
struct auth_answer {
    int status;          /* 0: go on. 401: no token was shown. 403: none of those shown is right */
    const char *message; /* a sentence for the client; NULL where status is 0 */
    struct slice path;   /* the request's path without base and the token's prefix; begins with one
                          * "/"; absent where it is not below base */
};

/* The path lives as long as the request. */
struct auth_answer auth_check(const struct auth *auth, const struct http_request *request);
