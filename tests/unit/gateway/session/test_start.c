/* From POST to ready, and every way in which a kernel does not get there. */
#include <errno.h>

#include "guest.h"
#include "played.h"

static void becomes_ready_and_leaks_no_probe(void **state) {
    (void)state;
    struct rig rig;
    struct guest guest;
    rig_begin(&rig);
    struct kernel *kernel = rig_start(&rig);
    assert_true(is_state(kernel, "starting"));
    guest_attach(&guest, kernel, "");
    UNTIL(&rig, is_state(kernel, "idle"));
    rig_settle(&rig);
    assert_string_equal(guest_log(&guest), "");
    assert_true(played_newest(&rig)->probes > 0);
    assert_int_equal(played_newest(&rig)->spec, 7);
    guest_finish(&guest);
    rig_end(&rig);
}

/* Whoever waited for an iopub_welcome would wait for ever. */
static void becomes_ready_without_xpub(void **state) {
    (void)state;
    struct rig rig;
    struct guest guest;
    rig_begin(&rig);
    rig.plain_pub = true;
    struct kernel *kernel = rig_start_ready(&rig);
    guest_attach(&guest, kernel, "");
    guest_ask(&guest, MSG_SHELL, "execute_request", "a");
    UNTIL(&rig, played_got(played_newest(&rig), "a"));
    played_serve(played_newest(&rig), played_got(played_newest(&rig), "a"));
    UNTIL(&rig, guest_count(&guest, "iopub status:idle a") &&
                    guest_count(&guest, "shell execute_reply:ok a"));
    guest_finish(&guest);
    rig_end(&rig);
}

/* The environment is what the caller gave and the kernel's own id. */
static void gives_the_kernel_its_environment(void **state) {
    (void)state;
    struct rig rig;
    rig_begin(&rig);
    static const char environment[] = "KERNEL_A=1\0KERNEL_B=2";
    struct kernel_start start = {.spec = &rig.spec,
                                 .environment = slice_make(environment, sizeof environment)};
    struct kernel *kernel;
    struct err err;
    assert_int_equal(kernels_start(rig.kernels, &start, &kernel, &err), 0);
    UNTIL(&rig, played_newest(&rig));
    struct played *played = played_newest(&rig);
    char expected[64];
    snprintf(expected, sizeof expected, "KERNEL_ID=%s", kernel_id(kernel));
    assert_int_equal(played->environment_size, sizeof environment + strlen(expected) + 1);
    assert_memory_equal(played->environment, environment, sizeof environment);
    assert_string_equal(played->environment + sizeof environment, expected);
    rig_end(&rig);
}

/* What is sent before the kernel is ready is answered, in the order in which it was sent. */
static void keeps_the_order_of_what_came_early(void **state) {
    (void)state;
    enum { COUNT = 50 };
    struct rig rig;
    struct guest guest;
    rig_begin(&rig);
    rig.held_kind = RPC_JAIL_CREATE;
    struct kernel *kernel = rig_start(&rig);
    guest_attach(&guest, kernel, "");
    for (int i = 0; i < COUNT; i++) {
        char msg_id[16];
        snprintf(msg_id, sizeof msg_id, "m%d", i);
        guest_ask(&guest, MSG_SHELL, "execute_request", msg_id);
        if (i == COUNT / 2) {
            UNTIL(&rig, rig.is_held);
            rig_answer_held(&rig);
        }
    }
    assert_true(is_state(kernel, "starting"));
    UNTIL(&rig, is_state(kernel, "idle"));
    guest_ask(&guest, MSG_SHELL, "execute_request", "last");
    UNTIL(&rig, played_newest(&rig) && played_got(played_newest(&rig), "last"));
    struct played *played = played_newest(&rig);
    assert_int_equal(played->asked_count, COUNT + 1);
    for (int i = 0; i < COUNT; i++) {
        char msg_id[16];
        snprintf(msg_id, sizeof msg_id, "m%d", i);
        assert_string_equal(played->asked[i]->msg_id, msg_id);
        played_serve(played, played->asked[i]);
    }
    UNTIL(&rig, guest.heard == 3 * COUNT);
    assert_int_equal(guest_count(&guest, "shell execute_reply:ok m49"), 1);
    guest_finish(&guest);
    rig_end(&rig);
}

