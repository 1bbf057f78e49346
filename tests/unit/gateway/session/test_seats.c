/* Who hears what when a socket is lost and another one of its session_id comes. */
#include "guest.h"
#include "played.h"

#include "base/cleanup.h"
#include "wire/multipart.h"
#include "wire/sign.h"

struct scene {
    struct rig rig;
    struct kernel *kernel;
    struct played *played;
    struct guest lost, other;
};

static void begin(struct scene *scene) {
    rig_begin(&scene->rig);
    scene->kernel = rig_start_ready(&scene->rig);
    scene->played = played_newest(&scene->rig);
    guest_attach(&scene->lost, scene->kernel, "lost");
    guest_attach(&scene->other, scene->kernel, "other");
}

static void end(struct scene *scene) {
    guest_finish(&scene->lost);
    guest_finish(&scene->other);
    rig_end(&scene->rig);
}

static struct asked *ask(struct scene *scene, struct guest *guest, const char *msg_id) {
    guest_ask(guest, MSG_SHELL, "execute_request", msg_id);
    UNTIL(&scene->rig, played_got(scene->played, msg_id));
    return played_got(scene->played, msg_id);
}

static void print(struct scene *scene, struct asked *asked, int number) {
    char words[16], line[64];
    snprintf(words, sizeof words, "%d", number);
    snprintf(line, sizeof line, "iopub stream:%d %s", number, asked->msg_id);
    played_print(scene->played, asked, words);
    UNTIL(&scene->rig, guest_count(&scene->other, line));
}

/* The log without what a socket hears of the state when it comes. */
static void expect_log(const struct guest *guest, const char *expected) {
    if (strcmp(guest_log(guest), expected) != 0)
        fail_msg("expected\n%sheard\n%s", expected, guest_log(guest));
}

static void sends_what_was_not_acknowledged_and_what_follows(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    struct asked *cell = ask(&scene, &scene.lost, "a");
    played_status(scene.played, cell, "busy");
    for (int i = 0; i < 4; i++)
        print(&scene, cell, i);
    scene.lost.unheard = 2;
    guest_leave(&scene.lost);
    assert_int_equal(kernel_connections(scene.kernel), 1);
    print(&scene, cell, 4);
    guest_finish(&scene.lost);
    guest_attach(&scene.lost, scene.kernel, "lost");
    print(&scene, cell, 5);
    played_reply(scene.played, cell, "ok");
    played_status(scene.played, cell, "idle");
    UNTIL(&scene.rig, guest_count(&scene.lost, "iopub status:idle a") &&
                          guest_count(&scene.lost, "shell execute_reply:ok a"));
    assert_int_equal(guest_count(&scene.lost, "iopub stream:1 a"), 0);
    for (int i = 2; i < 6; i++) {
        char line[64];
        snprintf(line, sizeof line, "iopub stream:%d a", i);
        assert_int_equal(guest_count(&scene.lost, line), 1);
    }
    const char *log = guest_log(&scene.lost);
    assert_true(strstr(log, "stream:4") < strstr(log, "status:busy a"));
    assert_true(strstr(log, "status:busy a") < strstr(log, "stream:5"));
    end(&scene);
}

/* Its reply and its question come while nobody is there to hear them. */
static void keeps_replies_and_questions(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    struct asked *cell = ask(&scene, &scene.lost, "a");
    guest_leave(&scene.lost);
    played_say(scene.played, MSG_STDIN, "input_request", cell, cell->header,
               SLICE_LITERAL("{\"prompt\":\"? \"}"));
    played_serve(scene.played, cell);
    UNTIL(&scene.rig, guest_count(&scene.other, "iopub status:idle a"));
    struct asked *fence = ask(&scene, &scene.other, "fence");
    played_serve(scene.played, fence);
    UNTIL(&scene.rig, guest_count(&scene.other, "shell execute_reply:ok fence"));
    guest_finish(&scene.lost);
    guest_attach(&scene.lost, scene.kernel, "lost");
    assert_int_equal(guest_count(&scene.lost, "stdin input_request:?  a"), 1);
    assert_int_equal(guest_count(&scene.lost, "shell execute_reply:ok a"), 1);
    assert_int_equal(guest_count(&scene.lost, "iopub status:idle a"), 1);
    assert_int_equal(guest_count(&scene.other, "shell execute_reply:ok a"), 0);
    end(&scene);
}

