/* kernel_life - how a kernel starts, restarts, dies and is deleted: one table of what happens in
 * which state. What is not in the table is without consequence there. */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "loop/loop.h"
#include "session/kernel_parts.h"
#include "wire/connection.h"

enum { PROBE_MS = 100 };

/* -- waiters ---------------------------------------------------------------------------------- */

/* Whoever is told may come back with something else to wait for, or take others off the list. */
void kernel_tell_waiters(struct kernel *kernel, const struct err *err) {
    struct list told;
    list_take(&told, &kernel->waiters);
    while (!list_is_empty(&told)) {
        struct kernel_waiter *waiter = LIST_ENTRY(told.next, struct kernel_waiter, link);
        list_remove(&waiter->link);
        waiter->done(waiter, err);
    }
}

/* -- what is done in the table ---------------------------------------------------------------- */

static void fail_waiters(struct kernel *kernel, int code, const char *sentence) {
    struct err err;
    err_set(&err, code, "%s", sentence);
    kernel_tell_waiters(kernel, &err);
}

static void drop_link(struct kernel *kernel) {
    link_destroy(kernel->link_to_kernel);
    kernel->link_to_kernel = NULL;
    loop_timer_stop(kernel->probe);
}

static void launch(struct kernel *kernel) {
    kernel->shell_answered = kernel->iopub_answered = false;
    kernel->was_ready = kernel->shutdown_asked = kernel->was_seen_dead = false;
    mem_free(kernel->busy_with);
    kernel->busy_with = NULL;
    kernel_set_fate(kernel, REASON_NONE, SLICE_LITERAL(""));
    loop_timer_start(kernel->deadline, kernel->launch_timeout_ms);
    if (kernel->jail == JAIL_THERE)
        kernel_start_tree(kernel);
    else
        kernel_create_jail(kernel);
}

/* Tells the operator. */
static void complain(struct kernel *kernel, const char *sentence, const char *sequel) {
    cleanup_text struct text line = {0};
    text_append_format(&line, "%s%s", sentence, sequel);
    kernel->context->on_trouble(kernel->id, line.data);
}

/* Why one that was ready is not started again. */
static void name_limit(struct kernel *kernel) {
    cleanup_text struct text sentence = {0};
    if (!kernel->was_ready || kernel->revivals == 0)
        return;
    text_append_format(&sentence,
                       "%s; it had been started again %u times in a row, which is all that "
                       "restart_limit allows",
                       kernel->fate.sentence, kernel->revivals);
    kernel_set_fate(kernel, kernel->fate.reason, text_slice(&sentence));
}

/* What the operator and every client hear of a death. */
static void stay_dead(struct kernel *kernel) {
    kernel->life = LIFE_DEAD;
    name_limit(kernel);
    const char *sentence = kernel->fate.sentence;
    kernel_end_requests(kernel, kernel->fate.reason, sentence);
    kernel_say_dead(kernel, NULL);
    complain(kernel, sentence, "");
    fail_waiters(kernel, EIO, sentence);
}

/* Clients that are away need not know: by `restarting` a client connects anew, and it does so
 * anyway. */
static void say_restarting(struct kernel *kernel) {
    struct seat *seat;
    list_for_each (seat, &kernel->seats, link)
        if (seat->client)
            kernel_say_status(kernel, seat, "restarting", (struct slice){0});
}

/* It ended by itself. All that was open ends before anybody hears of the new start. */
static void revive(struct kernel *kernel) {
    kernel_end_requests(kernel, kernel->fate.reason, kernel->fate.sentence);
    kernel->revivals++;
    kernel->starts_again = true;
    say_restarting(kernel);
    complain(kernel, kernel->fate.sentence, "; it is started again");
    mem_free(kernel->last_end);
    kernel->last_end = mem_strdup(kernel->fate.sentence);
    launch(kernel);
}

static void end(struct kernel *kernel) {
    drop_link(kernel);
    loop_timer_stop(kernel->deadline);
    kernels_hide(kernel->kernels, kernel);
    kernel->life = LIFE_ENDING;
    bool is_evicted = kernel->fate.reason == REASON_evicted;
    enum reason reason = is_evicted ? REASON_evicted : REASON_deleted;
    kernel_end_requests(kernel, reason,
                        is_evicted ? kernel->fate.sentence : reason_entry(reason)->sentence);
    kernel_send_away(kernel, reason);
    kernel_end_jail(kernel);
}

/* A client asked for it: every client hears `starting`, and `idle` when it is. Never `restarting`,
 * which is how a server says that it starts a dead kernel again: JupyterLab then tells its user
 * that the kernel seems to have died. */
