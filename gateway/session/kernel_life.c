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

enum happening {
    JAIL_MADE,
    JAIL_REFUSED,
    TREE_REFUSED,
    LINKED,
    LINK_FAILED,
    ANSWERED,
    TREE_ENDED,
    DRAINED,
    TIMED_OUT,
    RESTART,
    DELETE,
    HAPPENING_COUNT
};

static void happen(struct kernel *kernel, enum happening happening);

/* -- asking the warden ------------------------------------------------------------------------ */

static void ask_warden(struct kernel *kernel, void *body, size_t size, struct slice tail,
                       void (*done)(void *, const struct err *)) {
    kernel->calls++;
    warden_request(kernel->context->warden, body, size, tail, done, kernel);
}

/* A deleted kernel is freed with the warden's last answer. */
static void count_answer(struct kernel *kernel) {
    kernel->calls--;
    if (kernel->life == LIFE_ENDING && kernel->calls == 0)
        kernels_remove(kernel->kernels, kernel);
}

static void on_jail_created(void *context, const struct err *err) {
    struct kernel *kernel = context;
    kernel->jail = err->code ? JAIL_NONE : JAIL_THERE;
    if (err->code && kernel->life == LIFE_JAILING)
        kernel_set_fate(kernel, REASON_failed, slice_from_text(err->text));
    happen(kernel, err->code ? JAIL_REFUSED : JAIL_MADE);
    count_answer(kernel);
}

/* A restart may come while the answer to an earlier launch is still awaited: there is one jail. */
static void create_jail(struct kernel *kernel) {
    kernel->life = LIFE_JAILING;
    if (kernel->jail == JAIL_ASKED)
        return;
    struct rpc_jail_create body = {.head.kind = RPC_JAIL_CREATE};
    memcpy(body.jail, kernel->uuid, ID_BYTES);
    kernel->jail = JAIL_ASKED;
    ask_warden(kernel, &body, sizeof body, (struct slice){0}, on_jail_created);
}

static void forget_tree(struct kernel *kernel) {
    kernels_forget_tree(kernel->kernels, kernel->tree);
    kernel->tree = 0;
}

static void on_tree_started(void *context, const struct err *err) {
    struct kernel *kernel = context;
    if (err->code && kernel->tree) {
        forget_tree(kernel);
        if (kernel->life != LIFE_STOPPING)
            kernel_set_fate(kernel, REASON_failed, slice_from_text(err->text));
        happen(kernel, TREE_REFUSED);
    }
    count_answer(kernel);
}

static struct bytes *write_connection(struct kernel *kernel) {
    uint8_t key[ID_BYTES];
    id_make(key);
    id_format(key, kernel->key);
    struct connection connection = {.transport = "ipc",
                                    .ip = RPC_KERNEL_SOCKETS,
                                    .key = kernel->key,
                                    .signature_scheme = "hmac-sha256",
                                    .kernel_name = kernel->spec_name};
    for (int i = 0; i < CONNECTION_PORT_COUNT; i++)
        connection.ports[i] = i + 1;
    return connection_write(&connection);
}

static void start_tree(struct kernel *kernel) {
    cleanup_bytes struct bytes *connection = write_connection(kernel);
    cleanup_text struct text tail = {0};
    text_append(&tail, bytes_slice(connection));
    text_append(&tail, bytes_slice(kernel->environment));
    kernel->tree = kernels_next_tree(kernel->kernels, kernel);
    struct rpc_tree_start body = {.head.kind = RPC_TREE_START,
                                  .tree = kernel->tree,
                                  .kind = RPC_TREE_KERNEL,
                                  .spec = kernel->spec_number,
                                  .connection_size = (uint32_t)connection->size,
                                  .environment_size = (uint32_t)kernel->environment->size};
    memcpy(body.jail, kernel->uuid, ID_BYTES);
    kernel->life = LIFE_LAUNCHING;
    ask_warden(kernel, &body, sizeof body, text_slice(&tail), on_tree_started);
}

static void kill_tree(struct kernel *kernel) {
    struct rpc_tree_kill body = {.head.kind = RPC_TREE_KILL, .tree = kernel->tree};
    kernel->life = LIFE_STOPPING;
    /* RPC_TREE_ENDED says that it is done; the answer says nothing more. */
    warden_request(kernel->context->warden, &body, sizeof body, (struct slice){0}, NULL, NULL);
}

