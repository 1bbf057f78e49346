/* Restart at every moment of a kernel's life. */
#include <errno.h>

#include "guest.h"
#include "played.h"

struct scene {
    struct rig rig;
    struct kernel *kernel;
    struct guest guest;
    struct waiter waiter;
};

static void begin(struct scene *scene) {
    rig_begin(&scene->rig);
    scene->kernel = rig_start(&scene->rig);
    guest_attach(&scene->guest, scene->kernel, "g");
}

static void end(struct scene *scene) {
    guest_finish(&scene->guest);
    rig_end(&scene->rig);
}

/* The new tree answers, and nothing of the old one is left. */
static void expect_service(struct scene *scene, struct waiter *waiter) {
    UNTIL(&scene->rig, waiter->told);
    assert_int_equal(waiter->code, 0);
    assert_true(is_state(scene->kernel, "idle"));
    assert_null(kernel_reason(scene->kernel));
    assert_int_equal(guest_count(&scene->guest, "iopub status:idle -"), 1);
    guest_forget_log(&scene->guest);
    guest_ask(&scene->guest, MSG_SHELL, "execute_request", "after");
    struct played *played = played_newest(&scene->rig);
    UNTIL(&scene->rig, played_got(played, "after"));
    assert_int_equal(played->asked_count, 1);
    played_serve(played, played->asked[0]);
    UNTIL(&scene->rig, scene->guest.heard && guest_count(&scene->guest, "iopub status:idle after"));
    UNTIL(&scene->rig, guest_count(&scene->guest, "shell execute_reply:ok after"));
    assert_int_equal(waiter->told, 1);
    assert_ptr_equal(scene->rig.played.next, scene->rig.played.previous);
}

/* Four ends that say so, before the status of the new kernel. */
static void ends_what_is_open_before_it_says_starting(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    UNTIL(&scene.rig, is_state(scene.kernel, "idle"));
    struct played *played = played_newest(&scene.rig);
    char key[40];
    snprintf(key, sizeof key, "%s", played->connection.key);
    for (int i = 1; i <= 4; i++)
        guest_ask(&scene.guest, MSG_SHELL, "execute_request", (char[]){(char)('0' + i), 0});
    UNTIL(&scene.rig, played_got(played, "4"));
    played_status(played, played_got(played, "1"), "busy");
    UNTIL(&scene.rig, is_state(scene.kernel, "busy"));
    guest_forget_log(&scene.guest);
    kernel_restart(scene.kernel, waiter_init(&scene.waiter));
    assert_string_equal(guest_log(&scene.guest), "iopub error:KernelRestarted 1\n"
                                                 "shell execute_reply:error 1\n"
                                                 "iopub status:idle 1\n"
                                                 "iopub error:KernelRestarted 2\n"
                                                 "shell execute_reply:error 2\n"
                                                 "iopub status:idle 2\n"
                                                 "iopub error:KernelRestarted 3\n"
                                                 "shell execute_reply:error 3\n"
                                                 "iopub status:idle 3\n"
                                                 "iopub error:KernelRestarted 4\n"
                                                 "shell execute_reply:error 4\n"
                                                 "iopub status:idle 4\n"
                                                 "iopub status:starting -\n");
    assert_non_null(strstr(scene.guest.evalue, "restarted"));
    assert_true(is_state(scene.kernel, "restarting"));
    assert_int_equal(scene.guest.ended, 0); /* the socket stays */
    expect_service(&scene, &scene.waiter);
    assert_int_equal(scene.rig.received[RPC_JAIL_CREATE], 1);
    assert_int_equal(scene.rig.received[RPC_TREE_KILL], 1);
    assert_int_equal(scene.rig.received[RPC_TREE_START], 2);
    assert_string_not_equal(played_newest(&scene.rig)->connection.key, key);
    end(&scene);
}

