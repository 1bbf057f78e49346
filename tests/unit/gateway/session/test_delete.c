/* Deletion at every moment of a kernel's life: told once, asked once, nothing left. */
#include <errno.h>
#include <unistd.h>

#include "guest.h"
#include "played.h"

/* Where a kernel is when it is deleted. */
enum moment { JAILING, LAUNCHING, PROBING, READY, RESTARTING, DEAD, MOMENTS };

static struct kernel *bring_to(struct rig *rig, enum moment moment, struct waiter *restart) {
    rig->no_sockets = moment == LAUNCHING;
    rig->mute = moment == PROBING;
    if (moment == JAILING)
        rig->held_kind = RPC_JAIL_CREATE;
    struct kernel *kernel = rig_start(rig);
    if (moment == JAILING)
        UNTIL(rig, rig->is_held);
    if (moment == LAUNCHING)
        UNTIL(rig, played_newest(rig));
    if (moment == PROBING)
        UNTIL(rig, played_newest(rig) && played_newest(rig)->probes);
    if (moment >= READY)
        UNTIL(rig, is_state(kernel, "idle"));
    if (moment == RESTARTING) {
        rig->held_kind = RPC_TREE_KILL;
        kernel_restart(kernel, waiter_init(restart));
        UNTIL(rig, rig->is_held);
    }
    if (moment == DEAD) {
        played_die(played_newest(rig), RPC_CAUSE_EXIT, 0, "");
        UNTIL(rig, rig->troubles.data);
    }
    return kernel;
}

static void leaves_nothing_at_any_moment(void **state) {
    (void)state;
    for (enum moment moment = 0; moment < MOMENTS; moment++) {
        struct rig rig;
        struct guest guest, nameless;
        struct waiter restart = {0}, deletion;
        char id[40];
        rig_begin(&rig);
        struct kernel *kernel = bring_to(&rig, moment, &restart);
        snprintf(id, sizeof id, "%s", kernel_id(kernel));
        guest_attach(&guest, kernel, "g");
        guest_attach(&nameless, kernel, "");
        guest_forget_log(&guest);
        if (moment != DEAD)
            guest_ask(&guest, MSG_SHELL, "execute_request", "a");
        kernel_delete(kernel, waiter_init(&deletion));
        assert_null(kernels_find(rig.kernels, id));
        assert_int_equal(kernels_count(rig.kernels), 1);
        assert_true(is_state(kernel, "terminating"));
        assert_int_equal(guest.ended, 1);
        assert_int_equal(guest.reason, REASON_deleted);
        assert_int_equal(nameless.ended, 1);
        if (moment != DEAD)
            assert_string_equal(guest_log(&guest), "iopub error:KernelDeleted a\n"
                                                   "shell execute_reply:error a\n"
                                                   "iopub status:idle a\n");
        assert_int_equal(restart.told, moment == RESTARTING);
        assert_int_equal(restart.code, moment == RESTARTING ? ECANCELED : 0);
        if (rig.is_held)
            rig_answer_held(&rig);
        UNTIL(&rig, deletion.told);
        assert_int_equal(deletion.code, 0);
        UNTIL(&rig, kernels_count(rig.kernels) == 0);
        rig_settle(&rig);
        assert_int_equal(deletion.told, 1);
        assert_int_equal(restart.told, moment == RESTARTING);
        assert_int_equal(rig.received[RPC_JAIL_END], 1);
        assert_int_equal(rig.received[RPC_JAIL_CREATE], 1);
        assert_null(played_newest(&rig));
        assert_true(list_is_empty(&rig.jails));
        guest_finish(&guest);
        guest_finish(&nameless);
        rig_end(&rig);
    }
}

/* The answer comes when nothing is left of it, not before. */
static void waits_for_the_warden(void **state) {
    (void)state;
    struct rig rig;
    struct waiter deletion;
    rig_begin(&rig);
    struct kernel *kernel = rig_start_ready(&rig);
    rig.held_kind = RPC_JAIL_END;
    kernel_delete(kernel, waiter_init(&deletion));
    UNTIL(&rig, rig.is_held);
    rig_settle(&rig);
    assert_int_equal(deletion.told, 0);
    assert_int_equal(kernels_count(rig.kernels), 1);
    rig_answer_held(&rig);
    UNTIL(&rig, deletion.told);
    assert_int_equal(kernels_count(rig.kernels), 0);
    rig_end(&rig);
}