static void end_for_restart(struct kernel *kernel) {
    kernel_set_fate(kernel, REASON_NONE, SLICE_LITERAL(""));
    drop_link(kernel);
    kernel->revivals = 0;
    mem_free(kernel->last_end);
    kernel->last_end = NULL;
    kernel_end_requests(kernel, REASON_restarted, reason_entry(REASON_restarted)->sentence);
    kernel->starts_again = true;
    kernel_say_status(kernel, NULL, "starting", (struct slice){0});
}

static void launch_again(struct kernel *kernel) {
    end_for_restart(kernel);
    launch(kernel);
}

typedef void step(struct kernel *kernel);

/* The kernel's processes are gone. */
static void die(struct kernel *kernel) {
    static step *const sequels[SEQUEL_COUNT] = {
        [SEQUEL_DEATH] = stay_dead,
        [SEQUEL_REVIVAL] = revive,
        [SEQUEL_RESTART] = launch_again,
        [SEQUEL_REMOVAL] = end,
    };
    drop_link(kernel);
    loop_timer_stop(kernel->deadline);
    sequels[kernel_sequel(kernel)](kernel);
}

static void probe(struct kernel *kernel) {
    kernel_ask(kernel, MSG_SHELL, "kernel_info_request");
    loop_timer_start(kernel->probe, PROBE_MS);
}

static void begin_probing(struct kernel *kernel) {
    kernel->life = LIFE_PROBING;
    probe(kernel);
}

static void become_ready(struct kernel *kernel) {
    loop_timer_stop(kernel->deadline);
    loop_timer_stop(kernel->probe);
    kernel->life = LIFE_READY;
    kernel_note_activity(kernel);
    kernel->was_ready = true;
    if (kernel->starts_again)
        kernel_say_status(kernel, NULL, "idle", (struct slice){0});
    kernel->starts_again = false;
    if (kernel->revivals)
        loop_timer_start(kernel->stable, kernel->context->params->stable_start_ms);
    kernel_send_waiting(kernel);
    if (kernel->shutdown_asked)
        loop_timer_start(kernel->deadline, kernel->context->params->grace_ms);
    kernel_tell_waiters(kernel, &(struct err){0});
}

static void drain(struct kernel *kernel) {
    loop_timer_stop(kernel->probe);
    kernel->life = LIFE_DRAINING;
    link_drain(kernel->link_to_kernel);
}

/* Its fate is set; what it still says is as good as nothing. */
static void stop(struct kernel *kernel) {
    drop_link(kernel);
    kernel_kill_tree(kernel);
}

static void stop_for_timeout(struct kernel *kernel) {
    char sentence[ERR_TEXT_MAX];
    snprintf(sentence, sizeof sentence, "the kernel did not answer within %lld ms (%s)",
             (long long)kernel->launch_timeout_ms,
             kernel->launch_timeout_ms == kernel->context->params->launch_timeout_ms
                 ? "launch_timeout_ms"
                 : "KERNEL_LAUNCH_TIMEOUT");
    kernel_set_fate(kernel, REASON_timeout, slice_from_text(sentence));
    stop(kernel);
}

/* It does not heed a shutdown_request. */
static void stop_for_shutdown(struct kernel *kernel) {
    kernel_set_fate(kernel, REASON_timeout,
                    SLICE_LITERAL("the kernel did not shut down within grace_ms"));
    stop(kernel);
}

static void stop_for_disobedience(struct kernel *kernel) {
    if (!kernel_heeds_not(kernel))
        return;
    kernel_set_fate(kernel, REASON_interrupted,
                    SLICE_LITERAL("the kernel was ended since an interrupt did not end within "
                                  "grace_ms what it executed"));
    stop(kernel);
}

static void time_out_jail(struct kernel *kernel) {
    kernel_set_fate(kernel, REASON_timeout, SLICE_LITERAL("the jail was not made in time"));
    die(kernel);
}

/* What it said before has been passed on by now, and nothing more will come. */
static void stop_for_failure(struct kernel *kernel) {
    loop_timer_stop(kernel->probe);
    kernel_kill_tree(kernel);
}

static void stop_for_restart(struct kernel *kernel) {
    end_for_restart(kernel);
    loop_timer_stop(kernel->deadline);
    kernel_kill_tree(kernel);
}

static void after_stop(struct kernel *kernel) {
    if (kernel->fate.reason == REASON_NONE)
        launch(kernel);
    else
        die(kernel);
}

/* A second restart is the first one; but what was to end for another reason starts again instead.
 */
static void restart_after_stop(struct kernel *kernel) {
    if (kernel->fate.reason != REASON_NONE)
        end_for_restart(kernel);
}

/* A restart of what is being made anew is that making; its waiters wait with the others. */
static void join(struct kernel *kernel) {
    (void)kernel;
}

