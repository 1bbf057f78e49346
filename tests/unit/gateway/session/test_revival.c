/* What follows a kernel's end: which ends start it again, in which order clients hear of it, how
 * often it happens, and what GET says meanwhile. */
#include <errno.h>
#include <signal.h>

#include "guest.h"
#include "played.h"

struct scene {
    struct rig rig;
    struct kernel *kernel;
    struct guest guest;
};

static void begin(struct scene *scene, unsigned restart_limit) {
    rig_begin(&scene->rig);
    scene->rig.params.restart_limit = restart_limit;
    scene->rig.params.stable_start_ms = RIG_LIMIT_MS;
    scene->kernel = rig_start_ready(&scene->rig);
    guest_attach(&scene->guest, scene->kernel, "g");
}

static void end(struct scene *scene) {
    guest_finish(&scene->guest);
    rig_end(&scene->rig);
}

static void ask(struct scene *scene, const char *msg_id) {
    guest_ask(&scene->guest, MSG_SHELL, "execute_request", msg_id);
    UNTIL(&scene->rig, played_got(played_newest(&scene->rig), msg_id));
}

/* A signal ends it; the next tree answers. */
static void die_and_live(struct scene *scene) {
    unsigned starts = scene->rig.received[RPC_TREE_START];
    played_die(played_newest(&scene->rig), RPC_CAUSE_SIGNAL, SIGKILL, "");
    UNTIL(&scene->rig, scene->rig.received[RPC_TREE_START] == starts + 1);
    UNTIL(&scene->rig, is_state(scene->kernel, "idle"));
}

/* All ends come before `restarting`, by which @jupyterlab/services cancels what is open. */
static void ends_what_is_open_then_says_restarting(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene, 5);
    ask(&scene, "a");
    ask(&scene, "b");
    played_status(played_newest(&scene.rig), played_got(played_newest(&scene.rig), "a"), "busy");
    UNTIL(&scene.rig, is_state(scene.kernel, "busy"));
    guest_forget_log(&scene.guest);
    played_die(played_newest(&scene.rig), RPC_CAUSE_SIGNAL, SIGKILL, "");
    UNTIL(&scene.rig, !is_state(scene.kernel, "busy"));
    assert_true(is_state(scene.kernel, "restarting"));
    assert_string_equal(kernel_reason(scene.kernel), "the kernel was ended by signal 9 (SIGKILL)");
    UNTIL(&scene.rig, is_state(scene.kernel, "idle"));
    assert_string_equal(guest_log(&scene.guest), "iopub error:KernelDied a\n"
                                                 "shell execute_reply:error a\n"
                                                 "iopub status:idle a\n"
                                                 "iopub error:KernelDied b\n"
                                                 "shell execute_reply:error b\n"
                                                 "iopub status:idle b\n"
                                                 "iopub status:restarting -\n"
                                                 "iopub status:idle -\n");
    assert_string_equal(scene.guest.evalue, kernel_reason(scene.kernel)); /* it still tells */
    assert_string_equal(scene.rig.troubles.data,
                        "the kernel was ended by signal 9 (SIGKILL); it is started again\n");
    assert_int_equal(scene.rig.received[RPC_JAIL_CREATE], 1);
    assert_int_equal(scene.rig.received[RPC_JAIL_END], 0);
    assert_int_equal(scene.guest.ended, 0);
    end(&scene);
}

static void sends_what_comes_meanwhile_to_the_new_kernel(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene, 5);
    scene.rig.mute = true;
    played_die(played_newest(&scene.rig), RPC_CAUSE_OOM, 9, "");
    UNTIL(&scene.rig, guest_count(&scene.guest, "iopub status:restarting -"));
    guest_ask(&scene.guest, MSG_SHELL, "execute_request", "a");
    guest_ask(&scene.guest, MSG_SHELL, "execute_request", "b");
    UNTIL(&scene.rig, played_newest(&scene.rig) && played_newest(&scene.rig)->probes);
    scene.rig.mute = false;
    UNTIL(&scene.rig, is_state(scene.kernel, "idle"));
    struct played *played = played_newest(&scene.rig);
    UNTIL(&scene.rig, played_got(played, "b"));
    assert_string_equal(played->asked[0]->msg_id, "a");
    end(&scene);
}

