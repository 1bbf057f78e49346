/* What passes between clients and a kernel that is ready. */
#include <errno.h>
#include <signal.h>

#include "guest.h"
#include "played.h"

struct scene {
    struct rig rig;
    struct kernel *kernel;
    struct played *played;
    struct guest one, two;
};

static void begin(struct scene *scene) {
    rig_begin(&scene->rig);
    scene->kernel = rig_start_ready(&scene->rig);
    scene->played = played_newest(&scene->rig);
    guest_attach(&scene->one, scene->kernel, "one");
    guest_attach(&scene->two, scene->kernel, "two");
}

static void end(struct scene *scene) {
    guest_finish(&scene->one);
    guest_finish(&scene->two);
    rig_end(&scene->rig);
}

/* Asks, and waits until the kernel has it. */
static struct asked *ask(struct scene *scene, struct guest *guest, const char *msg_type,
                         const char *msg_id) {
    enum msg_channel channel = strcmp(msg_type, "debug_request") == 0 ? MSG_CONTROL : MSG_SHELL;
    guest_ask(guest, channel, msg_type, msg_id);
    UNTIL(&scene->rig, played_got(scene->played, msg_id));
    return played_got(scene->played, msg_id);
}

/* A request of one's own that goes all the way: whatever was said before has arrived by then. */
static void fence(struct scene *scene) {
    static unsigned number;
    char msg_id[32], line[64];
    snprintf(msg_id, sizeof msg_id, "fence-%u", ++number);
    snprintf(line, sizeof line, "iopub status:idle %s", msg_id);
    played_serve(scene->played, ask(scene, &scene->one, "history_request", msg_id));
    UNTIL(&scene->rig, guest_count(&scene->one, line));
    snprintf(line, sizeof line, "shell history_reply:ok %s", msg_id);
    UNTIL(&scene->rig, guest_count(&scene->one, line));
}

static void replies_to_the_asker_and_publishes_to_all(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    struct asked *asked = ask(&scene, &scene.one, "execute_request", "a");
    played_status(scene.played, asked, "busy");
    played_print(scene.played, asked, "hello");
    played_say(scene.played, MSG_STDIN, "input_request", asked, asked->header,
               SLICE_LITERAL("{\"prompt\":\"? \"}"));
    UNTIL(&scene.rig, guest_count(&scene.one, "stdin input_request:?  a"));
    guest_ask(&scene.one, MSG_STDIN, "input_reply", "answer");
    UNTIL(&scene.rig, played_got(scene.played, "answer"));
    assert_int_equal(played_got(scene.played, "answer")->channel, MSG_STDIN);
    played_reply(scene.played, asked, "ok");
    played_status(scene.played, asked, "idle");
    UNTIL(&scene.rig, guest_count(&scene.one, "shell execute_reply:ok a") &&
                          guest_count(&scene.two, "iopub status:idle a"));
    assert_string_equal(guest_log(&scene.two),
                        "iopub status:busy a\niopub stream:hello a\niopub status:idle a\n");
    assert_int_equal(scene.one.heard, 5);
    end(&scene);
}

static void two_clients_may_use_one_msg_id(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    guest_ask(&scene.one, MSG_SHELL, "execute_request", "fake-msg-id");
    guest_ask(&scene.two, MSG_SHELL, "execute_request", "fake-msg-id");
    UNTIL(&scene.rig, played_nth(scene.played, "fake-msg-id", 1));
    struct asked *second = played_nth(scene.played, "fake-msg-id", 1);
    played_reply(scene.played, second, "error");
    UNTIL(&scene.rig, guest_count(&scene.two, "shell execute_reply:error fake-msg-id"));
    assert_int_equal(scene.one.heard, 0);
    played_reply(scene.played, played_got(scene.played, "fake-msg-id"), "ok");
    UNTIL(&scene.rig, guest_count(&scene.one, "shell execute_reply:ok fake-msg-id"));
    assert_int_equal(scene.two.heard, 1);
    end(&scene);
}

