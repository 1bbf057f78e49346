/* kernel_clients - who is attached to a kernel, and what can be asked of it without changing it. */
#include <string.h>

#include "loop/loop.h"
#include "session/kernel_parts.h"

const char *kernel_id(const struct kernel *kernel) {
    return kernel->id;
}

const char *kernel_spec_name(const struct kernel *kernel) {
    return kernel->spec_name;
}

bool kernel_is_doomed(const struct kernel *kernel) {
    return kernel->life == LIFE_DEAD || kernel->life == LIFE_DRAINING ||
           (kernel->life == LIFE_STOPPING && kernel->fate.reason != REASON_NONE);
}

bool kernel_is_dead(const struct kernel *kernel) {
    return kernel_is_doomed(kernel) && kernel_sequel(kernel) == SEQUEL_DEATH;
}

const char *kernel_execution_state(const struct kernel *kernel) {
    static const char *const sequels[SEQUEL_COUNT] = {
        [SEQUEL_DEATH] = "dead",
        [SEQUEL_REVIVAL] = "restarting",
        [SEQUEL_RESTART] = "restarting",
        [SEQUEL_REMOVAL] = "terminating",
    };
    if (kernel->life == LIFE_ENDING)
        return "terminating";
    if (kernel_is_doomed(kernel))
        return sequels[kernel_sequel(kernel)];
    if (kernel->life == LIFE_READY)
        return kernel->pending.busy || kernel->busy_with ? "busy" : "idle";
    return kernel->starts_again ? "restarting" : "starting";
}

const char *kernel_reason(const struct kernel *kernel) {
    bool was_wanted = kernel->shutdown_asked;
    return kernel_is_doomed(kernel) && !was_wanted ? kernel->fate.sentence : kernel->last_end;
}

json_t *kernel_parameters(const struct kernel *kernel) {
    return kernel->parameters;
}

int64_t kernel_last_activity_us(const struct kernel *kernel) {
    return kernel->last_activity_us;
}

/* Its date never goes back, whatever becomes of the machine's clock. */
void kernel_note_activity(struct kernel *kernel) {
    int64_t now_us = id_now_us();
    if (now_us > kernel->last_activity_us)
        kernel->last_activity_us = now_us;
    kernel->active_ms = loop_now_ms(kernel->context->loop);
}

unsigned kernel_connections(const struct kernel *kernel) {
    unsigned count = 0;
    const struct seat *seat;
    list_for_each (seat, &kernel->seats, link)
        count += seat->client != NULL;
    return count;
}

/* The newest socket of a session_id wins: JupyterLab's server opens two at once, and the older one
 * is a zombie (contract 1.2). */
static void replace_older(struct kernel *kernel, struct seat *seat) {
    struct kernel_client *older = seat->client;
    seat_leave(kernel, seat, false);
    older->seat = NULL;
    older->on_end(older, REASON_NONE);
}

/* The seat that its session_id has already, or a new one. */
static struct seat *find_seat(struct kernel *kernel, const char *session_id) {
    struct seat *seat = *session_id ? seat_find(kernel, session_id) : NULL;
    if (seat && seat->client)
        replace_older(kernel, seat);
    if (!seat) {
        seat = seat_create(kernel, session_id);
        if (*session_id)
            pending_adopt(&kernel->pending, seat, session_id);
    }
    return seat;
}

/* What somebody who comes in the middle could not know. The parent of the busy is what runs: pages
 * take no state from a status that their own kernel_info_request caused (contract 1.2). */
static void say_state(struct kernel *kernel, struct seat *seat) {
    const struct request *request = pending_find_busy(&kernel->pending);
    if (kernel->life == LIFE_DEAD)
        kernel_say_dead(kernel, seat);
    else if (strcmp(kernel_execution_state(kernel), "busy") == 0)
        kernel_say_status(kernel, seat, "busy",
                          request ? slice_from_text(request->header) : (struct slice){0});
}

void kernel_attach(struct kernel *kernel, struct kernel_client *client) {
    struct seat *seat = find_seat(kernel, client->session_id);
    seat->client = client;
    client->seat = seat;
    if (kernel->link_to_kernel)
        link_wake(kernel->link_to_kernel);
    seat_catch_up(kernel, seat);
    say_state(kernel, seat);
}

void kernel_detach(struct kernel *kernel, struct kernel_client *client, enum departure departure) {
    struct seat *seat = client->seat;
    client->seat = NULL;
    if (departure != LEFT_FOR_GOOD && *seat->session_id) {
        seat_leave(kernel, seat, departure == LEFT_SUDDENLY);
        kernel_on_absences(kernel);
    } else
        seat_destroy(kernel, seat);
}

void kernel_catch_up(struct kernel *kernel, struct kernel_client *client) {
    seat_catch_up(kernel, client->seat);
}

void kernel_send_away(struct kernel *kernel, enum reason reason) {
    struct seat *seat;
    list_for_each (seat, &kernel->seats, link) {
        struct kernel_client *client = seat->client;
        seat_destroy(kernel, seat);
        if (!client)
            continue;
        client->seat = NULL;
        client->on_end(client, reason);
    }
}