/* The causes of an end in a row each: what a kernel that was ready is then. */
static void follows_the_table(void **state) {
    (void)state;
    static const struct {
        enum rpc_cause cause;
        int status;
        const char *shutdown; /* content of the shutdown_request before it */
        const char *state;    /* at last; "" where it is gone */
    } rows[] = {
        {RPC_CAUSE_EXIT, 0, NULL, "idle"},
        {RPC_CAUSE_EXIT, 3, NULL, "idle"},
        {RPC_CAUSE_SIGNAL, 9, NULL, "idle"},
        {RPC_CAUSE_OOM, 9, NULL, "idle"},
        {RPC_CAUSE_KILLED, 0, NULL, "idle"},
        {RPC_CAUSE_FAILED, 0, NULL, "dead"},
        {RPC_CAUSE_EXIT, 0, "{}", ""},
        {RPC_CAUSE_SIGNAL, 9, "{\"restart\":false}", ""},
        {RPC_CAUSE_EXIT, 0, "{\"restart\":true}", "idle"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct scene scene;
        char id[40];
        begin(&scene, 5);
        struct played *first = played_newest(&scene.rig);
        snprintf(id, sizeof id, "%s", kernel_id(scene.kernel));
        if (rows[i].shutdown) {
            guest_ask_as(&scene.guest, MSG_CONTROL, "shutdown_request", "down", "s",
                         slice_from_text(rows[i].shutdown));
            UNTIL(&scene.rig, played_got(first, "down"));
        }
        played_die(first, rows[i].cause, rows[i].status, "");
        if (!*rows[i].state)
            UNTIL(&scene.rig, !kernels_find(scene.rig.kernels, id));
        else
            UNTIL(&scene.rig, is_state(scene.kernel, rows[i].state) &&
                                  (kernel_reason(scene.kernel) || rows[i].shutdown) &&
                                  guest_count(&scene.guest, "iopub status:idle -") +
                                      guest_count(&scene.guest, "iopub status:dead -"));
        rig_settle(&scene.rig);
        assert_int_equal(scene.rig.received[RPC_TREE_START],
                         strcmp(rows[i].state, "idle") == 0 ? 2 : 1);
        end(&scene);
    }
}

static void stops_at_the_limit_and_says_so(void **state) {
    (void)state;
    struct scene scene;
    struct waiter waiter;
    begin(&scene, 2);
    die_and_live(&scene);
    die_and_live(&scene);
    ask(&scene, "a");
    played_die(played_newest(&scene.rig), RPC_CAUSE_SIGNAL, SIGKILL, "");
    UNTIL(&scene.rig, guest_count(&scene.guest, "iopub status:dead -"));
    assert_true(is_state(scene.kernel, "dead"));
    assert_string_equal(kernel_reason(scene.kernel),
                        "the kernel was ended by signal 9 (SIGKILL); it had been started again 2 "
                        "times in a row, which is all that restart_limit allows");
    assert_string_equal(scene.guest.evalue, kernel_reason(scene.kernel));
    rig_settle(&scene.rig);
    assert_int_equal(scene.rig.received[RPC_TREE_START], 3);
    /* Who restarts it has forgiven it. */
    kernel_restart(scene.kernel, waiter_init(&waiter));
    UNTIL(&scene.rig, waiter.told);
    assert_int_equal(waiter.code, 0);
    assert_null(kernel_reason(scene.kernel));
    die_and_live(&scene);
    assert_string_equal(kernel_reason(scene.kernel), "the kernel was ended by signal 9 (SIGKILL)");
    end(&scene);
}

static void begins_a_new_row_after_a_stable_start(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene, 1);
    scene.rig.params.stable_start_ms = 0;
    for (int i = 0; i < 4; i++) {
        die_and_live(&scene);
        rig_settle(&scene.rig); /* longer than no time at all */
    }
    end(&scene);
}

/* One that was revived and then does not start: no loop, and its own reason. */
static void stays_dead_where_the_new_start_fails(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene, 5);
    scene.rig.no_sockets = true;
    played_die(played_newest(&scene.rig), RPC_CAUSE_SIGNAL, SIGKILL, "");
    UNTIL(&scene.rig, scene.rig.received[RPC_TREE_START] == 2 && played_newest(&scene.rig));
    assert_true(is_state(scene.kernel, "restarting"));
    played_die(played_newest(&scene.rig), RPC_CAUSE_EXIT, 1, "no room");
    UNTIL(&scene.rig, guest_count(&scene.guest, "iopub status:dead -"));
    rig_settle(&scene.rig);
    assert_int_equal(scene.rig.received[RPC_TREE_START], 2);
    assert_string_equal(kernel_reason(scene.kernel),
                        "the kernel left by itself with exit status 1: no room");
    end(&scene);
}