/* Neither has a session of its own, and the ids are the same: the order tells. */
static void two_clients_may_use_one_msg_id_and_session(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    struct slice nothing = {0};
    guest_ask_as(&scene.one, MSG_SHELL, "execute_request", "id", "", nothing);
    guest_ask_as(&scene.two, MSG_SHELL, "execute_request", "id", "", nothing);
    UNTIL(&scene.rig, played_nth(scene.played, "id", 1));
    played_serve(scene.played, played_nth(scene.played, "id", 0));
    UNTIL(&scene.rig, guest_count(&scene.one, "shell execute_reply:ok id"));
    assert_int_equal(guest_count(&scene.two, "shell execute_reply:ok id"), 0);
    played_serve(scene.played, played_nth(scene.played, "id", 1));
    UNTIL(&scene.rig, guest_count(&scene.two, "shell execute_reply:ok id"));
    assert_int_equal(guest_count(&scene.one, "shell execute_reply:ok id"), 1);
    fence(&scene);
    assert_true(is_state(scene.kernel, "idle"));
    end(&scene);
}

static void a_newer_socket_of_a_session_takes_over(void **state) {
    (void)state;
    struct scene scene;
    struct guest newer;
    begin(&scene);
    struct asked *asked = ask(&scene, &scene.one, "execute_request", "a");
    assert_int_equal(kernel_connections(scene.kernel), 2);
    guest_attach(&newer, scene.kernel, "one");
    assert_int_equal(kernel_connections(scene.kernel), 2);
    assert_int_equal(scene.one.ended, 1);
    assert_int_equal(scene.one.reason, REASON_NONE);
    assert_int_equal(scene.two.ended, 0);
    played_serve(scene.played, asked);
    UNTIL(&scene.rig, guest_count(&newer, "shell execute_reply:ok a") &&
                          guest_count(&newer, "iopub status:idle a"));
    assert_int_equal(scene.one.heard, 0);
    guest_finish(&newer);
    end(&scene);
}

/* What a client asked before it left goes to nobody, but to its session_id when that is back. */
static void a_client_may_leave_in_the_middle(void **state) {
    (void)state;
    struct scene scene;
    struct guest nameless, back;
    begin(&scene);
    guest_attach(&nameless, scene.kernel, "");
    struct asked *lost = ask(&scene, &nameless, "execute_request", "lost");
    guest_finish(&nameless);
    played_serve(scene.played, lost);
    UNTIL(&scene.rig, guest_count(&scene.two, "iopub status:idle lost"));
    fence(&scene);
    assert_int_equal(guest_count(&scene.two, "shell execute_reply:ok lost"), 0);

    ask(&scene, &scene.one, "execute_request", "kept");
    guest_finish(&scene.one);
    guest_attach(&back, scene.kernel, "one");
    played_serve(scene.played, played_got(scene.played, "kept"));
    UNTIL(&scene.rig, guest_count(&back, "shell execute_reply:ok kept"));
    guest_finish(&back);
    guest_attach(&scene.one, scene.kernel, "one");
    end(&scene);
}

static void answers_kernel_info_while_a_cell_runs(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    unsigned infos = scene.played->infos;
    struct asked *cell = ask(&scene, &scene.one, "execute_request", "a");
    guest_ask(&scene.two, MSG_SHELL, "kernel_info_request", "i");
    assert_string_equal(guest_log(&scene.two), "iopub status:busy i\n"
                                               "shell kernel_info_reply:ok i\n"
                                               "iopub status:idle i\n");
    assert_string_equal(guest_log(&scene.one), "iopub status:busy i\niopub status:idle i\n");
    /* On control the kernel answers itself, and so it does when the cell is over. */
    guest_ask(&scene.two, MSG_CONTROL, "kernel_info_request", "c");
    UNTIL(&scene.rig, guest_count(&scene.two, "control kernel_info_reply:ok c"));
    assert_int_equal(scene.played->infos, infos + 1);
    played_serve(scene.played, cell);
    fence(&scene);
    guest_ask(&scene.two, MSG_SHELL, "kernel_info_request", "j");
    UNTIL(&scene.rig, guest_count(&scene.two, "shell kernel_info_reply:ok j"));
    assert_int_equal(scene.played->infos, infos + 2);
    end(&scene);
}