static step *const steps[LIFE_COUNT][HAPPENING_COUNT] = {
    [LIFE_JAILING] = {[JAIL_MADE] = kernel_start_tree,
                      [JAIL_REFUSED] = die,
                      [TIMED_OUT] = time_out_jail,
                      [RESTART] = join,
                      [DELETE] = end},
    [LIFE_LAUNCHING] = {[TREE_REFUSED] = die,
                        [TREE_ENDED] = die,
                        [TIMED_OUT] = stop_for_timeout,
                        [RESTART] = stop_for_restart,
                        [DELETE] = end},
    [LIFE_LINKING] = {[LINKED] = begin_probing,
                      [LINK_FAILED] = stop_for_failure,
                      [TREE_ENDED] = die,
                      [TIMED_OUT] = stop_for_timeout,
                      [FLOODED] = stop,
                      [RESTART] = stop_for_restart,
                      [DELETE] = end},
    [LIFE_PROBING] = {[ANSWERED] = become_ready,
                      [LINK_FAILED] = stop_for_failure,
                      [TREE_ENDED] = drain,
                      [TIMED_OUT] = stop_for_timeout,
                      [FLOODED] = stop,
                      [RESTART] = stop_for_restart,
                      [DELETE] = end},
    [LIFE_READY] = {[LINK_FAILED] = stop_for_failure,
                    [TREE_ENDED] = drain,
                    [TIMED_OUT] = stop_for_shutdown,
                    [DISOBEYED] = stop_for_disobedience,
                    [FLOODED] = stop,
                    [RESTART] = stop_for_restart,
                    [DELETE] = end},
    [LIFE_DRAINING] = {[DRAINED] = die, [RESTART] = launch_again, [DELETE] = end},
    [LIFE_STOPPING] = {[TREE_ENDED] = after_stop,
                       [TREE_REFUSED] = after_stop,
                       [RESTART] = restart_after_stop,
                       [DELETE] = end},
    [LIFE_DEAD] = {[RESTART] = launch_again, [DELETE] = end},
};

void kernel_happen(struct kernel *kernel, enum happening happening) {
    step *act = steps[kernel->life][happening];
    if (act)
        act(kernel);
}

/* -- what happens ----------------------------------------------------------------------------- */

void kernel_on_sockets(struct kernel *kernel, struct rpc_packet *packet) {
    if (kernel->life != LIFE_LAUNCHING || packet->fd_count != CONNECTION_PORT_COUNT)
        return;
    struct link_events events = kernel_link_events;
    events.context = kernel;
    kernel->link_to_kernel =
        link_create_take(kernel->context->loop, kernel->context->zmq, slice_from_text(kernel->key),
                         packet->fds, (int64_t)kernel->context->params->ws_queue_bytes, &events);
    for (size_t i = 0; i < packet->fd_count; i++)
        packet->fds[i] = -1;
    kernel->life = LIFE_LINKING;
}

void kernel_on_linked(void *context) {
    kernel_happen(context, LINKED);
}

void kernel_on_link_failed(void *context, const struct err *err) {
    struct kernel *kernel = context;
    if (kernel->life == LIFE_STOPPING)
        return; /* another of its sockets; the first one told why */
    enum reason reason = kernel->life == LIFE_LINKING ? REASON_failed : REASON_lost;
    kernel_set_fate(kernel, reason, slice_from_text(err->text));
    kernel_happen(kernel, LINK_FAILED);
}

void kernel_on_drained(void *context) {
    kernel_happen(context, DRAINED);
}

void kernel_on_answer(struct kernel *kernel, enum msg_channel channel) {
    if (channel == MSG_SHELL)
        kernel->shell_answered = true;
    if (channel == MSG_IOPUB)
        kernel->iopub_answered = true;
    if (kernel->shell_answered && kernel->iopub_answered)
        kernel_happen(kernel, ANSWERED);
}

void kernel_on_tree_ended(struct kernel *kernel, const struct rpc_packet *packet) {
    kernel_forget_tree(kernel);
    kernel_read_fate(kernel, packet);
    kernel_happen(kernel, TREE_ENDED);
}

void kernel_on_flood(struct kernel *kernel, size_t held) {
    char sentence[ERR_TEXT_MAX];
    snprintf(sentence, sizeof sentence,
             "the kernel sent more than could be passed on: the gateway holds %zu bytes, "
             "gateway_memory_bytes allows %llu",
             held, (unsigned long long)kernel->context->params->gateway_memory_bytes);
    kernel_set_fate(kernel, REASON_output, slice_from_text(sentence));
    kernel_happen(kernel, FLOODED);
}

void kernel_on_shutdown(struct kernel *kernel, bool restarts) {
    kernel->shutdown_asked = true;
    kernel->shutdown_restarts = restarts;
    if (kernel->life == LIFE_READY)
        loop_timer_start(kernel->deadline, kernel->context->params->grace_ms);
}

static void on_deadline(void *context) {
    kernel_happen(context, TIMED_OUT);
}

static void on_probe_timer(void *context) {
    probe(context);
}

