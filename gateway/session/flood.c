#include "session/flood.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "loop/loop.h"
#include "session/kernel_parts.h"

enum {
    IDLE_MS = 2000, /* between two looks, while no kernel says anything and nothing grows */
    FAR_MS = 200,   /* else, below half of the limit */
    NEAR_MS = 20,
    CALM_GROWTH = 1024 * 1024,    /* from one look to the next */
    PRESSED_LOOKS = 3,            /* fewer than this are no flood */
    GROWTH_MIN = 8 * 1024 * 1024, /* what memory grew by since the last kernel was ended */
};

struct flood {
    struct kernels *kernels;
    const struct kernels_context *context;
    struct loop_timer *timer;
    bool is_watching, is_idle; /* the timer runs; with IDLE_MS */
    bool has_traffic;          /* since the last look */
    bool is_trimmed;           /* since the last traffic */
    size_t before;             /* bytes, at the last look */
    int statm_fd;              /* proc_pid_statm(5) */
    size_t least;              /* bytes: the smallest size since a kernel was ended */
    struct kernel *worst;      /* of one look */
    struct kernel *keeper;     /* likewise: it keeps most for clients that are gone */
};

/* Bytes of the process in memory; 0 where the system does not tell. */
static size_t resident_bytes(const struct flood *flood) {
    char text[128];
    ssize_t size = pread(flood->statm_fd, text, sizeof text - 1, 0);
    unsigned long pages = 0;
    if (size > 0) {
        text[size] = 0;
        sscanf(text, "%*u %lu", &pages);
    }
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void judge(void *context, struct kernel *kernel) {
    struct flood *flood = context;
    bool may_be_ended = kernel->life >= LIFE_LINKING && kernel->life <= LIFE_READY;
    bool presses = may_be_ended && link_has_unread(kernel->link_to_kernel);
    kernel->pressed_looks = presses ? kernel->pressed_looks + 1 : kernel->pressed_looks / 2;
    if (!may_be_ended)
        kernel->pressed_looks = 0; /* it begins or ends: what ends it has its own reason */
    if (!flood->worst || kernel->pressed_looks > flood->worst->pressed_looks)
        flood->worst = kernel;
}

static void find_keeper(void *context, struct kernel *kernel) {
    struct flood *flood = context;
    if (!flood->keeper || kernel->buffered_bytes > flood->keeper->buffered_bytes)
        flood->keeper = kernel;
}

/* What is kept for clients that are gone is the first to go. */
static size_t shed(struct flood *flood) {
    flood->keeper = NULL;
    kernels_each(flood->kernels, find_keeper, flood);
    if (flood->keeper)
        kernel_shed(flood->keeper);
    malloc_trim(0); /* what is free, but kept for later, is not held */
    return resident_bytes(flood);
}

static void look_for_worst(struct flood *flood, size_t held) {
    flood->worst = NULL;
    kernels_each(flood->kernels, judge, flood);
    bool grew = held > flood->least + GROWTH_MIN;
    if (!grew || !flood->worst || flood->worst->pressed_looks < PRESSED_LOOKS)
        return;
    flood->worst->pressed_looks = 0;
    flood->least = held;
    kernel_on_flood(flood->worst, held);
}

/* What is free is kept for the next message (loop.c), unless none has come for a while. */
static void give_back(struct flood *flood) {
    bool is_calm = flood->is_idle && !flood->has_traffic;
    if (is_calm && !flood->is_trimmed)
        malloc_trim(0);
    flood->is_trimmed = is_calm;
}

static void schedule(struct flood *flood, size_t held) {
    bool grows = held > flood->before + CALM_GROWTH;
    bool is_near = held > flood->context->params->gateway_memory_bytes / 2;
    give_back(flood);
    flood->is_watching = kernels_count(flood->kernels) > 0;
    flood->is_idle = !flood->has_traffic && !grows && !is_near;
    flood->has_traffic = false;
    flood->before = held;
    if (flood->is_watching)
        loop_timer_start(flood->timer, is_near ? NEAR_MS : flood->is_idle ? IDLE_MS : FAR_MS);
}

static void look(void *context) {
    struct flood *flood = context;
    size_t limit = flood->context->params->gateway_memory_bytes, held = resident_bytes(flood);
    if (held > limit)
        held = shed(flood);
    if (held < flood->least)
        flood->least = held;
    if (held > limit)
        look_for_worst(flood, held);
    schedule(flood, held);
}

struct flood *flood_create(struct kernels *kernels, const struct kernels_context *context) {
    struct flood *flood = mem_zalloc(1, sizeof *flood);
    flood->kernels = kernels;
    flood->context = context;
    flood->timer = loop_timer_create(context->loop, look, flood);
    flood->statm_fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    return flood;
}

void flood_destroy(struct flood *flood) {
    if (!flood)
        return;
    loop_timer_destroy(flood->timer);
    if (flood->statm_fd >= 0)
        close(flood->statm_fd);
    mem_free(flood);
}

void flood_watch(struct flood *flood) {
    flood->has_traffic = true;
    if (flood->is_watching && !flood->is_idle)
        return;
    flood->is_watching = true;
    flood->is_idle = false;
    loop_timer_start(flood->timer, FAR_MS);
}
