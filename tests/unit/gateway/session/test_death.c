/* A kernel that was ready ends by itself: what clients hear, and in which order. */
#include <errno.h>
#include <signal.h>

#include "guest.h"
#include "played.h"

static struct asked *wait_for(struct rig *rig, const char *msg_id) {
    UNTIL(rig, played_got(played_newest(rig), msg_id));
    return played_got(played_newest(rig), msg_id);
}

/* All of the output arrives, then the ends, then the status. */
static void tells_all_output_before_the_ends(void **state) {
    (void)state;
    enum { LINES = 3000 };
    struct rig rig;
    struct guest asker, other;
    struct text expected = {0};
    rig_begin(&rig);
    struct kernel *kernel = rig_start_ready(&rig);
    guest_attach(&asker, kernel, "");
    guest_attach(&other, kernel, "");
    guest_ask(&asker, MSG_SHELL, "execute_request", "a");
    guest_ask(&asker, MSG_SHELL, "execute_request", "b");
    guest_ask(&other, MSG_SHELL, "complete_request", "c");
    struct asked *cell = wait_for(&rig, "a");
    wait_for(&rig, "c");
    struct played *played = played_newest(&rig);
    played_status(played, cell, "busy");
    text_append_text(&expected, "iopub status:busy a\n");
    for (int i = 0; i < LINES; i++) {
        char words[16];
        snprintf(words, sizeof words, "%d", i);
        played_print(played, cell, words);
        text_append_format(&expected, "iopub stream:%d a\n", i);
    }
    played_die(played, RPC_CAUSE_SIGNAL, SIGKILL, "what it printed, which nobody needs");
    UNTIL(&rig, is_state(kernel, "dead")); /* at once, not only when all is told */
    text_append_text(&expected, "iopub error:KernelDied a\n"
                                "iopub status:idle a\n"
                                "iopub error:KernelDied b\n"
                                "iopub status:idle b\n"
                                "shell complete_reply:error c\n"
                                "iopub status:idle c\n"
                                "iopub status:dead -\n");
    UNTIL(&rig, guest_count(&other, "iopub status:dead -"));
    assert_string_equal(guest_log(&other), expected.data);
    assert_int_equal(guest_count(&asker, "shell execute_reply:error a"), 1);
    assert_int_equal(guest_count(&asker, "shell execute_reply:error b"), 1);
    assert_int_equal(asker.heard, other.heard + 1); /* two replies instead of one */
    assert_string_equal(kernel_reason(kernel), "the kernel was ended by signal 9 (SIGKILL)");
    assert_string_equal(asker.evalue, kernel_reason(kernel));
    assert_string_equal(rig.troubles.data, "the kernel was ended by signal 9 (SIGKILL)\n");
    text_finish(&expected);
    guest_finish(&asker);
    guest_finish(&other);
    rig_end(&rig);
}

/* What the kernel has said itself is not said again. */
static void says_only_what_is_missing(void **state) {
    (void)state;
    struct rig rig;
    struct guest guest;
    rig_begin(&rig);
    struct kernel *kernel = rig_start_ready(&rig);
    guest_attach(&guest, kernel, "");
    guest_ask(&guest, MSG_SHELL, "execute_request", "replied");
    guest_ask(&guest, MSG_SHELL, "execute_request", "idle");
    guest_ask(&guest, MSG_SHELL, "execute_request", "over");
    struct played *played = played_newest(&rig);
    struct asked *over = wait_for(&rig, "over");
    played_reply(played, played_got(played, "replied"), "ok");
    played_status(played, played_got(played, "idle"), "idle");
    played_serve(played, over);
    UNTIL(&rig, guest.heard == 5);
    guest_forget_log(&guest);
    played_die(played, RPC_CAUSE_EXIT, 0, "");
    UNTIL(&rig, guest_count(&guest, "iopub status:dead -"));
    assert_string_equal(guest_log(&guest), "iopub status:idle replied\n"
                                           "iopub error:KernelDied idle\n"
                                           "shell execute_reply:error idle\n"
                                           "iopub status:dead -\n");
    assert_string_equal(guest.evalue, "the kernel left by itself with exit status 0");
    guest_finish(&guest);
    rig_end(&rig);
}