/* The newest wins, and gets what the older one had not acknowledged. */
static void a_newer_socket_takes_over_in_the_middle(void **state) {
    (void)state;
    struct scene scene;
    struct guest newer;
    begin(&scene);
    struct asked *cell = ask(&scene, &scene.lost, "a");
    print(&scene, cell, 0);
    print(&scene, cell, 1);
    scene.lost.unheard = 1;
    guest_attach(&newer, scene.kernel, "lost");
    assert_int_equal(scene.lost.ended, 1);
    expect_log(&newer, "iopub stream:1 a\n");
    print(&scene, cell, 2);
    expect_log(&newer, "iopub stream:1 a\niopub stream:2 a\n");
    guest_finish(&newer);
    end(&scene);
}

static void leaves_nothing_where_the_client_meant_it(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    struct asked *cell = ask(&scene, &scene.lost, "a");
    print(&scene, cell, 0);
    scene.lost.unheard = 1;
    guest_finish(&scene.lost);
    print(&scene, cell, 1);
    guest_attach(&scene.lost, scene.kernel, "lost");
    expect_log(&scene.lost, "");
    print(&scene, cell, 2);
    played_reply(scene.played, cell, "ok"); /* what it asked is still its own */
    UNTIL(&scene.rig, guest_count(&scene.lost, "shell execute_reply:ok a"));
    end(&scene);
}

/* A page that comes in the middle of a cell is told so; its own questions say nothing of it. */
static void tells_who_comes_in_the_middle(void **state) {
    (void)state;
    struct scene scene;
    struct guest page;
    begin(&scene);
    struct asked *cell = ask(&scene, &scene.other, "a");
    guest_attach(&page, scene.kernel, "page");
    expect_log(&page, ""); /* it has not begun */
    guest_finish(&page);
    played_status(scene.played, cell, "busy");
    UNTIL(&scene.rig, is_state(scene.kernel, "busy"));
    guest_attach(&page, scene.kernel, "page");
    expect_log(&page, "iopub status:busy a\n");
    guest_ask(&page, MSG_SHELL, "kernel_info_request", "i");
    expect_log(&page, "iopub status:busy a\niopub status:busy i\nshell kernel_info_reply:ok i\n"
                      "iopub status:idle i\n");
    assert_true(is_state(scene.kernel, "busy"));
    guest_finish(&page);
    guest_attach(&page, scene.kernel, ""); /* likewise without a name */
    expect_log(&page, "iopub status:busy a\n");
    guest_finish(&page);
    played_serve(scene.played, cell);
    UNTIL(&scene.rig, is_state(scene.kernel, "idle"));
    end(&scene);
}

/* Ends that the gateway says itself are kept like the kernel's own, and so is a restart. */
static void keeps_what_a_restart_ends(void **state) {
    (void)state;
    struct scene scene;
    struct waiter waiter;
    begin(&scene);
    ask(&scene, &scene.lost, "a");
    guest_leave(&scene.lost);
    kernel_restart(scene.kernel, waiter_init(&waiter));
    UNTIL(&scene.rig, waiter.told);
    guest_finish(&scene.lost);
    guest_attach(&scene.lost, scene.kernel, "lost");
    static const char ends[] = "iopub error:KernelRestarted a\nshell execute_reply:error a\n"
                               "iopub status:idle a\niopub status:starting -\n";
    assert_int_equal(strncmp(guest_log(&scene.lost), ends, sizeof ends - 1), 0);
    end(&scene);
}

