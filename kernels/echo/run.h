/* run - one cell while it is executed: what its commands may say, and how it ends. */
#pragma once

#include <jansson.h>

#include "base/slice.h"
#include "base/text.h"

struct kernel;
struct request;

struct run {
    struct kernel *kernel;
    const struct request *request;
    bool silent; /* nothing is said on iopub but the two statuses */
    bool allow_stdin;
    int execution_count;
    char *ename, *evalue; /* set once the cell has failed; owned */
    json_t *payload;      /* of the reply; owned */
    struct text result;   /* the last result, for the history; has_result */
    bool has_result;
};

/* The cell fails with this error; returns -1, which a command passes on. */
__attribute__((format(printf, 3, 4))) int run_raise(struct run *run, const char *ename,
                                                    const char *format, ...);

/* Outputs: a stream (stdout or stderr), the cell's result as text/plain, anything else. */
void run_print(struct run *run, const char *stream, struct slice text);
void run_result(struct run *run, struct slice text);
/* content is consumed. */
void run_publish(struct run *run, const char *msg_type, json_t *content);

/* Lets the kernel answer control and heartbeat for ms; 0: only what is there already. Ends early
 * where the ZeroMQ socket `waited` (may be NULL) can be read, and then returns 1. -1 where the cell
 * was interrupted (which raises KeyboardInterrupt) or the kernel stops. ms < 0: for ever. */
int run_wait(struct run *run, void *waited, int64_t ms);
