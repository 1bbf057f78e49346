#include "session/cull.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "loop/loop.h"
#include "session/kernel_parts.h"

struct culler {
    struct kernels *kernels;
    const struct kernels_context *context;
    struct loop_timer *timer; /* the one for all kernels */
    bool is_watching;
    int64_t now_ms; /* of one look */
};

static void evict_idle(struct kernel *kernel, int64_t idle_ms) {
    char sentence[ERR_TEXT_MAX];
    bool is_default = kernel->idle_most_ms == kernel->context->params->cull_idle_timeout_ms;
    snprintf(sentence, sizeof sentence, "the kernel was idle for %.3f s, %s allows %.15g",
             (double)idle_ms / 1000, is_default ? "cull_idle_timeout_ms" : "idle_s",
             (double)kernel->idle_most_ms / (is_default ? 1 : 1000));
    kernel_evict(kernel, sentence);
}

static void evict_dead(struct kernel *kernel) {
    char sentence[ERR_TEXT_MAX];
    snprintf(sentence, sizeof sentence, "the kernel was dead: %s", kernel_reason(kernel));
    kernel_evict(kernel, sentence);
}

/* A kernel that starts is not idle: its launch timeout ends it. */
static bool may_be_idle(const struct kernel *kernel) {
    const struct params *params = kernel->context->params;
    if (kernel->life != LIFE_READY || kernel->idle_most_ms == 0)
        return false;
    bool is_busy = strcmp(kernel_execution_state(kernel), "busy") == 0;
    return (params->cull_busy || !is_busy) &&
           (params->cull_connected || kernel_connections(kernel) == 0);
}

/* The second look that finds it dead ends it, so whoever asks has a whole interval to hear why. */
static void judge(void *context, struct kernel *kernel) {
    const struct culler *culler = context;
    int64_t idle_ms = culler->now_ms - kernel->active_ms;
    bool was_dead = kernel->was_seen_dead;
    kernel->was_seen_dead = kernel->life == LIFE_DEAD;
    if (was_dead && kernel->was_seen_dead)
        evict_dead(kernel);
    else if (may_be_idle(kernel) && idle_ms >= kernel->idle_most_ms)
        evict_idle(kernel, idle_ms);
}

static void look(void *context) {
    struct culler *culler = context;
    culler->now_ms = loop_now_ms(culler->context->loop);
    culler->is_watching = false;
    kernels_each(culler->kernels, judge, culler);
    if (kernels_count(culler->kernels) > 0)
        culler_watch(culler);
}

struct culler *culler_create(struct kernels *kernels, const struct kernels_context *context) {
    struct culler *culler = mem_zalloc(1, sizeof *culler);
    culler->kernels = kernels;
    culler->context = context;
    culler->timer = loop_timer_create(context->loop, look, culler);
    return culler;
}

void culler_destroy(struct culler *culler) {
    if (!culler)
        return;
    loop_timer_destroy(culler->timer);
    mem_free(culler);
}

void culler_watch(struct culler *culler) {
    if (culler->is_watching)
        return;
    culler->is_watching = true;
    loop_timer_start(culler->timer, culler->context->params->cull_interval_ms);
}