/* AutoGen leaves a cell at its error and sends the next one behind a kernel_info_reply. */
static void leaves_kernel_info_to_the_kernel_once_the_cell_has_failed(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    unsigned infos = scene.played->infos;
    struct asked *cell = ask(&scene, &scene.one, "execute_request", "a");
    played_status(scene.played, cell, "busy");
    played_say(scene.played, MSG_IOPUB, "error", cell, cell->header, SLICE_LITERAL("{}"));
    UNTIL(&scene.rig, guest_count(&scene.one, "iopub error a"));
    guest_ask(&scene.one, MSG_SHELL, "kernel_info_request", "i");
    UNTIL(&scene.rig, guest_count(&scene.one, "shell kernel_info_reply:ok i"));
    assert_int_equal(scene.played->infos, infos + 1);
    end(&scene);
}

/* A kernel that aborts its queue answers kernel_info with "aborted", which is no answer to keep. */
static void keeps_no_kernel_info_that_is_none(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    scene.rig.mute = true;
    struct asked *asked = ask(&scene, &scene.one, "kernel_info_request", "i");
    played_status(scene.played, asked, "busy");
    played_reply(scene.played, asked, "aborted");
    played_status(scene.played, asked, "idle");
    UNTIL(&scene.rig, guest_count(&scene.one, "shell kernel_info_reply:aborted i"));
    ask(&scene, &scene.one, "execute_request", "a");
    guest_ask(&scene.one, MSG_SHELL, "kernel_info_request", "j");
    assert_int_equal(guest_count(&scene.one, "shell kernel_info_reply:ok j"), 1);
    end(&scene);
}

static void says_the_truth_about_its_state(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    struct asked *cell = ask(&scene, &scene.one, "execute_request", "a");
    assert_true(is_state(scene.kernel, "idle")); /* it has not begun */
    played_status(scene.played, cell, "busy");
    UNTIL(&scene.rig, is_state(scene.kernel, "busy"));
    /* What is answered beside the cell does not change it. */
    struct asked *debug = ask(&scene, &scene.one, "debug_request", "d");
    played_serve(scene.played, debug);
    UNTIL(&scene.rig, guest_count(&scene.one, "iopub status:idle d"));
    assert_true(is_state(scene.kernel, "busy"));
    played_status(scene.played, cell, "idle");
    UNTIL(&scene.rig, is_state(scene.kernel, "idle"));
    played_reply(scene.played, cell, "ok");
    fence(&scene);
    assert_true(is_state(scene.kernel, "idle"));
    /* A widget's callback has no reply, and keeps the kernel busy all the same. */
    struct asked *comm = ask(&scene, &scene.one, "comm_msg", "w");
    played_status(scene.played, comm, "busy");
    UNTIL(&scene.rig, is_state(scene.kernel, "busy"));
    played_status(scene.played, comm, "idle");
    UNTIL(&scene.rig, is_state(scene.kernel, "idle"));
    /* What is not tracked does not. */
    struct asked *comms = ask(&scene, &scene.one, "comm_info_request", "ci");
    played_status(scene.played, comms, "busy");
    UNTIL(&scene.rig, guest_count(&scene.one, "iopub status:busy ci"));
    assert_true(is_state(scene.kernel, "idle"));
    end(&scene);
}