static void on_stable(void *context) {
    struct kernel *kernel = context;
    if (kernel->life == LIFE_READY)
        kernel->revivals = 0;
}

/* -- what clients ask ------------------------------------------------------------------------- */

void kernel_restart(struct kernel *kernel, struct kernel_waiter *waiter) {
    list_append(&kernel->waiters, &waiter->link);
    kernel_happen(kernel, RESTART);
}

void kernel_delete(struct kernel *kernel, struct kernel_waiter *waiter) {
    fail_waiters(kernel, ECANCELED, reason_entry(REASON_deleted)->sentence);
    if (waiter)
        list_append(&kernel->waiters, &waiter->link);
    kernel_happen(kernel, DELETE);
}

void kernel_evict(struct kernel *kernel, const char *sentence) {
    kernel->context->on_trouble(kernel->id, sentence);
    kernel_set_fate(kernel, REASON_evicted, slice_from_text(sentence));
    kernel_delete(kernel, NULL);
}

bool kernel_is_starting(const struct kernel *kernel) {
    return kernel->life != LIFE_READY && kernel->life != LIFE_ENDING && !kernel_is_dead(kernel);
}

void kernel_await_start(struct kernel *kernel, struct kernel_waiter *waiter) {
    assert(kernel_is_starting(kernel));
    list_append(&kernel->waiters, &waiter->link);
}

/* -- life itself ------------------------------------------------------------------------------ */

struct kernel *kernel_create(struct kernels *kernels, const struct kernels_context *context,
                             const struct kernel_start *start) {
    struct kernel *kernel = mem_zalloc(1, sizeof *kernel);
    kernel->kernels = kernels;
    kernel->context = context;
    if (start->id)
        memcpy(kernel->uuid, start->id, ID_BYTES);
    else
        id_make(kernel->uuid);
    id_format(kernel->uuid, kernel->id);
    uint8_t session[ID_BYTES];
    id_make(session);
    id_format(session, kernel->own_session);
    /* Another one: who knows the gateway's own could have answers swallowed. */
    kernel->kernel_session = mem_zalloc(1, ID_TEXT_SIZE);
    id_make(session);
    id_format(session, kernel->kernel_session);
    kernel->spec_name = mem_strdup(start->spec->name);
    kernel->spec_number = start->spec->number;
    kernel->interrupt_by_message = start->spec->interrupt_by_message;
    kernel->transport = start->spec->transport;
    cleanup_text struct text environment = {0};
    text_append(&environment, start->environment);
    text_append_format(&environment, "KERNEL_ID=%s", kernel->id);
    text_append(&environment, slice_make("", 1));
    kernel->environment = bytes_copy(text_slice(&environment));
    kernel->directory = bytes_copy(start->directory);
    kernel->launch_timeout_ms =
        start->launch_timeout_ms ? start->launch_timeout_ms : context->params->launch_timeout_ms;
    kernel->limits = start->limits;
    kernel->data_mask = start->data_mask;
    kernel->parameters = json_incref(start->parameters);
    kernel->deadline = loop_timer_create(context->loop, on_deadline, kernel);
    kernel->probe = loop_timer_create(context->loop, on_probe_timer, kernel);
    kernel->stable = loop_timer_create(context->loop, on_stable, kernel);
    kernel->obedience = loop_timer_create(context->loop, kernel_on_obedience, kernel);
    kernel->arrivals = loop_timer_create(context->loop, kernel_on_arrivals, kernel);
    kernel->absences = loop_timer_create(context->loop, kernel_on_absences, kernel);
    list_init(&kernel->waiters);
    list_init(&kernel->seats);
    list_init(&kernel->waiting);
    pending_init(&kernel->pending);
    kernel->idle_most_ms = start->idle_ms;
    kernel_note_activity(kernel);
    launch(kernel);
    return kernel;
}

void kernel_destroy(struct kernel *kernel) {
    struct seat *seat;
    list_for_each (seat, &kernel->seats, link)
        seat_destroy(kernel, seat);
    drop_link(kernel);
    loop_timer_destroy(kernel->deadline);
    loop_timer_destroy(kernel->probe);
    loop_timer_destroy(kernel->stable);
    loop_timer_destroy(kernel->obedience);
    loop_timer_destroy(kernel->arrivals);
    loop_timer_destroy(kernel->absences);
    kernel_drop_waiting(kernel);
    pending_finish(&kernel->pending);
    mem_free(kernel->fate.sentence);
    mem_free(kernel->last_end);
    bytes_unref(kernel->environment);
    bytes_unref(kernel->directory);
    bytes_unref(kernel->info);
    json_decref(kernel->parameters);
    mem_free(kernel->spec_name);
    mem_free(kernel->kernel_session);
    mem_free(kernel->busy_with);
    mem_free(kernel);
}
