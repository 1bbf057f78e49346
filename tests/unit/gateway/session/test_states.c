/* What GET says of a kernel at every moment of its life, and that its last activity never goes
 * back. A row is what happens and what is then true, at once or after a while. */
#include <signal.h>

#include "guest.h"
#include "played.h"
#include "session/kernel_parts.h"

struct scene {
    struct rig rig;
    struct kernel *kernel;
    struct guest guest;
    struct waiter waiter;
};

static struct played *newest(struct scene *scene) {
    UNTIL(&scene->rig, played_newest(&scene->rig));
    return played_newest(&scene->rig);
}

/* -- what happens ----------------------------------------------------------------------------- */

static void create(struct scene *scene) {
    scene->rig.held_kind = RPC_JAIL_CREATE;
    scene->kernel = rig_start(&scene->rig);
    guest_attach(&scene->guest, scene->kernel, "");
}

static void make_jail(struct scene *scene) {
    UNTIL(&scene->rig, scene->rig.is_held);
    scene->rig.held_kind = 0;
    scene->rig.no_sockets = scene->rig.mute = true;
    rig_answer_held(&scene->rig);
    newest(scene);
}

static void make_sockets(struct scene *scene) {
    played_hand_over(newest(scene));
    UNTIL(&scene->rig, newest(scene)->probes);
    scene->rig.no_sockets = false;
}

static void answer(struct scene *scene) {
    scene->rig.mute = false;
}

static void run(struct scene *scene) {
    guest_ask(&scene->guest, MSG_SHELL, "execute_request", "a");
    UNTIL(&scene->rig, played_got(newest(scene), "a"));
    played_status(newest(scene), played_got(newest(scene), "a"), "busy");
}

static void finish(struct scene *scene) {
    struct asked *cell = played_got(newest(scene), "a");
    played_reply(newest(scene), cell, "ok");
    played_status(newest(scene), cell, "idle");
}

/* The new kernel is silent at first. */
static void die(struct scene *scene) {
    scene->rig.mute = true;
    played_die(newest(scene), RPC_CAUSE_SIGNAL, SIGKILL, "");
}

static void die_at_the_start(struct scene *scene) {
    played_die(newest(scene), RPC_CAUSE_EXIT, 1, "no");
}

static void hold_kill(struct scene *scene) {
    scene->rig.mute = true;
    scene->rig.held_kind = RPC_TREE_KILL;
    kernel_restart(scene->kernel, waiter_init(&scene->waiter));
}

static void let_kill(struct scene *scene) {
    UNTIL(&scene->rig, scene->rig.is_held);
    rig_answer_held(&scene->rig);
}

static void restart(struct scene *scene) {
    kernel_restart(scene->kernel, waiter_init(&scene->waiter));
}

static void interrupt_in_vain(struct scene *scene) {
    struct err err;
    scene->rig.held_kind = RPC_TREE_KILL;
    scene->rig.mute = true;
    assert_int_equal(kernel_interrupt(scene->kernel, 0, &err), 0);
}

static void shut_down(struct scene *scene) {
    guest_ask(&scene->guest, MSG_CONTROL, "shutdown_request", "down");
    UNTIL(&scene->rig, played_got(newest(scene), "down"));
    scene->rig.held_kind = RPC_JAIL_END;
    played_die(newest(scene), RPC_CAUSE_EXIT, 0, "");
}

/* -- what is true ----------------------------------------------------------------------------- */

struct row {
    void (*happens)(struct scene *scene);
    const char *state;
    const char *reason; /* a part of it; NULL: there is none */
};

static const struct row life[] = {
    {create, "starting", NULL},
    {make_jail, "starting", NULL},
    {make_sockets, "starting", NULL},
    {answer, "idle", NULL},
    {run, "busy", NULL},
    {finish, "idle", NULL},
    {run, "busy", NULL},
    {die, "restarting", "SIGKILL"},
    {answer, "idle", "SIGKILL"},
    {run, "busy", "SIGKILL"},
    {hold_kill, "restarting", NULL},
    {let_kill, "restarting", NULL},
    {answer, "idle", NULL},
    {run, "busy", NULL},
    {interrupt_in_vain, "restarting", "interrupt"},
    {let_kill, "restarting", "interrupt"},
    {die_at_the_start, "dead", "exit status 1"},
    {restart, "restarting", NULL},
    {answer, "idle", NULL},
    {shut_down, "terminating", NULL},
};

static bool is_so(const struct scene *scene, const struct row *row) {
    const char *reason = kernel_reason(scene->kernel);
    bool is_reason = row->reason ? reason && strstr(reason, row->reason) : !reason;
    return is_reason && is_state(scene->kernel, row->state);
}

static void are_true_at_every_moment(void **state) {
    (void)state;
    struct scene scene;
    rig_begin(&scene.rig);
    scene.rig.params.restart_limit = 5;
    scene.rig.params.stable_start_ms = RIG_LIMIT_MS;
    for (size_t i = 0; i < sizeof life / sizeof *life; i++) {
        rig_begin_wait(&scene.rig);
        life[i].happens(&scene);
        rig_begin_wait(&scene.rig);
        while (!is_so(&scene, &life[i]))
            if (!rig_turn(&scene.rig))
                fail_msg("row %zu: %s, %s", i, kernel_execution_state(scene.kernel),
                         kernel_reason(scene.kernel));
        rig_settle(&scene.rig);
        if (!is_so(&scene, &life[i]))
            fail_msg("row %zu, later: %s, %s", i, kernel_execution_state(scene.kernel),
                     kernel_reason(scene.kernel));
    }
    guest_finish(&scene.guest);
    rig_end(&scene.rig);
}

/* The machine's clock was put back by an hour. */
static void last_activity_never_goes_back(void **state) {
    (void)state;
    struct scene scene;
    rig_begin(&scene.rig);
    scene.kernel = rig_start_ready(&scene.rig);
    guest_attach(&scene.guest, scene.kernel, "");
    int64_t later_us = scene.kernel->last_activity_us + 3600 * 1000000LL;
    scene.kernel->last_activity_us = later_us;
    run(&scene);
    UNTIL(&scene.rig, is_state(scene.kernel, "busy"));
    assert_int_equal(kernel_last_activity_us(scene.kernel), later_us);
    guest_finish(&scene.guest);
    rig_end(&scene.rig);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(are_true_at_every_moment),
        cmocka_unit_test(last_activity_never_goes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
