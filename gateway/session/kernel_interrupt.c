/* kernel_interrupt - interrupts, by a signal or a message. Its one complication: a client may say
 * how long what runs may go on; whether it still does is known by the request's number. */
#include <errno.h>
#include <signal.h>

#include "loop/loop.h"
#include "session/kernel_parts.h"

/* Watches what runs, if anything does. */
static void watch_obedience(struct kernel *kernel, int64_t grace_ms) {
    const struct request *running = pending_find_busy(&kernel->pending);
    if (grace_ms < 0 || !running)
        return;
    kernel->interrupted = running->number;
    loop_timer_start(kernel->obedience, grace_ms);
}

int kernel_interrupt(struct kernel *kernel, int64_t grace_ms, struct err *err) {
    if (kernel_is_dead(kernel))
        return err_set(err, ESRCH, "the kernel is dead: %s", kernel->fate.sentence);
    if (kernel->life != LIFE_READY)
        return err_set(err, EBUSY, "the kernel is %s: there is nothing to interrupt yet",
                       kernel_execution_state(kernel));
    if (link_queued_bytes(kernel->link_to_kernel) > kernel->context->params->session_pending_bytes)
        return err_set(err, EBUSY,
                       "the kernel reads nothing: more than session_pending_bytes wait");
    watch_obedience(kernel, grace_ms);
    if (kernel->interrupt_by_message)
        kernel_ask(kernel, MSG_CONTROL, "interrupt_request");
    else
        kernel_signal(kernel, SIGINT);
    return 0;
}

bool kernel_heeds_not(const struct kernel *kernel) {
    const struct request *running = pending_find_busy(&kernel->pending);
    return running && running->number == kernel->interrupted;
}

void kernel_on_obedience(void *context) {
    kernel_happen(context, DISOBEYED);
}
