/* face - the Jupyter face without a network: requests and WebSockets of the test's own in the place
 * of the http room's, in front of the session room with its played warden and kernels. */
#pragma once

#include "../session/played.h"
#include "../session/rig.h"
#include "auth/auth.h"
#include "http/http.h"
#include "jupyter/jupyter.h"

#include <jansson.h>

struct face {
    struct rig rig;
    struct data_names data; /* "sets" is folder 0, "books" folder 3 */
    struct parameters_context parameters;
    struct specs specs;
    struct auth auth;
    struct jupyter *jupyter;
};

/* What the http room would make of a client's request. */
struct http_request {
    const char *method, *path, *query, *authorization, *subprotocols, *user_agent, *origin, *host,
        *if_none_match; /* NULL: absent */
    struct slice body;
    bool is_websocket;
    void *context;
    void (*on_gone)(void *context);
    /* The answer. */
    struct text added; /* like headers */
    int answers, status;
    char *headers; /* "Name: value\n" each */
    struct bytes *content;
    json_t *json; /* of content, where it is JSON */
    struct ws *ws;
};

struct ws {
    struct ws_events events;
    char *subprotocol;
    struct text sent; /* "text " or "binary ", and the payload, a line each */
    unsigned count;
    size_t unacknowledged; /* bytes of sent */
    int code;              /* of ws_close; 0: open */
    char reason[128];
};

void face_begin(struct face *face);
void face_end(struct face *face);
/* Tells the face a kernelspec with these files beside its kernel.json; NULL ends them. */
void face_add_spec(struct face *face, const char *name, ...);
/* Tells it one whose kernel.json has this metadata.cellblock. */
void face_add_spec_with(struct face *face, const char *name, const char *parameters);

/* Hands a request over; answered by now where request->answers is 1. body may be NULL. */
void ask(struct face *face, struct http_request *request, const char *method, const char *path,
         const char *body);
/* The same with all of request filled in. */
void ask_whole(struct face *face, struct http_request *request);
/* The client leaves. */
void request_leave(struct http_request *request);
/* Frees what the answer holds. */
void request_finish(struct http_request *request);
/* A string of the JSON answer, "" where it is none. */
const char *answer_text(const struct http_request *request, const char *name);
/* Whether status and code are those of an error in the one form that errors have. */
void expect_error(const struct http_request *request, int status, const char *code);

/* Sends a frame to the face; the peer closes. */
void ws_receive(struct ws *ws, struct slice payload, bool binary);
void ws_leave(struct ws *ws);
