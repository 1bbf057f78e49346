/* A kernel that its user made, and clients that mean no good: the gateway stays what it is. */
#include <errno.h>
#include <zmq.h>

#include "guest.h"
#include "played.h"
#include "wire/multipart.h"
#include "wire/sign.h"

enum { QUEUE = 1 << 20 };

struct scene {
    struct rig rig;
    struct kernel *kernel;
    struct played *played;
    struct guest guest;
};

static void begin(struct scene *scene) {
    rig_begin(&scene->rig);
    scene->rig.params.ws_queue_bytes = QUEUE;
    scene->kernel = rig_start_ready(&scene->rig);
    scene->played = played_newest(&scene->rig);
    guest_attach(&scene->guest, scene->kernel, "");
}

static void end(struct scene *scene) {
    guest_finish(&scene->guest);
    rig_end(&scene->rig);
}

static struct asked *ask(struct scene *scene, const char *msg_id) {
    guest_ask(&scene->guest, MSG_SHELL, "execute_request", msg_id);
    UNTIL(&scene->rig, played_got(scene->played, msg_id));
    return played_got(scene->played, msg_id);
}

/* It still does what it should. */
static void expect_service(struct scene *scene) {
    static unsigned number;
    char msg_id[32], line[64];
    snprintf(msg_id, sizeof msg_id, "still-%u", ++number);
    snprintf(line, sizeof line, "iopub status:idle %s", msg_id);
    played_serve(scene->played, ask(scene, msg_id));
    UNTIL(&scene->rig, guest_count(&scene->guest, line));
    snprintf(line, sizeof line, "shell execute_reply:ok %s", msg_id);
    UNTIL(&scene->rig, guest_count(&scene->guest, line));
}

static char *make_json(size_t size, char filling) {
    char *json = mem_alloc(size + 1);
    memset(json, filling, size);
    memcpy(json, "{\"status\":\"ok\",\"x\":\"", 20);
    memcpy(json + size - 2, "\"}", 3);
    return json;
}

/* A message that no client could be given: words in its place, and the request ends. */
static void says_what_was_too_large(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    char *large = make_json(2 * QUEUE, 'x');
    struct asked *asked = ask(&scene, "a");
    played_status(scene.played, asked, "busy");
    played_say(scene.played, MSG_IOPUB, "display_data", asked, asked->header,
               slice_from_text(large));
    played_say(scene.played, MSG_SHELL, "execute_reply", asked, asked->header,
               slice_from_text(large));
    played_status(scene.played, asked, "idle");
    UNTIL(&scene.rig, guest_count(&scene.guest, "iopub status:idle a") &&
                          guest_count(&scene.guest, "shell execute_reply:error a"));
    assert_int_equal(scene.guest.heard, 4);
    assert_non_null(strstr(guest_log(&scene.guest), "iopub stream:display_data: a message of 20"));
    assert_non_null(strstr(guest_log(&scene.guest), "ws_queue_bytes allows 1048576"));
    assert_non_null(strstr(scene.guest.evalue, "execute_reply: a message of 20"));
    expect_service(&scene);
    assert_true(is_state(scene.kernel, "idle"));
    mem_free(large);
    end(&scene);
}

/* Nobody waits for ever because an idle was too large. */
static void says_the_state_of_what_was_too_large(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    char *large = make_json(2 * QUEUE, 'x');
    memcpy(large, "{\"execution_state\":\"idle\",\"x\":\"", 31);
    struct asked *asked = ask(&scene, "a");
    played_status(scene.played, asked, "busy");
    played_reply(scene.played, asked, "ok");
    played_say(scene.played, MSG_IOPUB, "status", asked, asked->header, slice_from_text(large));
    UNTIL(&scene.rig, guest_count(&scene.guest, "iopub status:idle a"));
    assert_non_null(strstr(guest_log(&scene.guest), "iopub stream:status: a message of 20"));
    assert_true(is_state(scene.kernel, "idle"));
    expect_service(&scene);
    mem_free(large);
    end(&scene);
}

/* One that would just fit passes. */
static void passes_on_what_a_queue_can_hold(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    char *large = make_json(QUEUE - 8192, 'x');
    struct asked *asked = ask(&scene, "a");
    played_say(scene.played, MSG_IOPUB, "display_data", asked, asked->header,
               slice_from_text(large));
    UNTIL(&scene.rig, scene.guest.heard == 1);
    assert_int_equal(guest_count(&scene.guest, "iopub display_data:ok a"), 1);
    mem_free(large);
    end(&scene);
}

/* Larger than ZeroMQ may read at all: the connection ends, and with it the kernel. */
static void ends_a_kernel_that_sends_what_cannot_be_read(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    char *large = make_json(5 * QUEUE, 'x');
    struct asked *asked = ask(&scene, "a");
    played_say(scene.played, MSG_IOPUB, "display_data", asked, asked->header,
               slice_from_text(large));
    UNTIL(&scene.rig, guest_count(&scene.guest, "iopub status:dead -"));
    assert_int_equal(guest_count(&scene.guest, "iopub error:KernelLost a"), 1);
    assert_non_null(strstr(kernel_reason(scene.kernel), "4194304 bytes"));
    mem_free(large);
    end(&scene);
}

