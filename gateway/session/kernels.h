/* kernels - all kernels of this gateway: made, found, counted. */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "config/params.h"
#include "rpc/rpc.h"
#include "session/kernel.h"
#include "session/specs.h"

struct loop;
struct warden;
struct kernels;

struct kernels_context {
    struct loop *loop;
    void *zmq; /* the process's one ZeroMQ context */
    struct warden *warden;
    const struct params *params;
    /* Something that an operator should know. */
    void (*on_trouble)(const char *kernel_id, const char *sentence);
};

struct kernels *kernels_create(const struct kernels_context *context);
/* Forgets every kernel at once: the warden ends what is left of them. Waiters are not told, clients
 * must be detached, and the warden's answers must not be read any more. */
void kernels_destroy(struct kernels *kernels);

struct kernel_start {
    const struct spec *spec;
    const uint8_t *id;         /* ID_BYTES that its client chose; NULL: a new one */
    struct slice environment;  /* "NAME=value\0" strings, already checked */
    struct slice directory;    /* where it starts; rpc.h's, as its client said it */
    int64_t launch_timeout_ms; /* 0: the parameter launch_timeout_ms */
    struct rpc_limits limits;  /* of its session; 0: the config's */
    uint64_t data_mask;        /* its data folders */
    int64_t idle_ms;           /* how long it may be idle; 0: for ever */
    json_t *parameters;        /* what kernel_parameters shows; may be NULL; borrowed */
};

/* Makes a kernel and begins to start it; it is "starting". -EDQUOT with a sentence that names
 * max_kernels where there are enough, -EEXIST where one has this id, if only until its end is
 * complete. */
int kernels_start(struct kernels *kernels, const struct kernel_start *start,
                  struct kernel **ret_kernel, struct err *err);
/* NULL where there is none of that id, or it is being deleted. */
struct kernel *kernels_find(const struct kernels *kernels, const char *id);
/* Calls visit for every kernel, oldest first. */
void kernels_each(const struct kernels *kernels, void (*visit)(void *context, struct kernel *),
                  void *context);
/* How many there are, those being deleted included. */
size_t kernels_count(const struct kernels *kernels);

/* Takes RPC_TREE_SOCKETS and RPC_TREE_ENDED. */
void kernels_on_event(struct kernels *kernels, struct rpc_packet *packet);
