/* jupyter - the Jupyter face: REST and WebSocket as jupyter_server's clients know them.
 * Source: jupyter_server's REST API; what real clients demand of it is in docs/jupyter.md. */
#pragma once

#include "http/http.h"
#include "session/kernels.h"
#include "session/parameters.h"
#include "session/specs.h"

struct auth;
struct loop;
struct jupyter;

struct jupyter_context {
    struct loop *loop;
    const struct auth *auth;
    const struct params *params;
    const struct specs *specs; /* as the warden tells them; may change between requests */
    const struct parameters_context *parameters;
    struct kernels *kernels;
    /* How many connections of HTTP are open, for GET /api/status. */
    unsigned (*connections)(void *context);
    void *connections_context;
};

struct jupyter *jupyter_create(const struct jupyter_context *context);
/* Every request and WebSocket of it must be over: after http_server_destroy. */
void jupyter_destroy(struct jupyter *jupyter);
/* For struct http_handler; context is the struct jupyter. */
void jupyter_on_request(void *context, struct http_request *request);
void jupyter_on_refusal(void *context, struct http_request *request);