static void says_what_is_missing(void **state) {
    (void)state;
    enum { COUNT = 200 };
    struct scene scene;
    begin(&scene);
    scene.rig.params.session_buffer_bytes = 32 * 1024;
    struct asked *cell = ask(&scene, &scene.lost, "a");
    guest_leave(&scene.lost);
    for (int i = 0; i < COUNT; i++)
        print(&scene, cell, i);
    played_serve(scene.played, cell);
    UNTIL(&scene.rig, guest_count(&scene.other, "iopub status:idle a"));
    guest_finish(&scene.lost);
    guest_attach(&scene.lost, scene.kernel, "lost");
    unsigned streams = 0;
    for (int i = 0; i < COUNT; i++) {
        char line[64];
        snprintf(line, sizeof line, "iopub stream:%d a", i);
        streams += guest_count(&scene.lost, line);
    }
    const char *marker = strstr(guest_log(&scene.lost), "messages (");
    char expected[64];
    assert_non_null(marker);
    snprintf(expected, sizeof expected, "\n[%u messages (", COUNT - streams);
    assert_non_null(strstr(guest_log(&scene.lost), expected));
    assert_non_null(strstr(marker, "session_buffer_bytes is 32768]\n a\n"));
    assert_true(strstr(guest_log(&scene.lost), "stream:0 a") < marker);
    assert_true(strstr(marker, "stream:199 a") != NULL);
    assert_non_null(strstr(scene.lost.seen_metadata.data, "{\"cellblock\":{\"missing\":"));
    assert_true(streams > 10 && streams < COUNT - 10);
    assert_int_equal(guest_count(&scene.lost, "iopub status:idle a"), 1);
    end(&scene);
}

/* What waits goes out as far as there is room, and what comes meanwhile goes behind it. */
static void catches_up_in_steps(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    struct asked *cell = ask(&scene, &scene.lost, "a");
    guest_leave(&scene.lost);
    for (int i = 0; i < 3; i++)
        print(&scene, cell, i);
    guest_finish(&scene.lost);
    guest_attach_with(&scene.lost, scene.kernel, "lost", 100 << 20);
    expect_log(&scene.lost, "");
    print(&scene, cell, 3);
    expect_log(&scene.lost, "");
    scene.lost.queued = 0;
    kernel_catch_up(scene.kernel, &scene.lost.client);
    expect_log(&scene.lost, "iopub stream:0 a\niopub stream:1 a\niopub stream:2 a\n"
                            "iopub stream:3 a\n");
    scene.lost.is_closing = true; /* too slow: what it is not sent any more is not lost */
    print(&scene, cell, 4);
    print(&scene, cell, 5);
    guest_leave(&scene.lost);
    guest_finish(&scene.lost);
    guest_attach(&scene.lost, scene.kernel, "lost");
    expect_log(&scene.lost, "iopub stream:4 a\niopub stream:5 a\n");
    end(&scene);
}

/* So many absent ones and so long, not more. */
static void forgets_who_does_not_come_back(void **state) {
    (void)state;
    struct scene scene;
    struct guest guests[4];
    begin(&scene);
    struct asked *cell = ask(&scene, &scene.other, "a");
    scene.rig.params.session_buffers = 2;
    for (int i = 0; i < 4; i++) {
        char session_id[8];
        snprintf(session_id, sizeof session_id, "%d", i);
        guest_attach(&guests[i], scene.kernel, session_id);
    }
    for (int i = 0; i < 3; i++)
        guest_leave(&guests[i]); /* the third makes the first forgotten */
    print(&scene, cell, 0);
    for (int i = 0; i < 3; i++) {
        char session_id[8];
        snprintf(session_id, sizeof session_id, "%d", i);
        guest_finish(&guests[i]);
        guest_attach(&guests[i], scene.kernel, session_id);
        expect_log(&guests[i], i == 0 ? "" : "iopub stream:0 a\n");
    }
    scene.rig.params.session_buffer_ms = 1;
    int64_t before = mem_live();
    guest_leave(&guests[3]);
    UNTIL(&scene.rig, mem_live() < before);
    print(&scene, cell, 1);
    guest_finish(&guests[3]);
    guest_attach(&guests[3], scene.kernel, "3");
    expect_log(&guests[3], "");
    for (int i = 0; i < 4; i++)
        guest_finish(&guests[i]);
    end(&scene);
}