/* Answers of the wrong type, on the wrong channel, to nobody, and statuses of unknown requests. */
static void forged_answers_end_nothing(void **state) {
    (void)state;
    static const struct {
        enum msg_channel channel;
        const char *msg_type, *parent, *content;
    } forged[] = {
        {MSG_SHELL, "execute_reply", "{}", "{\"status\":\"ok\"}"},
        {MSG_SHELL, "execute_reply", "null", "{\"status\":\"ok\"}"},
        {MSG_SHELL, "execute_reply", "{\"msg_id\":\"a\",\"session\":\"else\"}", "{}"},
        {MSG_SHELL, "execute_reply", "{\"msg_id\":\"b\",\"session\":\"s-one\"}", "{}"},
        {MSG_SHELL, "inspect_reply", "{\"msg_id\":\"a\",\"session\":\"s-one\"}", "{}"},
        {MSG_SHELL, "execute_request", "{\"msg_id\":\"a\",\"session\":\"s-one\"}", "{}"},
        {MSG_SHELL, "no_such_reply", "{\"msg_id\":\"a\",\"session\":\"s-one\"}", "{}"},
        {MSG_CONTROL, "execute_reply", "{\"msg_id\":\"a\",\"session\":\"s-one\"}", "{}"},
        {MSG_STDIN, "execute_reply", "{\"msg_id\":\"a\",\"session\":\"s-one\"}", "{}"},
        {MSG_IOPUB, "execute_reply", "{\"msg_id\":\"a\",\"session\":\"s-one\"}", "{}"},
        {MSG_SHELL, "status", "{\"msg_id\":\"a\",\"session\":\"s-one\"}",
         "{\"execution_state\":\"idle\"}"},
        {MSG_IOPUB, "status", "{\"msg_id\":\"a\",\"session\":\"\"}",
         "{\"execution_state\":\"idle\"}"},
        {MSG_IOPUB, "status", "{}", "{\"execution_state\":\"idle\"}"},
        {MSG_IOPUB, "status", "{}", "{\"execution_state\":\"starting\"}"},
        {MSG_IOPUB, "status", "{\"msg_id\":\"a\",\"session\":\"s-one\"}",
         "{\"execution_state\":\"restarting\"}"},
        {MSG_IOPUB, "status", "{\"msg_id\":\"a\",\"session\":\"s-one\"}",
         "{\"execution_state\":[\"idle\"]}"},
        {MSG_IOPUB, "status", "{\"msg_id\":\"a\",\"session\":\"s-one\"}",
         "{\"other\":{\"execution_state\":\"idle\"}}"},
        {MSG_IOPUB, "status", "{\"msg_id\":\"a\",\"session\":\"s-one\"}", "no JSON"},
        {MSG_IOPUB, "status", "{\"msg_id\":7,\"session\":null}", "{\"execution_state\":\"busy\"}"},
        {MSG_IOPUB, "iopub_welcome", "{}", "{}"},
    };
    struct scene scene;
    begin(&scene);
    struct asked *asked = ask(&scene, &scene.one, "execute_request", "a");
    played_status(scene.played, asked, "busy");
    for (size_t i = 0; i < sizeof forged / sizeof *forged; i++)
        played_say(scene.played, forged[i].channel, forged[i].msg_type, asked, forged[i].parent,
                   slice_from_text(forged[i].content));
    fence(&scene);
    assert_true(is_state(scene.kernel, "busy"));
    /* It is the gateway that says so, and it did not start the kernel again. */
    assert_int_equal(guest_count(&scene.one, "iopub status:starting -"), 0);
    played_die(scene.played, RPC_CAUSE_SIGNAL, SIGKILL, "");
    UNTIL(&scene.rig, guest_count(&scene.one, "iopub status:dead -"));
    assert_int_equal(guest_count(&scene.one, "iopub error:KernelDied a"), 1);
    assert_int_equal(guest_count(&scene.one, "shell execute_reply:error a"), 1);
    end(&scene);
}

/* The kernel answers itself where a request is already open or none can come. */
static void refuses_what_is_on_the_wrong_channel(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    guest_ask(&scene.one, MSG_STDIN, "execute_request", "a");
    assert_string_equal(guest_log(&scene.one), "iopub error:KernelRequestRefused a\n"
                                               "stdin execute_reply:error a\n"
                                               "iopub status:idle a\n");
    assert_non_null(strstr(scene.one.evalue, "execute_request"));
    assert_non_null(strstr(scene.one.evalue, "stdin"));
    guest_ask(&scene.one, MSG_SHELL, "input_request", "b"); /* what kernels ask */
    assert_int_equal(guest_count(&scene.one, "shell input_reply:error b"), 1);
    guest_ask(&scene.one, MSG_IOPUB, "execute_request", "c"); /* ignored, as Jupyter does */
    guest_ask(&scene.one, MSG_SHELL, "shutdown_request", "unheard-of");
    guest_ask(&scene.one, MSG_STDIN, "shutdown_request", "d");
    UNTIL(&scene.rig, played_got(scene.played, "unheard-of"));
    assert_int_equal(scene.played->asked_count, 1);
    assert_int_equal(guest_count(&scene.one, "iopub status:idle c"), 0);
    assert_true(is_state(scene.kernel, "idle"));
    end(&scene);
}