/* The client's own kernel_info_request is answered too, and only once. */
static void answers_an_early_kernel_info(void **state) {
    (void)state;
    struct rig rig;
    struct guest guest;
    rig_begin(&rig);
    struct kernel *kernel = rig_start(&rig);
    guest_attach(&guest, kernel, "");
    guest_ask(&guest, MSG_SHELL, "kernel_info_request", "info");
    UNTIL(&rig, guest.heard == 3);
    rig_settle(&rig);
    assert_int_equal(guest.heard, 3);
    assert_int_equal(guest_count(&guest, "iopub status:busy info"), 1);
    assert_int_equal(guest_count(&guest, "shell kernel_info_reply:ok info"), 1);
    assert_int_equal(guest_count(&guest, "iopub status:idle info"), 1);
    guest_finish(&guest);
    rig_end(&rig);
}

static const char ends_of_a_and_b[] = "iopub error:%1$s a\n"
                                      "shell execute_reply:error a\n"
                                      "iopub status:idle a\n"
                                      "control debug_reply:error b\n"
                                      "iopub status:idle b\n"
                                      "iopub status:dead -\n";

/* A kernel with two requests that wait, which is to die. */
static struct kernel *start_doomed(struct rig *rig, struct guest *guest) {
    struct kernel *kernel = rig_start(rig);
    guest_attach(guest, kernel, "");
    guest_ask(guest, MSG_SHELL, "execute_request", "a");
    guest_ask(guest, MSG_CONTROL, "debug_request", "b");
    return kernel;
}

/* Dead, with the ends of what waited before the status, and a reason that holds words. */
static void expect_death(struct rig *rig, struct guest *guest, struct kernel *kernel,
                         const char *ename, const char *words) {
    char expected[512];
    UNTIL(rig, guest_count(guest, "iopub status:dead -"));
    assert_true(is_state(kernel, "dead"));
    snprintf(expected, sizeof expected, ends_of_a_and_b, ename);
    assert_string_equal(guest_log(guest), expected);
    if (!strstr(kernel_reason(kernel), words) || !strstr(guest->evalue, words) ||
        !strstr(rig->troubles.data, words))
        fail_msg("\"%s\" is not in: %s", words, kernel_reason(kernel));
    /* A client that comes later learns it at once. */
    struct guest late;
    guest_forget_log(guest);
    guest_attach(&late, kernel, "");
    assert_string_equal(guest_log(&late), "iopub status:dead -\n");
    assert_string_equal(guest_log(guest), "");
    guest_ask(&late, MSG_SHELL, "inspect_request", "c");
    assert_int_equal(guest_count(&late, "shell inspect_reply:error c"), 1);
    assert_non_null(strstr(late.evalue, words));
    guest_finish(&late);
}

static void finish_doomed(struct rig *rig, struct guest *guest, struct kernel *kernel) {
    struct waiter waiter;
    char id[40];
    snprintf(id, sizeof id, "%s", kernel_id(kernel));
    kernel_delete(kernel, waiter_init(&waiter));
    UNTIL(rig, waiter.told);
    assert_int_equal(waiter.code, 0); /* however little there was of it */
    assert_int_equal(guest->ended, 1);
    assert_null(kernels_find(rig->kernels, id));
    assert_int_equal(kernels_count(rig->kernels), 0);
    guest_finish(guest);
    rig_end(rig);
}

static void dies_when_its_jail_is_refused(void **state) {
    (void)state;
    struct rig rig;
    struct guest guest;
    rig_begin(&rig);
    rig.refused_kind = RPC_JAIL_CREATE;
    strcpy(rig.refusal, "create jail: no more user ids");
    struct kernel *kernel = start_doomed(&rig, &guest);
    expect_death(&rig, &guest, kernel, "KernelStartFailed", "no more user ids");
    assert_int_equal(rig.received[RPC_TREE_START], 0);
    finish_doomed(&rig, &guest, kernel);
}

static void dies_when_its_tree_is_refused(void **state) {
    (void)state;
    struct rig rig;
    struct guest guest;
    rig_begin(&rig);
    rig.refused_kind = RPC_TREE_START;
    strcpy(rig.refusal, "start tree: clone3: Resource temporarily unavailable");
    struct kernel *kernel = start_doomed(&rig, &guest);
    expect_death(&rig, &guest, kernel, "KernelStartFailed", "clone3: Resource temporarily");
    finish_doomed(&rig, &guest, kernel);
}