/* Restart and deletion are taken at any moment of it, and an interrupt is refused. */
static void may_be_restarted_or_deleted_meanwhile(void **state) {
    (void)state;
    for (int is_deletion = 0; is_deletion <= 1; is_deletion++) {
        struct scene scene;
        struct waiter waiter;
        struct err err;
        begin(&scene, 5);
        scene.rig.mute = true;
        played_die(played_newest(&scene.rig), RPC_CAUSE_SIGNAL, SIGKILL, "");
        UNTIL(&scene.rig, scene.rig.received[RPC_TREE_START] == 2 && played_newest(&scene.rig));
        assert_int_equal(kernel_interrupt(scene.kernel, -1, &err), -EBUSY);
        assert_true(kernel_is_starting(scene.kernel));
        scene.rig.mute = false;
        if (is_deletion)
            kernel_delete(scene.kernel, waiter_init(&waiter));
        else
            kernel_restart(scene.kernel, waiter_init(&waiter));
        UNTIL(&scene.rig, waiter.told);
        assert_int_equal(waiter.code, 0);
        if (!is_deletion)
            assert_null(kernel_reason(scene.kernel));
        end(&scene);
    }
}

/* An absent client need not be told to connect anew: it does. */
static void tells_restarting_to_nobody_who_is_away(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene, 5);
    ask(&scene, "a");
    guest_leave(&scene.guest);
    die_and_live(&scene);
    guest_attach(&scene.guest, scene.kernel, "g");
    assert_string_equal(guest_log(&scene.guest), "iopub error:KernelDied a\n"
                                                 "shell execute_reply:error a\n"
                                                 "iopub status:idle a\n"
                                                 "iopub status:idle -\n");
    end(&scene);
}

/* -- an interrupt with a time limit ----------------------------------------------------------- */

static void ends_a_kernel_that_does_not_heed_an_interrupt(void **state) {
    (void)state;
    struct scene scene;
    struct err err;
    begin(&scene, 5);
    ask(&scene, "a");
    struct played *played = played_newest(&scene.rig);
    played_status(played, played_got(played, "a"), "busy");
    UNTIL(&scene.rig, is_state(scene.kernel, "busy"));
    assert_int_equal(kernel_interrupt(scene.kernel, 1, &err), 0);
    UNTIL(&scene.rig, guest_count(&scene.guest, "iopub status:restarting -"));
    assert_int_equal(guest_count(&scene.guest, "iopub error:KernelInterrupted a"), 1);
    assert_non_null(strstr(scene.guest.seen_metadata.data, "\"reason\":\"interrupted\""));
    UNTIL(&scene.rig, is_state(scene.kernel, "idle"));
    assert_int_equal(scene.rig.received[RPC_TREE_KILL], 1);
    end(&scene);
}

/* What ran has ended, though something else runs when the time is over. */
static void lets_a_kernel_live_that_heeds_an_interrupt(void **state) {
    (void)state;
    struct scene scene;
    struct err err;
    begin(&scene, 5);
    assert_int_equal(kernel_interrupt(scene.kernel, 0, &err), 0); /* nothing runs */
    ask(&scene, "a");
    ask(&scene, "b");
    struct played *played = played_newest(&scene.rig);
    played_status(played, played_got(played, "a"), "busy");
    UNTIL(&scene.rig, is_state(scene.kernel, "busy"));
    assert_int_equal(kernel_interrupt(scene.kernel, 300, &err), 0);
    played_reply(played, played_got(played, "a"), "error");
    played_status(played, played_got(played, "a"), "idle");
    played_status(played, played_got(played, "b"), "busy");
    UNTIL(&scene.rig, guest_count(&scene.guest, "iopub status:busy b"));
    int64_t begin_ms = loop_now_ms(scene.rig.loop);
    UNTIL(&scene.rig, loop_now_ms(scene.rig.loop) > begin_ms + 600);
    assert_true(is_state(scene.kernel, "busy"));
    assert_int_equal(scene.rig.received[RPC_TREE_KILL], 0);
    end(&scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_what_is_open_then_says_restarting),
        cmocka_unit_test(sends_what_comes_meanwhile_to_the_new_kernel),
        cmocka_unit_test(follows_the_table),
        cmocka_unit_test(stops_at_the_limit_and_says_so),
        cmocka_unit_test(begins_a_new_row_after_a_stable_start),
        cmocka_unit_test(stays_dead_where_the_new_start_fails),
        cmocka_unit_test(may_be_restarted_or_deleted_meanwhile),
        cmocka_unit_test(tells_restarting_to_nobody_who_is_away),
        cmocka_unit_test(ends_a_kernel_that_does_not_heed_an_interrupt),
        cmocka_unit_test(lets_a_kernel_live_that_heeds_an_interrupt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