/* What comes while it restarts waits for the new tree. */
static void keeps_what_comes_meanwhile(void **state) {
    (void)state;
    struct scene scene;
    struct err err;
    begin(&scene);
    UNTIL(&scene.rig, is_state(scene.kernel, "idle"));
    scene.rig.held_kind = RPC_TREE_KILL;
    kernel_restart(scene.kernel, waiter_init(&scene.waiter));
    guest_ask(&scene.guest, MSG_SHELL, "execute_request", "a");
    guest_ask(&scene.guest, MSG_SHELL, "execute_request", "b");
    assert_int_equal(kernel_interrupt(scene.kernel, -1, &err), -EBUSY);
    assert_non_null(strstr(err.text, "restarting"));
    UNTIL(&scene.rig, scene.rig.is_held);
    rig_answer_held(&scene.rig);
    UNTIL(&scene.rig, scene.waiter.told);
    struct played *played = played_newest(&scene.rig);
    UNTIL(&scene.rig, played_got(played, "b"));
    assert_string_equal(played->asked[0]->msg_id, "a");
    assert_string_equal(guest_log(&scene.guest), "iopub status:starting -\n"
                                                 "iopub status:idle -\n");
    end(&scene);
}

static void joins_a_start_that_has_no_tree_yet(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    guest_ask(&scene.guest, MSG_SHELL, "history_request", "early");
    kernel_restart(scene.kernel, waiter_init(&scene.waiter)); /* the jail is being made */
    assert_true(is_state(scene.kernel, "starting"));
    UNTIL(&scene.rig, scene.waiter.told);
    assert_int_equal(scene.waiter.code, 0);
    assert_int_equal(scene.rig.received[RPC_TREE_START], 1);
    UNTIL(&scene.rig, played_got(played_newest(&scene.rig), "early"));
    end(&scene);
}

/* In the middle of a start: launching (no sockets yet) and probing (no answer yet). */
static void starts_over_what_is_starting(void **state) {
    (void)state;
    for (int is_probing = 0; is_probing <= 1; is_probing++) {
        struct scene scene;
        begin(&scene);
        scene.rig.no_sockets = !is_probing;
        scene.rig.mute = true;
        guest_ask(&scene.guest, MSG_SHELL, "execute_request", "early");
        UNTIL(&scene.rig,
              played_newest(&scene.rig) && (!is_probing || played_newest(&scene.rig)->probes));
        scene.rig.no_sockets = scene.rig.mute = false;
        kernel_restart(scene.kernel, waiter_init(&scene.waiter));
        assert_int_equal(guest_count(&scene.guest, "iopub error:KernelRestarted early"), 1);
        assert_int_equal(guest_count(&scene.guest, "iopub status:starting -"), 1);
        expect_service(&scene, &scene.waiter);
        end(&scene);
    }
}

static void twice_is_once(void **state) {
    (void)state;
    struct scene scene;
    struct waiter second, third;
    begin(&scene);
    UNTIL(&scene.rig, is_state(scene.kernel, "idle"));
    scene.rig.held_kind = RPC_TREE_KILL;
    kernel_restart(scene.kernel, waiter_init(&scene.waiter));
    kernel_restart(scene.kernel, waiter_init(&second));
    UNTIL(&scene.rig, scene.rig.is_held);
    kernel_restart(scene.kernel, waiter_init(&third));
    rig_answer_held(&scene.rig);
    UNTIL(&scene.rig, scene.waiter.told && second.told && third.told);
    assert_int_equal(second.code, 0);
    assert_int_equal(third.code, 0);
    assert_int_equal(guest_count(&scene.guest, "iopub status:starting -"), 1);
    expect_service(&scene, &scene.waiter);
    assert_int_equal(scene.rig.received[RPC_TREE_START], 2);
    assert_int_equal(second.told, 1);
    end(&scene);
}

static void tells_why_it_failed(void **state) {
    (void)state;
    struct scene scene;
    struct waiter again;
    begin(&scene);
    UNTIL(&scene.rig, is_state(scene.kernel, "idle"));
    scene.rig.refused_kind = RPC_TREE_START;
    strcpy(scene.rig.refusal, "start tree: no");
    kernel_restart(scene.kernel, waiter_init(&scene.waiter));
    UNTIL(&scene.rig, scene.waiter.told);
    assert_int_equal(scene.waiter.code, EIO);
    assert_string_equal(scene.waiter.text, "start tree: no");
    assert_true(is_state(scene.kernel, "dead"));
    scene.rig.refused_kind = 0;
    kernel_restart(scene.kernel, waiter_init(&again));
    expect_service(&scene, &again);
    end(&scene);
}

