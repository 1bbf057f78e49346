/* kernel - one echo kernel: its five sockets, what it remembers, and its one thread.
 *
 * The complication is that a cell runs on the same thread that must go on answering control and
 * heartbeat: whatever takes long calls kernel_turn again and again while it waits. */
#pragma once

#include "base/err.h"
#include "base/list.h"
#include "base/map.h"
#include "echo/history.h"
#include "wire/connection.h"
#include "wire/sign.h"

enum { KERNEL_ID_SIZE = 37 }; /* a UUID and its NUL */

struct kernel {
    void *context;
    void *sockets[CONNECTION_PORT_COUNT];
    int signals_fd; /* SIGINT and SIGTERM, which are blocked otherwise */
    struct signer *signer;
    char session[KERNEL_ID_SIZE]; /* of every message it sends */
    uint64_t sent;                /* messages so far, which makes their ids */

    struct map comms; /* comm_id -> target_name, owned */
    struct history history;
    int execution_count;
    struct list waiting; /* requests from shell that a failed cell found waiting */

    bool running;     /* a cell is being executed */
    bool interrupted; /* SIGINT or interrupt_request since that cell began */
    bool aborting;    /* the requests in `waiting` are being answered */
    bool stopping;    /* the loop ends, and so does the cell, without a word */
    int exit_status;
};

/* Binds the sockets and says `starting`. Blocks SIGINT and SIGTERM. What ret_kernel holds ends with
 * kernel_finish, also on failure. */
int kernel_init(struct kernel *kernel, const struct connection *connection, struct err *err);
void kernel_finish(struct kernel *kernel);

/* Answers requests until it is told to stop; returns the exit status. */
int kernel_run(struct kernel *kernel);

/* Waits up to timeout_ms (-1: until something comes), answers what came on control, heartbeat and
 * iopub, and takes signals. True where the ZeroMQ socket `waited` (may be NULL) can be read. */
bool kernel_turn(struct kernel *kernel, void *waited, int timeout_ms);

/* A cell failed: execute_requests that are here already will be answered with `aborted`, as
 * ipykernel does. Called before the reply, so that what answers it is not among them. */
void kernel_abort_waiting(struct kernel *kernel);

/* Monotonic milliseconds. */
int64_t kernel_now_ms(void);