static void interrupts_by_signal(void **state) {
    (void)state;
    struct scene scene;
    struct err err;
    begin(&scene);
    ask(&scene, &scene.one, "execute_request", "a");
    for (int i = 0; i < 1000; i++) /* one that is under way is enough */
        assert_int_equal(kernel_interrupt(scene.kernel, -1, &err), 0);
    UNTIL(&scene.rig, scene.played->last_signal == SIGINT);
    rig_settle(&scene.rig);
    assert_int_equal(scene.rig.received[RPC_TREE_SIGNAL], 1);
    assert_int_equal(kernel_interrupt(scene.kernel, -1, &err), 0);
    UNTIL(&scene.rig, scene.rig.received[RPC_TREE_SIGNAL] == 2);
    end(&scene);
}

static void interrupts_by_message(void **state) {
    (void)state;
    struct rig rig;
    struct guest guest;
    struct err err;
    rig_begin(&rig);
    rig.spec.interrupt_by_message = true;
    struct kernel *kernel = rig_start(&rig);
    assert_int_equal(kernel_interrupt(kernel, -1, &err), -EBUSY);
    assert_non_null(strstr(err.text, "starting"));
    UNTIL(&rig, is_state(kernel, "idle"));
    guest_attach(&guest, kernel, "");
    assert_int_equal(kernel_interrupt(kernel, -1, &err), 0);
    struct played *played = played_newest(&rig);
    UNTIL(&rig, played->asked_count == 1);
    assert_string_equal(played->asked[0]->msg_type, "interrupt_request");
    assert_int_equal(played->asked[0]->channel, MSG_CONTROL);
    assert_int_equal(rig.received[RPC_TREE_SIGNAL], 0);
    played_serve(played, played->asked[0]); /* nobody's business */
    rig_settle(&rig);
    assert_string_equal(guest_log(&guest), "");
    guest_finish(&guest);
    rig_end(&rig);
}

/* xeus says so where there is no parent; a guest checks what it hears in every encoding. */
static void takes_a_parent_that_is_null(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    played_say(scene.played, MSG_IOPUB, "display_data", NULL, "null", SLICE_LITERAL("{}"));
    UNTIL(&scene.rig, guest_count(&scene.one, "iopub display_data -") &&
                          guest_count(&scene.two, "iopub display_data -"));
    end(&scene);
}

/* 600 KiB are three messages, to everyone and in order. */
static void splits_large_streams(void **state) {
    (void)state;
    enum { SIZE = 600 * 1024 };
    struct scene scene;
    begin(&scene);
    struct asked *asked = ask(&scene, &scene.one, "execute_request", "a");
    char *words = mem_alloc(SIZE + 1);
    memset(words, 'w', SIZE);
    words[SIZE] = 0;
    played_print(scene.played, asked, words);
    fence(&scene);
    const char *log = guest_log(&scene.two);
    unsigned parts = 0;
    for (const char *at = log; (at = strstr(at, "iopub stream:w")); at++)
        parts++;
    assert_int_equal(parts, 3);
    assert_int_equal(strspn(strstr(log, ":w") + 1, "w"), 256 * 1024);
    mem_free(words);
    end(&scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replies_to_the_asker_and_publishes_to_all),
        cmocka_unit_test(two_clients_may_use_one_msg_id),
        cmocka_unit_test(two_clients_may_use_one_msg_id_and_session),
        cmocka_unit_test(a_newer_socket_of_a_session_takes_over),
        cmocka_unit_test(a_client_may_leave_in_the_middle),
        cmocka_unit_test(answers_kernel_info_while_a_cell_runs),
        cmocka_unit_test(leaves_kernel_info_to_the_kernel_once_the_cell_has_failed),
        cmocka_unit_test(keeps_no_kernel_info_that_is_none),
        cmocka_unit_test(says_the_truth_about_its_state),
        cmocka_unit_test(takes_a_parent_that_is_null),
        cmocka_unit_test(splits_large_streams),
        cmocka_unit_test(forged_answers_end_nothing),
        cmocka_unit_test(refuses_what_is_on_the_wrong_channel),
        cmocka_unit_test(interrupts_by_signal),
        cmocka_unit_test(interrupts_by_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
