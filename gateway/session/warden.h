/* warden - the gateway's end of rpc.h: requests with a callback each, and events. */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "rpc/rpc.h"

struct loop;
struct warden;

struct warden_events {
    /* An event packet (RPC_SPEC, RPC_SPECS_END, RPC_TREE_*); descriptors that are not taken out of
     * it (set to -1) are closed after. */
    void (*on_event)(void *context, struct rpc_packet *packet);
    /* The warden is gone: nothing more can be done but to leave. */
    void (*on_gone)(void *context, const struct err *err);
    void *context;
};

/* Takes over fd, which becomes non-blocking. */
struct warden *warden_create_take(struct loop *loop, int fd, const struct warden_events *events);
/* Callbacks of open requests are not called any more. */
void warden_destroy(struct warden *warden);

/* Sends body (a struct of rpc.h that begins with rpc_head; its number is set here) and calls done
 * with the answer, err->code 0 where it was done. done may be NULL. Never blocks: what the socket
 * does not take waits. */
void warden_request(struct warden *warden, void *body, size_t size, struct slice tail,
                    void (*done)(void *context, const struct err *err), void *context);