/* Thousands of messages, and one that is never there: memory is what it was. */
static void stays_flat(void **state) {
    (void)state;
    enum { ROUNDS = 20, MESSAGES = 200 };
    struct scene scene;
    begin(&scene);
    scene.rig.params.session_buffer_bytes = 64 * 1024;
    struct asked *cell = ask(&scene, &scene.lost, "a");
    scene.other.keeps_no_log = scene.lost.keeps_no_log = true;
    guest_leave(&scene.lost);
    unsigned heard = scene.other.heard;
    int64_t after_first = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < MESSAGES; i++)
            played_print(scene.played, cell, "0123456789012345678901234567890123456789");
        heard += MESSAGES;
        UNTIL(&scene.rig, scene.other.heard == heard);
        if (round == 1)
            after_first = mem_live();
    }
    assert_true(mem_live() < after_first + 1000);
    guest_forget_log(&scene.lost);
    end(&scene);
}

/* Session_ids without end, each lost in the middle: what is remembered of them is bounded. */
static void stays_flat_under_clients_that_come_and_go(void **state) {
    (void)state;
    enum { ROUNDS = 300 };
    struct scene scene;
    begin(&scene);
    scene.rig.params.session_buffers = 3;
    scene.rig.params.session_buffer_bytes = 16 * 1024;
    struct asked *cell = ask(&scene, &scene.other, "a");
    scene.other.keeps_no_log = true;
    int64_t after_first = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct guest guest;
        char session_id[16];
        snprintf(session_id, sizeof session_id, "%03d", round);
        guest_attach(&guest, scene.kernel, session_id);
        unsigned heard = scene.other.heard;
        for (int i = 0; i < 10; i++)
            played_print(scene.played, cell, "0123456789012345678901234567890123456789");
        UNTIL(&scene.rig, scene.other.heard == heard + 10);
        guest.unheard = 5;
        guest_leave(&guest);
        guest_finish(&guest);
        if (round == ROUNDS / 10)
            after_first = mem_live();
    }
    assert_int_equal(kernel_connections(scene.kernel), 2);
    assert_true(mem_live() < after_first + 1000);
    end(&scene);
}

/* Before the gateway ends a kernel for its size, it forgets what it keeps for the absent. */
static void sheds_when_memory_is_short(void **state) {
    (void)state;
    enum { COUNT = 60, BYTES = 100000 };
    struct scene scene;
    begin(&scene);
    char *words = mem_format("%0*d", BYTES, 0);
    struct asked *cell = ask(&scene, &scene.lost, "a");
    scene.other.keeps_no_log = true;
    guest_leave(&scene.lost);
    unsigned heard = scene.other.heard;
    for (int i = 0; i < COUNT; i++)
        played_print(scene.played, cell, words);
    UNTIL(&scene.rig, scene.other.heard == heard + COUNT);
    mem_free(words);
    int64_t before = mem_live();
    scene.rig.params.gateway_memory_bytes = 1;
    UNTIL(&scene.rig, mem_live() < before - COUNT); /* an entry and its bytes each */
    guest_finish(&scene.lost);
    guest_attach(&scene.lost, scene.kernel, "lost");
    assert_non_null(strstr(guest_log(&scene.lost), "are missing here"));
    assert_true(is_state(scene.kernel, "idle"));
    end(&scene);
}

/* The session_id lost comes back, and its connection ends in the middle of the first message. */
static void die_again(struct scene *scene) {
    guest_finish(&scene->lost);
    guest_attach(&scene->lost, scene->kernel, "lost");
    scene->lost.unheard = scene->lost.heard;
    guest_leave(&scene->lost);
}

/* Says a result of so many bytes, and waits until it is heard. */
static void show(struct scene *scene, struct asked *cell, size_t size) {
    cleanup_text struct text content = {0};
    text_append_text(&content, "{\"data\":\"");
    for (size_t i = 0; i < size; i++)
        text_append_text(&content, "x");
    text_append_text(&content, "\"}");
    played_say(scene->played, MSG_IOPUB, "execute_result", cell, cell->header,
               text_slice(&content));
    UNTIL(&scene->rig, guest_count(&scene->other, "iopub execute_result a"));
}

