/* rig - the session room with a warden that the test plays; kernels (played.h) and clients
 * (guest.h) likewise, all on one loop. Nothing sleeps: UNTIL turns the loop until something is so.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/text.h"
#include "loop/loop.h"
#include "rpc/rpc.h"
#include "session/kernels.h"
#include "session/warden.h"

enum { RIG_KINDS = 80, RIG_LIMIT_MS = 60000 };

struct rig {
    struct loop *loop;
    struct loop_timer *tick;
    int64_t waited_ms;
    void *zmq, *zmq_of_kernels;
    struct params params;
    struct spec spec;
    struct warden *warden;
    struct kernels *kernels;
    struct text troubles; /* what on_trouble was told: a sentence a line */

    /* The played warden. */
    int fd;
    struct loop_watch *watch;
    struct rpc_packet packet;
    struct list jails, played;    /* struct rig_jail, struct played: the newest last */
    unsigned received[RIG_KINDS]; /* packets, by kind */
    char refusal[ERR_TEXT_MAX];   /* the answer to refused_kind */
    enum rpc_kind refused_kind;   /* 0: nothing is refused */
    enum rpc_kind held_kind;      /* 0: nothing is held; else kept for rig_answer_held */
    struct rpc_packet held;
    bool is_held;
    bool no_sockets;   /* trees start, and their sockets are never there */
    bool plain_pub;    /* kernels publish by PUB, which knows no welcome (before JEP 65) */
    bool small_queues; /* kernels' sockets hold one message */
    bool mute;         /* kernels answer nothing by themselves */
    int descriptors;   /* and memory, before it began */
    int64_t memory;
};

struct rig_jail {
    struct list link;
    uint8_t id[16];
    struct rpc_limits limits; /* asked for */
    uint64_t data_mask;
};

void rig_begin(struct rig *rig);
/* Whatever kernels are left go with it; holds that nothing is leaked. */
void rig_end(struct rig *rig);

/* One turn of the loop, a few milliseconds at most; false where RIG_LIMIT_MS passed since
 * rig_begin_wait. A machine that stood still meanwhile costs little of them. */
bool rig_turn(struct rig *rig);
void rig_begin_wait(struct rig *rig);
#define UNTIL(rig, condition)                                                                      \
    do {                                                                                           \
        rig_begin_wait(rig);                                                                       \
        while (!(condition))                                                                       \
            if (!rig_turn(rig))                                                                    \
                fail_msg("it did not come true that %s", #condition);                              \
    } while (0)
/* Turns until whatever is under way has arrived, as far as can be known: the warden's socket is
 * empty in both directions and nothing happened for some turns. For what must not happen. */
void rig_settle(struct rig *rig);

/* A kernel that begins to start, and one that is ready. */
struct kernel *rig_start(struct rig *rig);
struct kernel *rig_start_ready(struct rig *rig);
/* Does what was held, and holds no more. */
void rig_answer_held(struct rig *rig);
void rig_send(struct rig *rig, const void *body, struct slice tail, const int *fds, size_t count);
int rig_count_descriptors(void);

/* A waiter that counts. */
struct waiter {
    struct kernel_waiter waiter;
    int told, code;
    char text[ERR_TEXT_MAX];
};
struct kernel_waiter *waiter_init(struct waiter *waiter);

static inline bool is_state(const struct kernel *kernel, const char *state) {
    return strcmp(kernel_execution_state(kernel), state) == 0;
}