/* Parts that are no message, and messages that nobody signed. */
static void survives_parts_that_are_no_message(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    struct slice empty = SLICE_LITERAL(""), object = SLICE_LITERAL("{}"),
                 delimiter = SLICE_LITERAL(MULTIPART_DELIMITER);
    struct slice many[3000];
    for (size_t i = 0; i < 3000; i++)
        many[i] = i == 1 ? delimiter : object;
    struct slice unsigned_one[] = {delimiter, empty, object, object, object, object};
    struct slice short_one[] = {delimiter, empty, object};
    played_say_raw(scene.played, &empty, 1);
    played_say_raw(scene.played, &object, 1);
    played_say_raw(scene.played, many, 3000);
    played_say_raw(scene.played, many, 17);
    played_say_raw(scene.played, unsigned_one, 6);
    played_say_raw(scene.played, short_one, 3);
    for (int i = 0; i < 1000; i++)
        played_say_raw(scene.played, unsigned_one, 6);
    expect_service(&scene);
    assert_true(scene.rig.troubles.size < 2000); /* not a line for each */
    assert_non_null(strstr(scene.rig.troubles.data, "signature"));
    assert_int_equal(scene.guest.heard, 3);
    end(&scene);
}

/* Signed, but with headers that are no headers. */
static void survives_headers_that_are_none(void **state) {
    (void)state;
    static const char *const headers[] = {
        "", "null", "[]", "7", "{", "{\"msg_id\":\"\xff\"}", "{\"msg_id\":\"\\u0000\"}", "{}{}",
    };
    struct scene scene;
    begin(&scene);
    struct signer *signer = signer_create(slice_from_text(scene.played->connection.key));
    char *large = make_json(100 * 1024, 'x');
    struct slice object = SLICE_LITERAL("{}");
    for (size_t i = 0; i <= sizeof headers / sizeof *headers; i++) {
        bool is_last = i == sizeof headers / sizeof *headers;
        struct slice header = slice_from_text(is_last ? large : headers[i]);
        struct msg msgs[] = {
            {MSG_IOPUB, header, object, object, object, NULL, 0},
            {MSG_IOPUB, object, header, object, SLICE_LITERAL("{\"n\":1}"), NULL, 0},
        };
        for (size_t j = 0; j < 2; j++) {
            char signature[SIGN_HEX_SIZE];
            size_t size = signer_sign(signer, &msgs[j], signature);
            struct slice parts[] = {SLICE_LITERAL(MULTIPART_DELIMITER),
                                    slice_make(signature, size),
                                    msgs[j].header,
                                    msgs[j].parent_header,
                                    msgs[j].metadata,
                                    msgs[j].content};
            played_say_raw(scene.played, parts, 6);
        }
    }
    expect_service(&scene);
    mem_free(large);
    signer_destroy(signer);
    end(&scene);
}

static void is_not_slowed_by_statuses(void **state) {
    (void)state;
    enum { COUNT = 5000 };
    struct scene scene;
    begin(&scene);
    struct asked *asked = ask(&scene, "a");
    for (int i = 0; i < COUNT; i++) {
        char parent[64];
        snprintf(parent, sizeof parent, "{\"msg_id\":\"%d\",\"msg_type\":\"comm_msg\"}", i);
        played_say(scene.played, MSG_IOPUB, "status", asked, i % 2 ? parent : asked->header,
                   SLICE_LITERAL("{\"execution_state\":\"busy\"}"));
    }
    UNTIL(&scene.rig, scene.guest.heard == COUNT);
    assert_true(is_state(scene.kernel, "busy"));
    /* A megabyte of JSON in one is not parsed into a tree. */
    char *deep = mem_alloc(QUEUE / 2);
    memset(deep, '[', QUEUE / 2);
    memcpy(deep, "{\"execution_state\":", 19);
    int64_t before = mem_live();
    played_say(scene.played, MSG_IOPUB, "status", asked, asked->header,
               slice_make(deep, QUEUE / 2));
    UNTIL(&scene.rig, scene.guest.heard == COUNT + 1);
    assert_true(mem_live() <= before + 1000);
    mem_free(deep);
    end(&scene);
}

/* What the kernel calls itself is repeated in what we say, but not at any length. */
static void repeats_no_endless_session(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    struct asked *asked = ask(&scene, "a");
    char *header =
        mem_format("{\"msg_id\":\"1\",\"msg_type\":\"stream\",\"session\":\"%060000d\"}", 0);
    struct signer *signer = signer_create(slice_from_text(scene.played->connection.key));
    struct slice object = SLICE_LITERAL("{}");
    struct msg msg = {MSG_IOPUB, slice_from_text(header), object, object, object, NULL, 0};
    char signature[SIGN_HEX_SIZE];
    size_t size = signer_sign(signer, &msg, signature);
    struct slice parts[] = {SLICE_LITERAL(MULTIPART_DELIMITER),
                            slice_make(signature, size),
                            msg.header,
                            object,
                            object,
                            object};
    played_say_raw(scene.played, parts, 6);
    UNTIL(&scene.rig, scene.guest.heard == 1); /* it passes: it is the kernel's own */
    guest_ask(&scene.guest, MSG_SHELL, "kernel_info_request", "i"); /* answered by us */
    assert_int_equal(guest_count(&scene.guest, "shell kernel_info_reply:ok i"), 1);
    assert_string_equal(scene.guest.session, scene.played->session);
    played_serve(scene.played, asked);
    signer_destroy(signer);
    mem_free(header);
    end(&scene);
}