static void names_every_cause(void **state) {
    (void)state;
    static const struct {
        enum rpc_cause cause;
        int status;
        const char *line, *reason, *word;
    } rows[] = {
        {RPC_CAUSE_EXIT, 3, "iopub error:KernelDied a",
         "the kernel left by itself with exit status 3", "exit"},
        {RPC_CAUSE_SIGNAL, SIGSEGV, "iopub error:KernelDied a",
         "the kernel was ended by signal 11 (SIGSEGV)", "signal"},
        {RPC_CAUSE_SIGNAL, 64, "iopub error:KernelDied a", "the kernel was ended by signal 64",
         "signal"},
        {RPC_CAUSE_OOM, 9, "iopub error:KernelOutOfMemory a",
         "the kernel was ended by its memory limit of 536870912 bytes (512 MiB); the session's "
         "processes and files had come to 536866816 bytes (512 MiB)",
         "oom"},
        {RPC_CAUSE_OOM, 0, "iopub error:KernelOutOfMemory a",
         "the kernel was ended since the host has no more memory; the session's processes and "
         "files had come to 536866816 bytes (512 MiB)",
         "oom"},
        {RPC_CAUSE_KILLED, 0, "iopub error:KernelDied a", "the kernel was killed by the warden",
         "signal"},
        {(enum rpc_cause)99, 0, "iopub error:KernelDied a", "the kernel was killed by the warden",
         "signal"},
    };
    struct rig rig;
    rig_begin(&rig);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct guest guest;
        char metadata[64];
        struct kernel *kernel = rig_start_ready(&rig);
        guest_attach(&guest, kernel, "");
        guest_ask(&guest, MSG_SHELL, "execute_request", "a");
        wait_for(&rig, "a");
        played_die(played_newest(&rig), rows[i].cause, rows[i].status, "last words");
        UNTIL(&rig, guest_count(&guest, "iopub status:dead -"));
        assert_int_equal(guest_count(&guest, rows[i].line), 1);
        assert_string_equal(kernel_reason(kernel), rows[i].reason);
        guest_ask(&guest, MSG_SHELL, "inspect_request", "b");
        snprintf(metadata, sizeof metadata, "{\"cellblock\":{\"reason\":\"%s\"}}", rows[i].word);
        assert_non_null(strstr(guest.seen_metadata.data, metadata));
        guest_finish(&guest);
    }
    rig_end(&rig);
}

static void stays_dead_until_it_is_restarted(void **state) {
    (void)state;
    struct rig rig;
    struct guest guest;
    struct waiter waiter;
    struct err err;
    rig_begin(&rig);
    struct kernel *kernel = rig_start_ready(&rig);
    guest_attach(&guest, kernel, "");
    played_die(played_newest(&rig), RPC_CAUSE_EXIT, 1, "");
    UNTIL(&rig, guest_count(&guest, "iopub status:dead -"));
    rig_settle(&rig);
    assert_int_equal(rig.received[RPC_TREE_START], 1); /* no loop of restarts */
    assert_int_equal(kernel_interrupt(kernel, -1, &err), -ESRCH);
    assert_non_null(strstr(err.text, "exit status 1"));
    guest_ask(&guest, MSG_SHELL, "execute_request", "a");
    assert_int_equal(guest_count(&guest, "shell execute_reply:error a"), 1);
    kernel_restart(kernel, waiter_init(&waiter));
    assert_null(kernel_reason(kernel));
    UNTIL(&rig, waiter.told);
    assert_int_equal(waiter.code, 0);
    assert_true(is_state(kernel, "idle"));
    assert_int_equal(rig.received[RPC_JAIL_CREATE], 1);
    assert_int_equal(rig.received[RPC_TREE_KILL], 0); /* there was nothing to kill */
    guest_finish(&guest);
    rig_end(&rig);
}

/* While the last messages are read: dead already, and a restart or deletion is taken. */
static void may_be_restarted_while_its_last_words_are_read(void **state) {
    (void)state;
    struct rig rig;
    struct guest guest;
    struct waiter restart, deletion;
    struct err err;
    rig_begin(&rig);
    struct kernel *kernel = rig_start_ready(&rig);
    guest_attach(&guest, kernel, "");
    guest_ask(&guest, MSG_SHELL, "execute_request", "a");
    wait_for(&rig, "a");
    played_die(played_newest(&rig), RPC_CAUSE_OOM, 9, "");
    UNTIL(&rig, is_state(kernel, "dead"));
    assert_int_equal(guest.heard, 0);
    assert_non_null(kernel_reason(kernel));
    assert_int_equal(kernel_interrupt(kernel, -1, &err), -ESRCH);
    guest_ask(&guest, MSG_SHELL, "execute_request", "b");
    assert_int_equal(guest_count(&guest, "iopub error:KernelOutOfMemory b"), 1);
    kernel_restart(kernel, waiter_init(&restart));
    UNTIL(&rig, restart.told);
    assert_int_equal(restart.code, 0);
    assert_int_equal(guest_count(&guest, "iopub error:KernelRestarted a"), 1);

    played_die(played_newest(&rig), RPC_CAUSE_EXIT, 0, "");
    UNTIL(&rig, is_state(kernel, "dead"));
    kernel_delete(kernel, waiter_init(&deletion));
    UNTIL(&rig, deletion.told);
    assert_int_equal(deletion.code, 0);
    assert_int_equal(guest_count(&guest, "iopub status:dead -"), 0);
    guest_finish(&guest);
    rig_end(&rig);
}