/* Whoever is told may come back with something else to wait for, or take others off the list. */
static void tell_waiters(struct kernel *kernel, const struct err *err) {
    struct list told;
    list_take(&told, &kernel->waiters);
    while (!list_is_empty(&told)) {
        struct kernel_waiter *waiter = LIST_ENTRY(told.next, struct kernel_waiter, link);
        list_remove(&waiter->link);
        waiter->done(waiter, err);
    }
}

static void on_jail_ended(void *context, const struct err *err) {
    static const struct err none = {0};
    struct kernel *kernel = context;
    /* Of a jail that was refused nothing is left either. */
    tell_waiters(kernel, kernel->jail == JAIL_THERE ? err : &none);
    count_answer(kernel);
}

/* -- what is done in the table ---------------------------------------------------------------- */

static void fail_waiters(struct kernel *kernel, int code, const char *sentence) {
    struct err err;
    err_set(&err, code, "%s", sentence);
    tell_waiters(kernel, &err);
}

static void drop_link(struct kernel *kernel) {
    link_destroy(kernel->link_to_kernel);
    kernel->link_to_kernel = NULL;
    loop_timer_stop(kernel->probe);
}

static void launch(struct kernel *kernel) {
    kernel->shell_answered = kernel->iopub_answered = false;
    kernel->shutdown_asked = false;
    kernel_set_fate(kernel, REASON_NONE, SLICE_LITERAL(""));
    loop_timer_start(kernel->deadline, kernel->launch_timeout_ms);
    if (kernel->jail == JAIL_THERE)
        start_tree(kernel);
    else
        create_jail(kernel);
}

/* What the operator and every client hear of a death. */
static void tell_death(struct kernel *kernel) {
    const char *sentence = kernel->fate.sentence;
    kernel->life = LIFE_DEAD;
    kernel_end_requests(kernel, kernel->fate.reason, sentence);
    kernel_say_status(kernel, NULL, "dead", (struct slice){0});
    kernel->context->on_trouble(kernel->id, sentence);
    fail_waiters(kernel, EIO, sentence);
}

static void end_jail(struct kernel *kernel) {
    drop_link(kernel);
    loop_timer_stop(kernel->deadline);
    kernels_hide(kernel->kernels, kernel);
    struct rpc_jail_end body = {.head.kind = RPC_JAIL_END};
    memcpy(body.jail, kernel->uuid, ID_BYTES);
    kernel->life = LIFE_ENDING;
    kernel_end_requests(kernel, REASON_deleted, reason_entry(REASON_deleted)->sentence);
    struct kernel_client *client;
    list_for_each (client, &kernel->clients, link) {
        list_remove(&client->link);
        client->on_end(client, REASON_deleted);
    }
    ask_warden(kernel, &body, sizeof body, (struct slice){0}, on_jail_ended);
}

/* The kernel's processes are gone and nobody here asked for it. */
static void die(struct kernel *kernel) {
    drop_link(kernel);
    loop_timer_stop(kernel->deadline);
    if (!kernel->shutdown_asked)
        tell_death(kernel);
    else if (kernel->shutdown_restarts) {
        kernel_end_requests(kernel, REASON_restarted, reason_entry(REASON_restarted)->sentence);
        kernel_say_status(kernel, NULL, "restarting", (struct slice){0});
        launch(kernel);
    } else
        end_jail(kernel);
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
    kernel_send_waiting(kernel);
    tell_waiters(kernel, &(struct err){0});
}

static void drain(struct kernel *kernel) {
    loop_timer_stop(kernel->probe);
    kernel->life = LIFE_DRAINING;
    link_drain(kernel->link_to_kernel);
}

static void stop_for_timeout(struct kernel *kernel) {
    char sentence[ERR_TEXT_MAX];
    snprintf(sentence, sizeof sentence,
             "the kernel did not answer within %lld ms (launch_timeout_ms)",
             (long long)kernel->launch_timeout_ms);
    kernel_set_fate(kernel, REASON_timeout, slice_from_text(sentence));
    drop_link(kernel);
    kill_tree(kernel);
}

static void time_out_jail(struct kernel *kernel) {
    kernel_set_fate(kernel, REASON_timeout, SLICE_LITERAL("the jail was not made in time"));
    die(kernel);
}