static void tells_the_sentence_of_a_tree_that_failed(void **state) {
    (void)state;
    struct rig rig;
    struct guest guest;
    rig_begin(&rig);
    rig.no_sockets = true;
    struct kernel *kernel = start_doomed(&rig, &guest);
    UNTIL(&rig, played_newest(&rig));
    played_die(played_newest(&rig), RPC_CAUSE_FAILED, 0, "run python3:\nNo such file");
    expect_death(&rig, &guest, kernel, "KernelStartFailed", "run python3:\nNo such file");
    finish_doomed(&rig, &guest, kernel);
}

/* The last line of a traceback says why; what is no UTF-8 in it becomes U+FFFD. */
static void tells_the_last_words_of_a_kernel_that_left(void **state) {
    (void)state;
    struct rig rig;
    struct guest guest;
    rig_begin(&rig);
    rig.mute = true;
    struct kernel *kernel = start_doomed(&rig, &guest);
    UNTIL(&rig, played_newest(&rig) && played_newest(&rig)->probes);
    played_die(played_newest(&rig), RPC_CAUSE_EXIT, 3,
               "Traceback:\n  ...\nImportError: caf\xe9 \xf0\x9f\x92\xa5\n\n");
    expect_death(&rig, &guest, kernel, "KernelDied",
                 "exit status 3: ImportError: caf\xef\xbf\xbd \xf0\x9f\x92\xa5");
    assert_null(strstr(kernel_reason(kernel), "Traceback"));
    finish_doomed(&rig, &guest, kernel);
}

static void dies_when_it_never_answers(void **state) {
    (void)state;
    struct rig rig;
    struct guest guest;
    rig_begin(&rig);
    rig.params.launch_timeout_ms = 1500;
    rig.mute = true;
    struct kernel *kernel = start_doomed(&rig, &guest);
    expect_death(&rig, &guest, kernel, "KernelTimeout", "1500 ms (launch_timeout_ms)");
    assert_int_equal(rig.received[RPC_TREE_KILL], 1);
    assert_null(played_newest(&rig));
    finish_doomed(&rig, &guest, kernel);
}

static void dies_when_its_sockets_never_come(void **state) {
    (void)state;
    struct rig rig;
    struct guest guest;
    rig_begin(&rig);
    rig.params.launch_timeout_ms = 1500;
    rig.no_sockets = true;
    struct kernel *kernel = start_doomed(&rig, &guest);
    expect_death(&rig, &guest, kernel, "KernelTimeout", "1500 ms (launch_timeout_ms)");
    assert_null(played_newest(&rig));
    finish_doomed(&rig, &guest, kernel);
}

/* One that waits for a warden that is slow, and dies; the jail is made after all, and a restart
 * uses it. */
static void survives_a_jail_that_came_too_late(void **state) {
    (void)state;
    struct rig rig;
    struct guest guest;
    struct waiter waiter;
    rig_begin(&rig);
    rig.params.launch_timeout_ms = 1000; /* the second start must keep to it too */
    rig.held_kind = RPC_JAIL_CREATE;
    struct kernel *kernel = start_doomed(&rig, &guest);
    expect_death(&rig, &guest, kernel, "KernelTimeout", "jail");
    kernel_restart(kernel, waiter_init(&waiter));
    assert_true(is_state(kernel, "restarting"));
    UNTIL(&rig, rig.is_held);
    rig_answer_held(&rig);
    UNTIL(&rig, waiter.told);
    assert_int_equal(waiter.code, 0);
    assert_true(is_state(kernel, "idle"));
    rig_settle(&rig);
    assert_int_equal(rig.received[RPC_JAIL_CREATE], 1);
    kernel_restart(kernel, waiter_init(&waiter));
    UNTIL(&rig, waiter.told);
    assert_int_equal(waiter.code, 0);
    assert_int_equal(rig.received[RPC_JAIL_CREATE], 1);
    finish_doomed(&rig, &guest, kernel);
}