/* A jail that the warden cannot end is told to who waits. */
static void tells_where_it_failed(void **state) {
    (void)state;
    struct rig rig;
    struct waiter deletion;
    rig_begin(&rig);
    struct kernel *kernel = rig_start_ready(&rig);
    rig.refused_kind = RPC_JAIL_END;
    strcpy(rig.refusal, "unmount: Device or resource busy");
    kernel_delete(kernel, waiter_init(&deletion));
    UNTIL(&rig, deletion.told);
    assert_int_equal(deletion.code, ENOSPC);
    assert_string_equal(deletion.text, rig.refusal);
    assert_int_equal(kernels_count(rig.kernels), 0);
    rig_end(&rig);
}

static void needs_nobody_who_waits(void **state) {
    (void)state;
    struct rig rig;
    struct waiter gone;
    rig_begin(&rig);
    kernel_delete(rig_start_ready(&rig), NULL);
    kernel_delete(rig_start_ready(&rig), waiter_init(&gone));
    list_remove(&gone.waiter.link); /* its client left */
    UNTIL(&rig, kernels_count(rig.kernels) == 0);
    assert_int_equal(gone.told, 0);
    rig_end(&rig);
}

/* What comes of the old tree after the deletion harms nobody. */
static void ignores_what_the_dying_say(void **state) {
    (void)state;
    struct rig rig;
    struct waiter deletion;
    rig_begin(&rig);
    struct kernel *kernel = rig_start_ready(&rig);
    struct kernel *other = rig_start_ready(&rig);
    struct played *played = LIST_ENTRY(rig.played.next, struct played, link);
    rig.held_kind = RPC_JAIL_END;
    kernel_delete(kernel, waiter_init(&deletion));
    UNTIL(&rig, rig.is_held);
    played_die(played, RPC_CAUSE_SIGNAL, 9, "");
    rig_settle(&rig);
    rig_answer_held(&rig);
    UNTIL(&rig, deletion.told);
    assert_true(is_state(other, "idle"));
    rig_end(&rig);
}

static void nothing(void *context) {
    (void)context;
}

/* libevent keeps a little for each number that a descriptor ever had. */
static void make_loop_know_descriptors(struct rig *rig) {
    int fds[300];
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
        fds[i] = dup(rig->fd);
        loop_watch_destroy(loop_watch_create(rig->loop, fds[i], nothing, NULL));
    }
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        close(fds[i]);
}

/* A hundred kernels come and go: memory and descriptors are what they were after the first ten. */
static void leaks_nothing_in_a_hundred_cycles(void **state) {
    (void)state;
    struct rig rig;
    int descriptors = 0;
    int64_t memory = 0;
    rig_begin(&rig);
    make_loop_know_descriptors(&rig);
    for (int i = 0; i < 100; i++) {
        struct guest guest;
        struct waiter deletion;
        struct kernel *kernel = rig_start_ready(&rig);
        guest_attach(&guest, kernel, "g");
        guest_ask(&guest, MSG_SHELL, "execute_request", "a");
        struct played *played = played_newest(&rig);
        UNTIL(&rig, played_got(played, "a"));
        if (i % 2)
            played_serve(played, played_got(played, "a"));
        if (i % 3 == 0) {
            kernel_restart(kernel, waiter_init(&deletion));
            UNTIL(&rig, deletion.told);
        }
        kernel_delete(kernel, waiter_init(&deletion));
        UNTIL(&rig, deletion.told);
        guest_finish(&guest);
        if (i == 10) {
            rig_settle(&rig);
            descriptors = rig_count_descriptors();
            memory = mem_live();
        }
        /* However late ZeroMQ's threads are, the numbers stay those that the loop knows. */
        if (i > 10)
            UNTIL(&rig, rig_count_descriptors() <= descriptors + 100);
    }
    /* ZeroMQ ends its sockets on a thread of its own. */
    UNTIL(&rig, rig_count_descriptors() <= descriptors && mem_live() <= memory);
    rig_end(&rig);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_nothing_at_any_moment),
        cmocka_unit_test(waits_for_the_warden),
        cmocka_unit_test(tells_where_it_failed),
        cmocka_unit_test(needs_nobody_who_waits),
        cmocka_unit_test(ignores_what_the_dying_say),
        cmocka_unit_test(leaks_nothing_in_a_hundred_cycles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
