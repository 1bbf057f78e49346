/* A kernel's WebSocket in both encodings, and every way in which it closes. */
#include "face.h"
#include "wire/ws_v1.h"

struct scene {
    struct face face;
    struct kernel *kernel;
    char path[128];
};

static void begin(struct scene *scene) {
    struct http_request request;
    face_begin(&scene->face);
    ask(&scene->face, &request, "POST", "/api/kernels", NULL);
    scene->kernel = kernels_find(scene->face.rig.kernels, answer_text(&request, "id"));
    snprintf(scene->path, sizeof scene->path, "/api/kernels/%s/channels", kernel_id(scene->kernel));
    request_finish(&request);
}

static void end(struct scene *scene) {
    face_end(&scene->face);
}

static struct ws *open_ws(struct scene *scene, const char *query, const char *subprotocols) {
    struct http_request request = {.method = "GET",
                                   .path = scene->path,
                                   .query = query,
                                   .authorization = "token secret",
                                   .subprotocols = subprotocols,
                                   .is_websocket = true};
    ask_whole(&scene->face, &request);
    assert_int_equal(request.status, 101);
    return request.ws;
}

static bool has(const struct ws *ws, const char *words) {
    return ws->sent.data && memmem(ws->sent.data, ws->sent.size, words, strlen(words));
}

static void send_text(struct ws *ws, const char *text) {
    ws_receive(ws, slice_from_text(text), false);
}

#define EXECUTE(msg_id)                                                                            \
    "{\"header\":{\"msg_id\":\"" msg_id "\",\"msg_type\":\"execute_request\",\"session\":\"s\"},"  \
    "\"parent_header\":{},\"metadata\":{},\"content\":{\"code\":\"1\"}}"

static void needs_an_upgrade(void **state) {
    (void)state;
    struct scene scene;
    struct http_request request;
    begin(&scene);
    ask(&scene.face, &request, "GET", scene.path, NULL);
    expect_error(&request, 400, "not_a_websocket");
    request_finish(&request);
    end(&scene);
}

/* smolagents: no channel, no buffers; opened and used before the kernel is ready. */
static void relays_the_older_encoding(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    struct ws *ws = open_ws(&scene, NULL, NULL);
    assert_null(ws->subprotocol);
    assert_int_equal(kernel_connections(scene.kernel), 1);
    send_text(ws, EXECUTE("a"));
    UNTIL(&scene.face.rig,
          played_newest(&scene.face.rig) && played_got(played_newest(&scene.face.rig), "a"));
    struct played *played = played_newest(&scene.face.rig);
    assert_string_equal(played->asked[0]->content, "{\"code\":\"1\"}");
    played_serve(played, played->asked[0]);
    UNTIL(&scene.face.rig, ws->count == 3);
    assert_true(has(ws, "text {\"channel\":\"shell\",\"msg_id\":\"said-"));
    assert_true(has(ws, "\"msg_type\":\"execute_reply\""));
    assert_false(has(ws, "binary "));
    ws_leave(ws);
    assert_int_equal(kernel_connections(scene.kernel), 0);
    end(&scene);
}

static void selects_v1_where_it_is_offered(void **state) {
    (void)state;
    static const struct {
        const char *offered;
        bool is_v1;
    } rows[] = {
        {WS_V1_SUBPROTOCOL, true},
        {"other, " WS_V1_SUBPROTOCOL, true},
        {"a,b ,\t" WS_V1_SUBPROTOCOL "\t ,c", true},
        {",, " WS_V1_SUBPROTOCOL ",", true},
        {"v1.kernel.websocket.jupyter.or", false},
        {WS_V1_SUBPROTOCOL "x", false},
        {"v1.kernel websocket.jupyter.org", false},
        {",", false},
        {"", false},
        {NULL, false},
    };
    struct scene scene;
    begin(&scene);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ws *ws = open_ws(&scene, NULL, rows[i].offered);
        assert_int_equal(ws->subprotocol != NULL, rows[i].is_v1);
        ws_leave(ws);
    }
    end(&scene);
}