/* The answer to the start of a tree that is not wanted any more is a refusal. */
static void starts_again_where_the_old_start_is_refused(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    scene.rig.held_kind = RPC_TREE_START;
    UNTIL(&scene.rig, scene.rig.is_held);
    kernel_restart(scene.kernel, waiter_init(&scene.waiter));
    scene.rig.refused_kind = RPC_TREE_START;
    strcpy(scene.rig.refusal, "start tree: no");
    rig_answer_held(&scene.rig);
    scene.rig.refused_kind = 0;
    expect_service(&scene, &scene.waiter);
    end(&scene);
}

/* It is being killed, since it never answered; the restart comes before that is done. */
static void takes_over_from_an_end(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    scene.rig.mute = true;
    scene.rig.held_kind = RPC_TREE_KILL;
    rig_settle(&scene.rig);
    guest_ask(&scene.guest, MSG_SHELL, "execute_request", "early");
    scene.rig.no_sockets = false;
    played_hang_up(played_newest(&scene.rig)); /* it will be found lost */
    UNTIL(&scene.rig, scene.rig.is_held);
    assert_true(is_state(scene.kernel, "dead"));
    assert_non_null(kernel_reason(scene.kernel));
    scene.rig.mute = false;
    kernel_restart(scene.kernel, waiter_init(&scene.waiter));
    assert_true(is_state(scene.kernel, "restarting"));
    assert_int_equal(guest_count(&scene.guest, "iopub error:KernelRestarted early"), 1);
    assert_int_equal(guest_count(&scene.guest, "iopub status:starting -"), 1);
    rig_answer_held(&scene.rig);
    expect_service(&scene, &scene.waiter);
    end(&scene);
}

/* A waiter may leave (its client did). */
static void forgets_a_waiter_that_left(void **state) {
    (void)state;
    struct scene scene;
    struct waiter gone;
    begin(&scene);
    UNTIL(&scene.rig, is_state(scene.kernel, "idle"));
    kernel_restart(scene.kernel, waiter_init(&gone));
    kernel_restart(scene.kernel, waiter_init(&scene.waiter));
    list_remove(&gone.waiter.link);
    expect_service(&scene, &scene.waiter);
    assert_int_equal(gone.told, 0);
    end(&scene);
}

/* Whoever is told may come back at once, and may take the next one with him. */
struct meddler {
    struct kernel_waiter waiter;
    struct kernel *kernel;
    struct waiter *victim, *next;
    int told;
};

static void meddle(struct kernel_waiter *base, const struct err *err) {
    struct meddler *meddler = LIST_ENTRY(base, struct meddler, waiter);
    assert_int_equal(err->code, EIO);
    meddler->told++;
    list_remove(&meddler->victim->waiter.link);
    kernel_restart(meddler->kernel, waiter_init(meddler->next));
}

static void lets_a_waiter_meddle(void **state) {
    (void)state;
    struct scene scene;
    struct waiter victim, next;
    begin(&scene);
    UNTIL(&scene.rig, is_state(scene.kernel, "idle"));
    struct meddler meddler = {{.done = meddle}, scene.kernel, &victim, &next, 0};
    list_init(&meddler.waiter.link);
    scene.rig.no_sockets = true;
    kernel_restart(scene.kernel, &meddler.waiter);
    kernel_restart(scene.kernel, waiter_init(&victim));
    UNTIL(&scene.rig, scene.rig.received[RPC_TREE_START] == 2);
    scene.rig.no_sockets = false;
    played_die(played_newest(&scene.rig), RPC_CAUSE_FAILED, 0, "no");
    UNTIL(&scene.rig, meddler.told);
    assert_int_equal(victim.told, 0);
    expect_service(&scene, &next);
    end(&scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_what_is_open_before_it_says_starting),
        cmocka_unit_test(keeps_what_comes_meanwhile),
        cmocka_unit_test(joins_a_start_that_has_no_tree_yet),
        cmocka_unit_test(starts_over_what_is_starting),
        cmocka_unit_test(twice_is_once),
        cmocka_unit_test(tells_why_it_failed),
        cmocka_unit_test(starts_again_where_the_old_start_is_refused),
        cmocka_unit_test(takes_over_from_an_end),
        cmocka_unit_test(forgets_a_waiter_that_left),
        cmocka_unit_test(lets_a_waiter_meddle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