static void stop_for_failure(struct kernel *kernel) {
    drop_link(kernel);
    kill_tree(kernel);
}

static void end_for_restart(struct kernel *kernel) {
    kernel_set_fate(kernel, REASON_NONE, SLICE_LITERAL(""));
    drop_link(kernel);
    kernel_end_requests(kernel, REASON_restarted, reason_entry(REASON_restarted)->sentence);
    kernel_say_status(kernel, NULL, "restarting", (struct slice){0});
}

static void stop_for_restart(struct kernel *kernel) {
    end_for_restart(kernel);
    loop_timer_stop(kernel->deadline);
    kill_tree(kernel);
}

static void launch_again(struct kernel *kernel) {
    end_for_restart(kernel);
    launch(kernel);
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

typedef void step(struct kernel *kernel);

static step *const steps[LIFE_COUNT][HAPPENING_COUNT] = {
    [LIFE_JAILING] = {[JAIL_MADE] = start_tree,
                      [JAIL_REFUSED] = die,
                      [TIMED_OUT] = time_out_jail,
                      [RESTART] = join,
                      [DELETE] = end_jail},
    [LIFE_LAUNCHING] = {[TREE_REFUSED] = die,
                        [TREE_ENDED] = die,
                        [TIMED_OUT] = stop_for_timeout,
                        [RESTART] = stop_for_restart,
                        [DELETE] = end_jail},
    [LIFE_LINKING] = {[LINKED] = begin_probing,
                      [LINK_FAILED] = stop_for_failure,
                      [TREE_ENDED] = die,
                      [TIMED_OUT] = stop_for_timeout,
                      [RESTART] = stop_for_restart,
                      [DELETE] = end_jail},
    [LIFE_PROBING] = {[ANSWERED] = become_ready,
                      [TREE_ENDED] = drain,
                      [TIMED_OUT] = stop_for_timeout,
                      [RESTART] = stop_for_restart,
                      [DELETE] = end_jail},
    [LIFE_READY] = {[TREE_ENDED] = drain, [RESTART] = stop_for_restart, [DELETE] = end_jail},
    [LIFE_DRAINING] = {[DRAINED] = die, [RESTART] = launch_again, [DELETE] = end_jail},
    [LIFE_STOPPING] = {[TREE_ENDED] = after_stop,
                       [TREE_REFUSED] = after_stop,
                       [RESTART] = restart_after_stop,
                       [DELETE] = end_jail},
    [LIFE_DEAD] = {[RESTART] = launch_again, [DELETE] = end_jail},
};

static void happen(struct kernel *kernel, enum happening happening) {
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
    kernel->link_to_kernel = link_create_take(kernel->context->loop, kernel->context->zmq,
                                              slice_from_text(kernel->key), packet->fds, &events);
    for (size_t i = 0; i < packet->fd_count; i++)
        packet->fds[i] = -1;
    kernel->life = LIFE_LINKING;
}

void kernel_on_linked(void *context) {
    happen(context, LINKED);
}

void kernel_on_link_failed(void *context, const struct err *err) {
    struct kernel *kernel = context;
    kernel_set_fate(kernel, REASON_failed, slice_from_text(err->text));
    happen(kernel, LINK_FAILED);
}

void kernel_on_drained(void *context) {
    happen(context, DRAINED);
}

void kernel_on_answer(struct kernel *kernel, enum msg_channel channel) {
    if (channel == MSG_SHELL)
        kernel->shell_answered = true;
    if (channel == MSG_IOPUB)
        kernel->iopub_answered = true;
    if (kernel->shell_answered && kernel->iopub_answered)
        happen(kernel, ANSWERED);
}

void kernel_on_tree_ended(struct kernel *kernel, const struct rpc_packet *packet) {
    forget_tree(kernel);
    if (kernel->life != LIFE_STOPPING)
        kernel_read_fate(kernel, packet);
    happen(kernel, TREE_ENDED);
}

static void on_deadline(void *context) {
    happen(context, TIMED_OUT);
}

static void on_probe_timer(void *context) {
    probe(context);
}

/* -- what clients ask ------------------------------------------------------------------------- */

void kernel_restart(struct kernel *kernel, struct kernel_waiter *waiter) {
    list_append(&kernel->waiters, &waiter->link);
    happen(kernel, RESTART);
}

void kernel_delete(struct kernel *kernel, struct kernel_waiter *waiter) {
    fail_waiters(kernel, ECANCELED, reason_entry(REASON_deleted)->sentence);
    if (waiter)
        list_append(&kernel->waiters, &waiter->link);
    happen(kernel, DELETE);
}

/* Dead, or about to be. */
static bool is_doomed(const struct kernel *kernel) {
    return kernel->life == LIFE_DEAD || kernel->life == LIFE_DRAINING ||
           (kernel->life == LIFE_STOPPING && kernel->fate.reason != REASON_NONE);
}

int kernel_interrupt(struct kernel *kernel, struct err *err) {
    if (is_doomed(kernel))
        return err_set(err, ESRCH, "the kernel is dead: %s", kernel->fate.sentence);
    if (kernel->life != LIFE_READY)
        return err_set(err, EBUSY, "the kernel is %s: there is nothing to interrupt yet",
                       kernel_execution_state(kernel));
    if (kernel->interrupt_by_message) {
        kernel_ask(kernel, MSG_CONTROL, "interrupt_request");
        return 0;
    }
    struct rpc_tree_signal body = {
        .head.kind = RPC_TREE_SIGNAL, .tree = kernel->tree, .signal = SIGINT};
    warden_request(kernel->context->warden, &body, sizeof body, (struct slice){0}, NULL, NULL);
    return 0;
}

const char *kernel_execution_state(const struct kernel *kernel) {
    static const char *const names[LIFE_COUNT] = {
        [LIFE_JAILING] = "starting", [LIFE_LAUNCHING] = "starting",  [LIFE_LINKING] = "starting",
        [LIFE_PROBING] = "starting", [LIFE_STOPPING] = "restarting", [LIFE_ENDING] = "terminating",
    };
    if (is_doomed(kernel))
        return "dead";
    if (kernel->life == LIFE_READY)
        return pending_is_busy(&kernel->pending) ? "busy" : "idle";
    return names[kernel->life];
}

const char *kernel_reason(const struct kernel *kernel) {
    return is_doomed(kernel) ? kernel->fate.sentence : NULL;
}

/* -- life itself ------------------------------------------------------------------------------ */

struct kernel *kernel_create(struct kernels *kernels, const struct kernels_context *context,
                             const struct kernel_start *start) {
    struct kernel *kernel = mem_zalloc(1, sizeof *kernel);
    kernel->kernels = kernels;
    kernel->context = context;
    id_make(kernel->uuid);
    id_format(kernel->uuid, kernel->id);
    uint8_t own[ID_BYTES];
    id_make(own);
    id_format(own, kernel->own_session);
    kernel->kernel_session = mem_strdup(kernel->own_session);
    kernel->spec_name = mem_strdup(start->spec->name);
    kernel->spec_number = start->spec->number;
    kernel->interrupt_by_message = start->spec->interrupt_by_message;
    cleanup_text struct text environment = {0};
    text_append(&environment, start->environment);
    text_append_format(&environment, "KERNEL_ID=%s", kernel->id);
    text_append(&environment, slice_make("", 1));
    kernel->environment = bytes_copy(text_slice(&environment));
    kernel->launch_timeout_ms =
        start->launch_timeout_ms ? start->launch_timeout_ms : context->params->launch_timeout_ms;
    kernel->deadline = loop_timer_create(context->loop, on_deadline, kernel);
    kernel->probe = loop_timer_create(context->loop, on_probe_timer, kernel);
    list_init(&kernel->waiters);
    list_init(&kernel->clients);
    list_init(&kernel->waiting);
    pending_init(&kernel->pending);
    kernel->last_activity_us = id_now_us();
    launch(kernel);
    return kernel;
}

void kernel_destroy(struct kernel *kernel) {
    drop_link(kernel);
    loop_timer_destroy(kernel->deadline);
    loop_timer_destroy(kernel->probe);
    kernel_drop_waiting(kernel);
    pending_finish(&kernel->pending);
    mem_free(kernel->fate.sentence);
    bytes_unref(kernel->environment);
    bytes_unref(kernel->info);
    mem_free(kernel->spec_name);
    mem_free(kernel->kernel_session);
    mem_free(kernel);
}