static void relays_v1(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    struct ws *ws = open_ws(&scene, "session_id=lab", WS_V1_SUBPROTOCOL);
    struct slice buffer = SLICE_LITERAL("\x00\xff");
    struct msg msg = {MSG_SHELL,
                      SLICE_LITERAL("{\"msg_id\":\"a\",\"msg_type\":\"execute_request\"}"),
                      SLICE_LITERAL("{}"),
                      SLICE_LITERAL("{}"),
                      SLICE_LITERAL("{\"code\":NaN}"), /* not parsed */
                      &buffer,
                      1};
    struct bytes *frame = ws_v1_encode(&msg);
    ws_receive(ws, bytes_slice(frame), true);
    bytes_unref(frame);
    UNTIL(&scene.face.rig,
          played_newest(&scene.face.rig) && played_got(played_newest(&scene.face.rig), "a"));
    struct played *played = played_newest(&scene.face.rig);
    assert_string_equal(played->asked[0]->content, "{\"code\":NaN}");
    played_serve(played, played->asked[0]);
    UNTIL(&scene.face.rig, ws->count == 3);
    assert_false(has(ws, "text "));
    /* A text frame is taken for what it is. */
    send_text(ws, EXECUTE("b"));
    UNTIL(&scene.face.rig, played_got(played, "b"));
    ws_leave(ws);
    end(&scene);
}

static void closes_on_what_is_no_message(void **state) {
    (void)state;
    static const struct {
        const char *frame;
        size_t size;
        bool binary;
    } rows[] = {
        {"", 0, false},
        {"hello", 5, false},
        {"[]", 2, false},
        {"{}", 2, false},
        {"{\"header\":{},\"content\":[]}", 26, false},
        {"{\"header\":7,\"content\":{}}", 25, false},
        {"{\"header\":{\"msg_id\":7,\"msg_type\":\"a\"},\"content\":{}}", 51, false},
        {"{\"header\":{\"msg_id\":\"a\",\"msg_type\":\"\"},\"content\":{}}", 52, false},
        {"", 0, true},
        {"\0\0\0\1", 4, true},
        {"\xff\xff\xff\xff\xff\xff\xff\xff", 8, true},
    };
    struct scene scene;
    begin(&scene);
    for (int v1 = 0; v1 <= 1; v1++)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            struct ws *ws = open_ws(&scene, NULL, v1 ? WS_V1_SUBPROTOCOL : NULL);
            ws_receive(ws, slice_make(rows[i].frame, rows[i].size), rows[i].binary);
            assert_int_equal(ws->code, 1007);
            assert_true(strlen(ws->reason) > 5);
            ws_leave(ws);
        }
    /* A header of 70 KB, an unknown channel, and one that no client may speak on. */
    char *large = mem_format("{\"header\":{\"msg_id\":\"%070000d\"},\"content\":{}}", 0);
    struct ws *ws = open_ws(&scene, NULL, NULL);
    send_text(ws, "{\"channel\":\"none\",\"header\":{\"msg_id\":\"a\"},\"content\":{}}");
    send_text(ws, "{\"channel\":\"iopub\",\"header\":{\"msg_id\":\"a\",\"msg_type\":\"status\"},"
                  "\"content\":{}}");
    assert_int_equal(ws->code, 0);
    send_text(ws, large);
    assert_int_equal(ws->code, 1007);
    mem_free(large);
    ws_leave(ws);
    end(&scene);
}

/* 1000 is for what will not come back: JupyterLab does not connect again then. */
static void closes_with_1000_for_what_is_over(void **state) {
    (void)state;
    struct scene scene;
    struct http_request deletion;
    begin(&scene);
    UNTIL(&scene.face.rig, is_state(scene.kernel, "idle"));
    struct ws *first = open_ws(&scene, "session_id=lab", NULL);
    struct ws *nameless = open_ws(&scene, "session_id=", NULL);
    struct ws *second = open_ws(&scene, "x=1&session_id=la%62", NULL);
    assert_int_equal(first->code, 1000);
    assert_non_null(strstr(first->reason, "session_id"));
    assert_int_equal(second->code, 0);
    assert_int_equal(nameless->code, 0);
    send_text(first, EXECUTE("late")); /* a frame that was under way */
    ws_leave(first);
    assert_int_equal(kernel_connections(scene.kernel), 2);

    struct http_request restart = {.method = "POST", .authorization = "token secret"};
    char path[160];
    snprintf(path, sizeof path, "/api/kernels/%s/restart", kernel_id(scene.kernel));
    restart.path = path;
    ask_whole(&scene.face, &restart);
    UNTIL(&scene.face.rig, restart.answers);
    request_finish(&restart);
    assert_int_equal(second->code, 0); /* stays */
    assert_true(has(second, "\"execution_state\":\"starting\""));
    played_die(played_newest(&scene.face.rig), RPC_CAUSE_EXIT, 0, "");
    UNTIL(&scene.face.rig, has(second, "\"execution_state\":\"dead\""));
    assert_int_equal(second->code, 0); /* and here too: it can be restarted */

    path[strlen(path) - strlen("/restart")] = 0;
    ask(&scene.face, &deletion, "DELETE", path, NULL);
    assert_int_equal(second->code, 1000);
    assert_int_equal(nameless->code, 1000);
    assert_non_null(strstr(second->reason, "deleted"));
    send_text(second, EXECUTE("later"));
    ws_leave(second); /* one before the kernel is gone, one after */
    UNTIL(&scene.face.rig, deletion.answers);
    send_text(nameless, EXECUTE("later"));
    ws_leave(nameless);
    request_finish(&deletion);
    end(&scene);
}

