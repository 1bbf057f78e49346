/* exchange - one request on its way through the face: what routes.def's handlers get. */
#pragma once

#include <jansson.h>

#include "config/params.h"
#include "http/http.h"
#include "jupyter/jupyter.h"

enum { ROUTE_ARGUMENTS_MAX = 2 };

struct session_table;

struct jupyter {
    struct jupyter_context context;
    struct session_table *sessions;
    int64_t started_us;
};

struct exchange {
    struct jupyter *jupyter;
    struct http_request *request;
    const char *arguments[ROUTE_ARGUMENTS_MAX]; /* the decoded {…} segments of the path */
};

/* What stands before every path that is told to a client. */
static inline const char *base_url_of(const struct exchange *exchange) {
    return exchange->jupyter->context.params->base_url;
}

/* Answers with a JSON value, which is taken over. One more header may be NULL. */
void reply_json(struct http_request *request, int status, json_t *value,
                const struct http_header *more);
/* {"reason", "message", "code"}: reason is HTTP's phrase for the status, code is stable, message a
 * sentence, which may repeat what a stranger sent. Gateway clients read reason and message,
 * JupyterLab message. */
__attribute__((format(printf, 3, 4))) json_t *error_value(int status, const char *code,
                                                          const char *format, ...);
/* Answers with such a value. */
__attribute__((format(printf, 4, 5))) void reply_error(struct http_request *request, int status,
                                                       const char *code, const char *format, ...);
/* 204 */
void reply_nothing(struct http_request *request);
/* 404 where there is no such kernel, which is NULL then. */
struct kernel *find_kernel(const struct exchange *exchange);
/* One kernel as clients want it: last_activity with fraction and Z, connections as a number. */
json_t *kernel_model(struct kernel *kernel);

/* The kernel whose id a body names, a JSON string; NULL where there is none, or no string. */
struct kernel *find_kernel_of(const struct exchange *exchange, const json_t *id);

/* Which kernel a body wants, beside its members env and cellblock. */
struct kernel_choice {
    const json_t *name; /* a string; NULL or null: the default */
    const json_t *id;   /* a UUID that the client chose; NULL: KERNEL_ID of env, or a new one */
    const char *path;   /* where it starts, below the session's home; NULL: there */
    /* Answers where no kernelspec has that name. */
    void (*refuse_name)(struct exchange *exchange, const char *name);
};
/* Starts such a kernel; NULL after an answer. */
struct kernel *start_kernel(struct exchange *exchange, const json_t *body,
                            const struct kernel_choice *choice);

/* Deletes it, and answers 204 once nothing of it is left. */
void delete_kernel(struct exchange *exchange, struct kernel *kernel);

/* A member of an object; NULL where it is absent or null, which many clients send instead. */
const json_t *get_member(const json_t *object, const char *name);

/* The request's body as an object; an empty body is an empty object. NULL after a 400 or 413: what
 * is read here is small, and a tree of JSON takes many times its bytes. */
json_t *read_body(struct http_request *request);

/* A request that waits for a start, a restart or a deletion; freed when it is answered or gone. */
struct waiting_request {
    struct kernel_waiter waiter;
    struct http_request *request;
    struct jupyter *jupyter;
    char *id;
};
/* done answers the request, then frees what it got; hand the waiter to the kernel. */
struct waiting_request *waiting_request_create(struct exchange *exchange, struct kernel *kernel,
                                               void (*done)(struct kernel_waiter *waiter,
                                                            const struct err *err));
void waiting_request_free(void *context);