/* It lives, but has closed its sockets: nothing it owes would ever come. */
static void ends_a_kernel_that_closes_its_sockets(void **state) {
    (void)state;
    struct rig rig;
    struct guest guest;
    rig_begin(&rig);
    struct kernel *kernel = rig_start_ready(&rig);
    guest_attach(&guest, kernel, "");
    guest_ask(&guest, MSG_SHELL, "execute_request", "a");
    wait_for(&rig, "a");
    played_hang_up(played_newest(&rig));
    UNTIL(&rig, guest_count(&guest, "iopub status:dead -"));
    assert_int_equal(guest_count(&guest, "iopub error:KernelLost a"), 1);
    assert_non_null(strstr(kernel_reason(kernel), "connection was closed"));
    assert_int_equal(rig.received[RPC_TREE_KILL], 1);
    guest_finish(&guest);
    rig_end(&rig);
}

/* A client's shutdown_request on control: then the kernel is gone for good. */
static void is_gone_after_a_shutdown(void **state) {
    (void)state;
    struct rig rig;
    struct guest guest;
    char id[40];
    rig_begin(&rig);
    struct kernel *kernel = rig_start_ready(&rig);
    snprintf(id, sizeof id, "%s", kernel_id(kernel));
    guest_attach(&guest, kernel, "");
    guest_ask(&guest, MSG_SHELL, "execute_request", "cell");
    guest_ask_as(&guest, MSG_CONTROL, "shutdown_request", "down", "s",
                 SLICE_LITERAL("{\"restart\":false}"));
    struct played *played = played_newest(&rig);
    UNTIL(&rig, played_got(played, "down"));
    played_serve(played, played_got(played, "down"));
    UNTIL(&rig, guest_count(&guest, "control shutdown_reply:ok down"));
    played_die(played, RPC_CAUSE_EXIT, 0, "");
    UNTIL(&rig, guest.ended);
    assert_int_equal(guest.reason, REASON_deleted);
    assert_int_equal(guest_count(&guest, "iopub error:KernelDeleted cell"), 1);
    assert_null(kernels_find(rig.kernels, id));
    UNTIL(&rig, kernels_count(rig.kernels) == 0);
    assert_int_equal(rig.received[RPC_JAIL_END], 1);
    assert_null(rig.troubles.data); /* nothing is wrong */
    guest_finish(&guest);
    rig_end(&rig);
}

static void starts_again_after_a_shutdown_that_says_so(void **state) {
    (void)state;
    struct rig rig;
    struct guest guest;
    rig_begin(&rig);
    struct kernel *kernel = rig_start_ready(&rig);
    guest_attach(&guest, kernel, "");
    guest_ask(&guest, MSG_SHELL, "execute_request", "cell");
    guest_ask_as(&guest, MSG_CONTROL, "shutdown_request", "down", "s",
                 SLICE_LITERAL("{\"restart\": true}"));
    struct played *played = played_newest(&rig);
    UNTIL(&rig, played_got(played, "down"));
    played_serve(played, played_got(played, "down"));
    played_die(played, RPC_CAUSE_EXIT, 0, "");
    UNTIL(&rig, guest_count(&guest, "iopub status:starting -"));
    assert_true(is_state(kernel, "restarting"));
    assert_int_equal(guest_count(&guest, "control shutdown_reply:ok down"), 1);
    assert_int_equal(guest_count(&guest, "iopub error:KernelRestarted cell"), 1);
    UNTIL(&rig, is_state(kernel, "idle"));
    assert_int_equal(guest_count(&guest, "iopub status:idle -"), 1);
    /* The next end is an end: it was asked for once. */
    played_die(played_newest(&rig), RPC_CAUSE_EXIT, 0, "");
    UNTIL(&rig, guest_count(&guest, "iopub status:dead -"));
    assert_int_equal(rig.received[RPC_TREE_START], 2);
    guest_finish(&guest);
    rig_end(&rig);
}

/* A shutdown_request that is heard and not heeded. */
static void is_killed_when_it_does_not_shut_down(void **state) {
    (void)state;
    struct rig rig;
    struct guest guest;
    rig_begin(&rig);
    rig.params.grace_ms = 100;
    struct kernel *kernel = rig_start(&rig);
    guest_attach(&guest, kernel, "");
    guest_ask(&guest, MSG_CONTROL, "shutdown_request", "early"); /* waits like anything else */
    UNTIL(&rig, guest.ended);
    assert_int_equal(guest.reason, REASON_deleted);
    assert_int_equal(rig.received[RPC_TREE_KILL], 1);
    UNTIL(&rig, kernels_count(rig.kernels) == 0);
    guest_finish(&guest);
    rig_end(&rig);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_all_output_before_the_ends),
        cmocka_unit_test(says_only_what_is_missing),
        cmocka_unit_test(names_every_cause),
        cmocka_unit_test(stays_dead_until_it_is_restarted),
        cmocka_unit_test(may_be_restarted_while_its_last_words_are_read),
        cmocka_unit_test(ends_a_kernel_that_closes_its_sockets),
        cmocka_unit_test(is_gone_after_a_shutdown),
        cmocka_unit_test(starts_again_after_a_shutdown_that_says_so),
        cmocka_unit_test(is_killed_when_it_does_not_shut_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