/* GatewayKernelClient shows nothing but the path, and must not be answered before the kernel is. */
static void ask_impatiently(struct scene *scene, struct http_request *request, char path[160]) {
    snprintf(path, 160, "/t/secret%s", scene->path);
    *request = (struct http_request){.method = "GET", .path = path, .is_websocket = true};
    ask_whole(&scene->face, request);
}

static void holds_the_upgrade_of_an_impatient_client(void **state) {
    (void)state;
    struct scene scene;
    struct http_request first, second, gone, patient;
    char path[160];
    begin(&scene);
    ask_impatiently(&scene, &first, path);
    ask_impatiently(&scene, &gone, path);
    ask_impatiently(&scene, &second, path);
    assert_int_equal(first.answers, 0);
    request_leave(&gone);
    /* Whoever shows anything else is answered at once. */
    static const struct http_request others[] = {
        {.query = "session_id=x"},
        {.subprotocols = WS_V1_SUBPROTOCOL},
        {.user_agent = "Python/3.11 websockets"},
        {.authorization = "token secret"},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        patient = others[i];
        patient.method = "GET";
        patient.path = path;
        patient.is_websocket = true;
        ask_whole(&scene.face, &patient);
        assert_int_equal(patient.status, 101);
        ws_leave(patient.ws);
    }
    UNTIL(&scene.face.rig, first.answers && second.answers);
    assert_true(is_state(scene.kernel, "idle"));
    assert_int_equal(first.status, 101);
    send_text(first.ws, EXECUTE("a"));
    struct played *played = played_newest(&scene.face.rig);
    UNTIL(&scene.face.rig, played_got(played, "a"));
    played_serve(played, played_got(played, "a"));
    UNTIL(&scene.face.rig, first.ws->count == 3 && second.ws->count == 2);
    ws_leave(first.ws);
    ws_leave(second.ws);
    end(&scene);
}

static void refuses_the_upgrade_of_a_kernel_that_died(void **state) {
    (void)state;
    struct scene scene;
    struct http_request waiting, late;
    char path[160];
    begin(&scene);
    scene.face.rig.no_sockets = true;
    ask_impatiently(&scene, &waiting, path);
    UNTIL(&scene.face.rig, played_newest(&scene.face.rig));
    played_die(played_newest(&scene.face.rig), RPC_CAUSE_FAILED, 0, "no such interpreter");
    UNTIL(&scene.face.rig, waiting.answers);
    expect_error(&waiting, 500, "kernel_dead");
    assert_string_equal(answer_text(&waiting, "message"),
                        "the kernel could not be started: no such interpreter");
    request_finish(&waiting);
    ask_impatiently(&scene, &late, path);
    expect_error(&late, 500, "kernel_dead");
    request_finish(&late);
    struct ws *ws = open_ws(&scene, "session_id=x", NULL); /* others hear it as a message */
    assert_true(has(ws, "\"execution_state\":\"dead\""));
    ws_leave(ws);
    end(&scene);
}

static void refuses_the_upgrade_of_a_kernel_that_is_deleted(void **state) {
    (void)state;
    struct scene scene;
    struct http_request waiting;
    struct waiter deletion;
    char path[160];
    begin(&scene);
    ask_impatiently(&scene, &waiting, path);
    kernel_delete(scene.kernel, waiter_init(&deletion));
    expect_error(&waiting, 404, "kernel_not_found");
    UNTIL(&scene.face.rig, deletion.told);
    request_finish(&waiting);
    end(&scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(needs_an_upgrade),
        cmocka_unit_test(relays_the_older_encoding),
        cmocka_unit_test(selects_v1_where_it_is_offered),
        cmocka_unit_test(relays_v1),
        cmocka_unit_test(closes_on_what_is_no_message),
        cmocka_unit_test(closes_with_1000_for_what_is_over),
        cmocka_unit_test(holds_the_upgrade_of_an_impatient_client),
        cmocka_unit_test(refuses_the_upgrade_of_a_kernel_that_died),
        cmocka_unit_test(refuses_the_upgrade_of_a_kernel_that_is_deleted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