/* A kernel_info_reply without end is passed on, and not kept for others. */
static void keeps_no_endless_kernel_info(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    unsigned infos = scene.played->infos;
    char *large = make_json(QUEUE / 2, 'x');
    scene.rig.mute = true;
    guest_ask(&scene.guest, MSG_SHELL, "kernel_info_request", "i");
    UNTIL(&scene.rig, played_got(scene.played, "i"));
    struct asked *asked = played_got(scene.played, "i");
    played_say(scene.played, MSG_SHELL, "kernel_info_reply", asked, asked->header,
               slice_from_text(large));
    UNTIL(&scene.rig, guest_count(&scene.guest, "shell kernel_info_reply:ok i"));
    ask(&scene, "cell");
    int64_t before = mem_live();
    guest_ask(&scene.guest, MSG_SHELL, "kernel_info_request", "j");
    assert_true(mem_live() <= before + 100);
    assert_int_equal(scene.played->infos, infos + 1); /* the first good one still answers */
    assert_int_equal(guest_count(&scene.guest, "shell kernel_info_reply:ok j"), 1);
    mem_free(large);
    end(&scene);
}

/* With a date of its own each is a request. */
static void survives_one_msg_id_two_thousand_times(void **state) {
    (void)state;
    enum { COUNT = 2000 };
    struct scene scene;
    begin(&scene);
    scene.rig.params.session_pending_requests = COUNT;
    for (int i = 0; i < COUNT; i++)
        guest_ask_as(&scene.guest, MSG_SHELL, "execute_request", "same", "", (struct slice){0});
    UNTIL(&scene.rig, played_nth(scene.played, "same", 0) && scene.played->asked_count == COUNT);
    guest_ask(&scene.guest, MSG_SHELL, "execute_request", "more");
    assert_int_equal(guest_count(&scene.guest, "iopub error:KernelQueueFull more"), 1);
    guest_forget_log(&scene.guest);
    played_die(scene.played, RPC_CAUSE_EXIT, 0, "");
    UNTIL(&scene.rig, guest_count(&scene.guest, "iopub status:dead -"));
    assert_int_equal(guest_count(&scene.guest, "shell execute_reply:error same"), COUNT);
    end(&scene);
}

static void survives_ten_thousand_opens(void **state) {
    (void)state;
    enum { COUNT = 10000, OPEN = 500 };
    static struct guest guests[OPEN];
    struct scene scene;
    begin(&scene);
    struct asked *asked = ask(&scene, "a");
    for (int i = 0; i < COUNT; i++) {
        struct guest *guest = &guests[i % OPEN];
        char session_id[32];
        snprintf(session_id, sizeof session_id, "%d", i % 700);
        if (i >= OPEN)
            guest_finish(guest);
        guest_attach(guest, scene.kernel, i % 3 ? session_id : "");
    }
    played_serve(scene.played, asked);
    UNTIL(&scene.rig, guest_count(&scene.guest, "iopub status:idle a"));
    for (int i = 0; i < OPEN; i++)
        guest_finish(&guests[i]);
    assert_int_equal(kernel_connections(scene.kernel), 1);
    end(&scene);
}

/* ZeroMQ makes no more sockets: the start fails with a sentence. */
static void survives_that_sockets_run_out(void **state) {
    (void)state;
    struct rig rig;
    bool is_ready = false;
    int sockets = 0;
    while (!is_ready) {
        rig_begin(&rig);
        zmq_ctx_set(rig.zmq, ZMQ_MAX_SOCKETS, ++sockets);
        struct kernel *kernel = rig_start(&rig);
        UNTIL(&rig, !is_state(kernel, "starting"));
        is_ready = is_state(kernel, "idle");
        if (!is_ready)
            assert_non_null(strstr(kernel_reason(kernel), "socket"));
        rig_end(&rig);
    }
    assert_in_range(sockets, 5, 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_was_too_large),
        cmocka_unit_test(says_the_state_of_what_was_too_large),
        cmocka_unit_test(passes_on_what_a_queue_can_hold),
        cmocka_unit_test(ends_a_kernel_that_sends_what_cannot_be_read),
        cmocka_unit_test(survives_parts_that_are_no_message),
        cmocka_unit_test(survives_headers_that_are_none),
        cmocka_unit_test(is_not_slowed_by_statuses),
        cmocka_unit_test(repeats_no_endless_session),
        cmocka_unit_test(keeps_no_endless_kernel_info),
        cmocka_unit_test(survives_one_msg_id_two_thousand_times),
        cmocka_unit_test(survives_ten_thousand_opens),
        cmocka_unit_test(survives_that_sockets_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