/* A client whose own limit is lower would die on it for ever. */
static void replaces_what_a_client_died_on_twice(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    struct asked *cell = ask(&scene, &scene.lost, "a");
    scene.lost.unheard = 1;
    show(&scene, cell, 2 << 20);
    guest_leave(&scene.lost);
    die_again(&scene);
    guest_finish(&scene.lost);
    guest_attach(&scene.lost, scene.kernel, "lost");
    assert_int_equal(guest_count(&scene.lost, "iopub execute_result a"), 0);
    static const char words[] = "iopub stream:execute_result: a message of 2097";
    assert_non_null(strstr(guest_log(&scene.lost), words));
    assert_non_null(strstr(guest_log(&scene.lost), "ended 2 times in the middle of it"));
    print(&scene, cell, 1); /* and all goes on behind it */
    assert_int_equal(guest_count(&scene.lost, "iopub stream:1 a"), 1);
    end(&scene);
}

/* What is small is under way when a link is cut by chance. */
static void repeats_what_is_small(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    struct asked *cell = ask(&scene, &scene.lost, "a");
    scene.lost.unheard = 1;
    show(&scene, cell, 1000);
    guest_leave(&scene.lost);
    for (int i = 0; i < 3; i++)
        die_again(&scene);
    guest_finish(&scene.lost);
    guest_attach(&scene.lost, scene.kernel, "lost");
    assert_int_equal(guest_count(&scene.lost, "iopub execute_result a"), 1);
    end(&scene);
}

/* Says what its older encoding's own reader refuses: a content that is no object, with a buffer. */
static void show_nonsense(struct scene *scene, struct asked *cell) {
    struct msg msg = {.header = SLICE_LITERAL("{\"msg_id\":\"n\",\"msg_type\":\"nonsense\"}"),
                      .parent_header = slice_from_text(cell->header),
                      .metadata = SLICE_LITERAL("{}"),
                      .content = SLICE_LITERAL("[]")};
    char signature[SIGN_HEX_SIZE];
    size_t size = signer_sign(scene->played->signer, &msg, signature);
    const struct slice parts[] = {
        SLICE_LITERAL(MULTIPART_DELIMITER),
        slice_make(signature, size),
        msg.header,
        msg.parent_header,
        msg.metadata,
        msg.content,
        SLICE_LITERAL("b"),
    };
    played_say_raw(scene->played, parts, sizeof parts / sizeof *parts);
    UNTIL(&scene->rig, guest_count(&scene->other, "iopub nonsense a"));
}

static void tells_that_it_cannot_say_it_in_text(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    struct asked *cell = ask(&scene, &scene.lost, "a");
    scene.lost.unheard = 1;
    show_nonsense(&scene, cell);
    guest_leave(&scene.lost);
    guest_finish(&scene.lost);
    guest_attach_for_text(&scene.lost, scene.kernel, "lost");
    assert_non_null(strstr(guest_log(&scene.lost), "[1 messages ("));
    print(&scene, cell, 1);
    assert_int_equal(guest_count(&scene.lost, "iopub stream:1 a"), 1);
    end(&scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sends_what_was_not_acknowledged_and_what_follows),
        cmocka_unit_test(keeps_replies_and_questions),
        cmocka_unit_test(a_newer_socket_takes_over_in_the_middle),
        cmocka_unit_test(leaves_nothing_where_the_client_meant_it),
        cmocka_unit_test(tells_who_comes_in_the_middle),
        cmocka_unit_test(keeps_what_a_restart_ends),
        cmocka_unit_test(says_what_is_missing),
        cmocka_unit_test(catches_up_in_steps),
        cmocka_unit_test(forgets_who_does_not_come_back),
        cmocka_unit_test(stays_flat),
        cmocka_unit_test(sheds_when_memory_is_short),
        cmocka_unit_test(stays_flat_under_clients_that_come_and_go),
        cmocka_unit_test(replaces_what_a_client_died_on_twice),
        cmocka_unit_test(repeats_what_is_small),
        cmocka_unit_test(tells_that_it_cannot_say_it_in_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