/* The caller's timeout wins over the parameter. */
static void heeds_the_callers_timeout(void **state) {
    (void)state;
    struct rig rig;
    rig_begin(&rig);
    rig.no_sockets = true;
    struct kernel_start start = {.spec = &rig.spec, .launch_timeout_ms = 120};
    struct kernel *kernel;
    struct err err;
    assert_int_equal(kernels_start(rig.kernels, &start, &kernel, &err), 0);
    UNTIL(&rig, is_state(kernel, "dead") && kernel_reason(kernel));
    assert_non_null(strstr(kernel_reason(kernel), "120 ms"));
    rig_end(&rig);
}

static void count_kernel(void *context, struct kernel *kernel) {
    (void)kernel;
    ++*(int *)context;
}

static void allows_exactly_max_kernels(void **state) {
    (void)state;
    struct rig rig;
    struct waiter waiter;
    rig_begin(&rig);
    rig.params.max_kernels = 3;
    struct kernel *kernels[3], *more = NULL;
    struct kernel_start start = {.spec = &rig.spec};
    struct err err;
    for (int i = 0; i < 3; i++)
        kernels[i] = rig_start(&rig);
    assert_int_equal(kernels_start(rig.kernels, &start, &more, &err), -EDQUOT);
    assert_null(more);
    assert_non_null(strstr(err.text, "3 kernels"));
    assert_non_null(strstr(err.text, "max_kernels"));
    rig.held_kind = RPC_JAIL_END;
    kernel_delete(kernels[1], waiter_init(&waiter));
    UNTIL(&rig, rig.is_held);
    int seen = 0;
    kernels_each(rig.kernels, count_kernel, &seen);
    assert_int_equal(seen, 2);
    /* One that is being deleted still holds its place: its processes may still be there. */
    assert_int_equal(kernels_start(rig.kernels, &start, &more, &err), -EDQUOT);
    rig_answer_held(&rig);
    UNTIL(&rig, waiter.told);
    assert_int_equal(kernels_start(rig.kernels, &start, &more, &err), 0);
    assert_int_equal(kernels_start(rig.kernels, &start, &more, &err), -EDQUOT);
    rig_end(&rig);
}

/* Events of trees that nobody knows (any more), and sockets without their number, change nothing.
 */
static void ignores_events_that_fit_nothing(void **state) {
    (void)state;
    struct rig rig;
    rig_begin(&rig);
    struct kernel *kernel = rig_start_ready(&rig);
    struct rpc_tree_ended ended = {.head.kind = RPC_TREE_ENDED, .tree = 999, .cause = 77};
    struct rpc_tree_sockets sockets = {.head.kind = RPC_TREE_SOCKETS, .tree = 999};
    rig_send(&rig, &ended, SLICE_LITERAL("x"), NULL, 0);
    rig_send(&rig, &sockets, (struct slice){0}, (int[]){0, 1, 2, 0, 1}, 5);
    sockets.tree = played_newest(&rig)->tree;
    rig_send(&rig, &sockets, (struct slice){0}, (int[]){0, 1, 2, 0, 1}, 5);
    rig_send(&rig, &sockets, (struct slice){0}, NULL, 0);
    rig_settle(&rig);
    assert_true(is_state(kernel, "idle"));
    rig_end(&rig);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(becomes_ready_and_leaks_no_probe),
        cmocka_unit_test(becomes_ready_without_xpub),
        cmocka_unit_test(gives_the_kernel_its_environment),
        cmocka_unit_test(keeps_the_order_of_what_came_early),
        cmocka_unit_test(answers_an_early_kernel_info),
        cmocka_unit_test(dies_when_its_jail_is_refused),
        cmocka_unit_test(dies_when_its_tree_is_refused),
        cmocka_unit_test(tells_the_sentence_of_a_tree_that_failed),
        cmocka_unit_test(tells_the_last_words_of_a_kernel_that_left),
        cmocka_unit_test(dies_when_it_never_answers),
        cmocka_unit_test(dies_when_its_sockets_never_come),
        cmocka_unit_test(survives_a_jail_that_came_too_late),
        cmocka_unit_test(heeds_the_callers_timeout),
        cmocka_unit_test(allows_exactly_max_kernels),
        cmocka_unit_test(ignores_events_that_fit_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
