/* Which kernels are ended when nothing is done with them; the table is in docs/sessions.md. That a
 * kernel goes on is known when another one, which began later, is gone: one look judges all. */
#include "guest.h"
#include "played.h"
#include "session/kernel_parts.h"

enum { IDLE_MS = 5, INTERVAL_MS = 5 };

static void begin(struct rig *rig) {
    rig_begin(rig);
    rig->params.cull_interval_ms = INTERVAL_MS;
}

static struct kernel *start(struct rig *rig, int64_t idle_ms) {
    struct kernel_start start = {.spec = &rig->spec, .idle_ms = idle_ms};
    struct kernel *kernel;
    struct err err;
    assert_int_equal(kernels_start(rig->kernels, &start, &kernel, &err), 0);
    return kernel;
}

static bool is_there(const struct rig *rig, const char *id) {
    return kernels_find(rig->kernels, id);
}

/* Until everything has been judged that is as it is since before now. */
static void look(struct rig *rig) {
    char id[40];
    snprintf(id, sizeof id, "%s", kernel_id(start(rig, IDLE_MS)));
    UNTIL(rig, !is_there(rig, id));
}

/* Its guest, there from the start, keeps it until the test lets it go. */
static struct kernel *bring_to(struct rig *rig, struct guest *guest, bool is_busy) {
    struct kernel *kernel = start(rig, IDLE_MS);
    guest_attach(guest, kernel, "g");
    UNTIL(rig, is_state(kernel, "idle"));
    if (!is_busy)
        return kernel;
    guest_ask(guest, MSG_SHELL, "execute_request", "a");
    UNTIL(rig, played_got(played_newest(rig), "a"));
    played_status(played_newest(rig), played_got(played_newest(rig), "a"), "busy");
    UNTIL(rig, is_state(kernel, "busy"));
    return kernel;
}

static void ends_what_the_table_says(void **state) {
    (void)state;
    for (int row = 0; row < 16; row++) {
        bool is_busy = row & 1, is_connected = row & 2;
        bool cull_busy = row & 4, cull_connected = row & 8;
        struct rig rig;
        struct guest guest;
        char id[40];
        begin(&rig);
        snprintf(id, sizeof id, "%s", kernel_id(bring_to(&rig, &guest, is_busy)));
        assert_true(is_there(&rig, id));
        if (!is_connected)
            guest_leave(&guest);
        rig.params.cull_busy = cull_busy;
        rig.params.cull_connected = cull_connected;
        look(&rig);
        bool ends = (cull_busy || !is_busy) && (cull_connected || !is_connected);
        if (is_there(&rig, id) == ends)
            fail_msg("row %d: it is %s", row, ends ? "there" : "gone");
        assert_int_equal(guest.ended, ends && is_connected);
        guest_finish(&guest);
        rig_end(&rig);
    }
}

static void tells_who_is_there(void **state) {
    (void)state;
    struct rig rig;
    struct guest guest;
    begin(&rig);
    rig.params.cull_idle_timeout_ms = IDLE_MS;
    bring_to(&rig, &guest, true);
    guest_forget_log(&guest);
    rig.params.cull_busy = rig.params.cull_connected = true;
    UNTIL(&rig, guest.ended);
    assert_int_equal(guest.reason, REASON_evicted);
    assert_string_equal(guest_log(&guest), "iopub error:KernelEvicted a\n"
                                           "shell execute_reply:error a\n"
                                           "iopub status:idle a\n");
    assert_non_null(strstr(guest.evalue, "the kernel was idle for 0."));
    assert_non_null(strstr(guest.evalue, "cull_idle_timeout_ms allows 5"));
    assert_non_null(strstr(rig.troubles.data, guest.evalue));
    UNTIL(&rig, kernels_count(rig.kernels) == 0);
    guest_finish(&guest);
    rig_end(&rig);
}

/* What has no time of its own, and what does not answer yet. */
static void spares_others(void **state) {
    (void)state;
    struct rig rig;
    begin(&rig);
    struct kernel *endless = start(&rig, 0);
    UNTIL(&rig, is_state(endless, "idle"));
    rig.no_sockets = true;
    struct kernel *starting = start(&rig, IDLE_MS);
    UNTIL(&rig, rig.received[RPC_TREE_START] == 2);
    rig.no_sockets = false;
    look(&rig);
    assert_true(is_state(endless, "idle"));
    assert_true(is_state(starting, "starting"));
    rig_end(&rig);
}

static void ends_the_dead_with_a_sentence(void **state) {
    (void)state;
    struct rig rig;
    struct guest guest;
    begin(&rig);
    rig.refused_kind = RPC_TREE_START;
    strcpy(rig.refusal, "no such program");
    struct kernel *kernel = start(&rig, 0);
    guest_attach(&guest, kernel, "");
    UNTIL(&rig, guest.ended);
    assert_int_equal(guest.reason, REASON_evicted);
    assert_int_equal(guest_count(&guest, "iopub status:dead -"), 1);
    assert_non_null(strstr(rig.troubles.data, "the kernel was dead: no such program"));
    UNTIL(&rig, kernels_count(rig.kernels) == 0);
    guest_finish(&guest);
    rig_end(&rig);
}

/* One that was restarted since it was seen dead has been dead for no whole interval. */
static void counts_each_death_from_its_own_look(void **state) {
    (void)state;
    struct rig rig;
    struct waiter waiter;
    rig_begin(&rig);
    rig.params.cull_interval_ms = RIG_LIMIT_MS * 10; /* no look but this one */
    rig.refused_kind = RPC_TREE_START;
    strcpy(rig.refusal, "no such program");
    struct kernel *kernel = start(&rig, 0);
    UNTIL(&rig, is_state(kernel, "dead"));
    kernel->was_seen_dead = true;
    kernel_restart(kernel, waiter_init(&waiter));
    UNTIL(&rig, waiter.told);
    assert_true(is_state(kernel, "dead"));
    assert_false(kernel->was_seen_dead);
    rig_end(&rig);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_what_the_table_says),
        cmocka_unit_test(tells_who_is_there),
        cmocka_unit_test(spares_others),
        cmocka_unit_test(ends_the_dead_with_a_sentence),
        cmocka_unit_test(counts_each_death_from_its_own_look),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
