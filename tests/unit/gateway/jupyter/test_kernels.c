/* The life of kernels as REST clients see it. */
#include <signal.h>
#include <time.h>

#include "face.h"

static struct kernel *kernel_of(struct face *face, const struct http_request *request) {
    return kernels_find(face->rig.kernels, answer_text(request, "id"));
}

static void join(char path[128], const char *id, const char *rest) {
    snprintf(path, 128, "/api/kernels/%s%s", id, rest);
}

/* Starts a kernel, and writes its path. */
static struct kernel *post(struct face *face, char path[128]) {
    struct http_request request;
    ask(face, &request, "POST", "/api/kernels", NULL);
    assert_int_equal(request.status, 201);
    struct kernel *kernel = kernel_of(face, &request);
    join(path, kernel_id(kernel), "");
    request_finish(&request);
    return kernel;
}

/* Asks for path and rest. */
static void ask_below(struct face *face, struct http_request *request, const char *method,
                      const char *path, const char *rest) {
    static char whole[160]; /* lives as long as the request: one at a time */
    snprintf(whole, sizeof whole, "%s%s", path, rest);
    ask(face, request, method, whole, NULL);
}

static void expect_model(const json_t *model, const char *state) {
    const char *date = json_string_value(json_object_get(model, "last_activity"));
    struct tm tm;
    /* What GatewayKernelManager's strptime demands: "%Y-%m-%dT%H:%M:%S.%fZ". */
    const char *fraction = strptime(date, "%Y-%m-%dT%H:%M:%S", &tm);
    assert_non_null(fraction);
    assert_int_equal(*fraction, '.');
    assert_int_equal(strspn(fraction + 1, "0123456789"), 6);
    assert_string_equal(fraction + 7, "Z");
    assert_true(json_is_integer(json_object_get(model, "connections")));
    assert_string_equal(json_string_value(json_object_get(model, "name")), "played");
    assert_string_equal(json_string_value(json_object_get(model, "execution_state")), state);
    assert_int_equal(strlen(json_string_value(json_object_get(model, "id"))), 36);
    assert_int_equal(json_object_get(model, "reason") != NULL, strcmp(state, "dead") == 0);
}

static void starts_whatever_the_body_is_like(void **state) {
    (void)state;
    static const char *const bodies[] = {
        NULL,
        "{}",
        " {} \n",
        "{\"name\":\"played\"}",
        "{\"name\":null}",
        "{\"name\":\"\"}",
        "{\"name\":\"played\",\"path\":null}",
        "{\"name\":\"played\",\"env\":null}",
        "{\"name\":\"played\",\"env\":{\"KERNEL_USERNAME\":\"u\",\"HOME\":\"/x\"},\"path\":\"a/"
        "b\"}",
    };
    struct face face;
    face_begin(&face);
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct http_request request;
        char location[128];
        ask(&face, &request, "POST", "/api/kernels", bodies[i]);
        assert_int_equal(request.status, 201); /* at once */
        expect_model(request.json, "starting");
        snprintf(location, sizeof location, "Location: /api/kernels/%s\n",
                 answer_text(&request, "id"));
        assert_non_null(strstr(request.headers, location));
        assert_non_null(kernel_of(&face, &request));
        request_finish(&request);
    }
    face_end(&face);
}

static void refuses_what_it_cannot_start(void **state) {
    (void)state;
    static const struct {
        const char *body;
        int status;
        const char *code;
    } rows[] = {
        {"{", 400, "invalid_json"},
        {"\xff", 400, "invalid_json"},
        {"{\"name\":\"a\\u0000b\"}", 400, "invalid_json"},
        {"[]", 400, "invalid_body"},
        {"7", 400, "invalid_json"},
        {"null", 400, "invalid_json"},
        {"{\"name\":7}", 400, "invalid_name"},
        {"{\"name\":\"none\"}", 404, "kernelspec_not_found"},
        {"{\"name\":\"../played\"}", 404, "kernelspec_not_found"},
        {"{\"kernel_id\":7}", 400, "invalid_kernel_id"},
        {"{\"kernel_id\":\"\"}", 400, "invalid_kernel_id"},
        {"{\"kernel_id\":\"00000000-0000-4000-8000-00000000000g\"}", 400, "invalid_kernel_id"},
        {"{\"env\":[]}", 400, "invalid_env"},
        {"{\"env\":{\"KERNEL_A\":7}}", 400, "invalid_env"},
        {"{\"cellblock\":[]}", 400, "invalid_parameter"},
        {"{\"cellblock\":{\"limits\":{\"pids\":\"x\"}}}", 400, "invalid_parameter"},
        {"{\"cellblock\":{\"limits\":{\"pids\":257}}}", 400, "out_of_range"},
        {"{\"cellblock\":{\"life_s\":7}}", 400, "not_available"},
        {"{\"cellblock\":{\"nothing\":7}}", 400, "unknown_parameter"},
        {"{\"cellblock\":{\"data\":[\"nothing\"]}}", 400, "data_folder_not_found"},
        {"{\"cellblock\":{\"kernel\":\"none\"}}", 404, "kernelspec_not_found"},
        {"{\"cellblock\":{\"kernel\":7}}", 400, "invalid_parameter"},
        {"{\"env\":{\"KERNEL_CELLBLOCK\":\"{\"}}", 400, "invalid_parameter"},
        {"{\"env\":{\"KERNEL_CELLBLOCK\":7}}", 400, "invalid_parameter"},
        {"{\"env\":{\"KERNEL_CELLBLOCK\":\"[]\"}}", 400, "invalid_parameter"},
        {"{\"env\":{\"KERNEL_CELLBLOCK\":\"{\\\"nothing\\\":1}\"}}", 400, "unknown_parameter"},
    };
    struct face face;
    face_begin(&face);
    struct http_request request;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ask(&face, &request, "POST", "/api/kernels", rows[i].body);
        expect_error(&request, rows[i].status, rows[i].code);
        request_finish(&request);
    }
    char *large = mem_alloc((1 << 20) + 2);
    memset(large, ' ', (1 << 20) + 1);
    large[(1 << 20) + 1] = 0;
    ask(&face, &request, "POST", "/api/kernels", large);
    expect_error(&request, 413, "body_too_large");
    request_finish(&request);
    mem_free(large);
    assert_int_equal(kernels_count(face.rig.kernels), 0);
    face_end(&face);
}

/* A client may choose the id; one that is there is the answer, and one that is ending is in the
 * way. */
static void takes_an_id(void **state) {
    (void)state;
    static const char body[] = "{\"kernel_id\":\"ABCDEF00-0000-1000-8000-000000000000\"}";
    static const char again[] = "{\"kernel_id\":\"abcdef00-0000-1000-8000-000000000000\"}";
    struct face face;
    struct http_request request;
    face_begin(&face);
    ask(&face, &request, "POST", "/api/kernels", body);
    assert_int_equal(request.status, 201);
    assert_string_equal(answer_text(&request, "id"), "abcdef00-0000-1000-8000-000000000000");
    struct kernel *kernel = kernel_of(&face, &request);
    request_finish(&request);
    ask(&face, &request, "POST", "/api/kernels", again);
    assert_int_equal(request.status, 201);
    assert_ptr_equal(kernel_of(&face, &request), kernel);
    request_finish(&request);
    assert_int_equal(kernels_count(face.rig.kernels), 1);
    kernel_delete(kernel, NULL);
    ask(&face, &request, "POST", "/api/kernels", again);
    expect_error(&request, 409, "duplicate_kernel");
    request_finish(&request);
    face_end(&face);
}

/* Ten at once: exactly as many as are allowed. */
static void heeds_max_kernels(void **state) {
    (void)state;
    struct face face;
    int started = 0, refused = 0;
    face_begin(&face);
    face.rig.params.max_kernels = 3;
    for (int i = 0; i < 10; i++) {
        struct http_request request;
        ask(&face, &request, "POST", "/api/kernels", NULL);
        if (request.status == 201)
            started++;
        else {
            expect_error(&request, 403, "max_kernels");
            assert_non_null(strstr(answer_text(&request, "message"), "3 kernels"));
            refused++;
        }
        request_finish(&request);
    }
    assert_int_equal(started, 3);
    assert_int_equal(refused, 7);
    face_end(&face);
}

/* Each kernel has the environment of its own request, and none has another's. */
static void gives_each_its_own_environment(void **state) {
    (void)state;
    struct face face;
    struct http_request request;
    face_begin(&face);
    for (int i = 0; i < 5; i++) {
        char body[64];
        snprintf(body, sizeof body, "{\"env\":{\"KERNEL_SECRET\":\"%d\"}}", i);
        ask(&face, &request, "POST", "/api/kernels", body);
        request_finish(&request);
    }
    for (int i = 0; i < 2; i++) {
        ask(&face, &request, "POST", "/api/kernels", i ? "{}" : NULL);
        request_finish(&request);
    }
    UNTIL(&face.rig, face.rig.received[RPC_TREE_START] == 7);
    struct played *played;
    int i = 0;
    list_for_each (played, &face.rig.played, link) {
        char expected[32];
        snprintf(expected, sizeof expected, "KERNEL_SECRET=%d", i++);
        if (i <= 5)
            assert_string_equal(played->environment, expected);
        else
            assert_memory_equal(played->environment, "KERNEL_ID=", 10);
    }
    face_end(&face);
}

/* The limits and folders that the warden is asked for come from all places, the later ones over the
 * earlier, and a restart in place asks for no others. */
static void asks_for_what_all_places_say_together(void **state) {
    (void)state;
    static const char body[] =
        "{\"name\":\"played\",\"env\":{\"KERNEL_A\":\"env\",\"KERNEL_CELLBLOCK\":"
        "\"{\\\"kernel\\\":\\\"with\\\",\\\"env\\\":{\\\"KERNEL_A\\\":\\\"variable\\\"},"
        "\\\"limits\\\":{\\\"pids\\\":100,\\\"open_files\\\":100},\\\"data\\\":[\\\"sets\\\"]}\"},"
        "\"cellblock\":{\"limits\":{\"open_files\":200,\"cpus\":0.5},\"labels\":{\"a\":\"b\"}}}";
    struct face face;
    struct http_request request;
    face_begin(&face);
    face_add_spec_with(&face, "with",
                       "{\"limits\":{\"memory_bytes\":3221225472,\"pids\":50},\"env\":{\"HOME\":"
                       "\"/x\"},\"data\":[\"books\"]}");
    ask(&face, &request, "POST", "/api/kernels", body);
    assert_int_equal(request.status, 201);
    assert_string_equal(answer_text(&request, "name"), "with");
    json_t *expected = json_pack("{s:{s:I, s:f, s:i, s:i}, s:[s], s:{s:s}}", "limits",
                                 "memory_bytes", 3221225472LL, "cpus", 0.5, "pids", 100,
                                 "open_files", 200, "data", "sets", "labels", "a", "b");
    assert_true(json_equal(json_object_get(request.json, "cellblock"), expected));
    json_decref(expected);
    UNTIL(&face.rig, face.rig.received[RPC_TREE_START] == 1);
    const struct rig_jail *jail = LIST_ENTRY(face.rig.jails.next, struct rig_jail, link);
    assert_int_equal(jail->limits.memory_bytes, 3221225472);
    assert_int_equal(jail->limits.cpus_milli, 500);
    assert_int_equal(jail->limits.pids, 100);
    assert_int_equal(jail->limits.open_files, 200);
    assert_int_equal(jail->data_mask, 1);
    const struct played *played = LIST_ENTRY(face.rig.played.next, struct played, link);
    assert_string_equal(played->environment, "HOME=/x");
    assert_string_equal(played->environment + strlen("HOME=/x") + 1, "KERNEL_A=variable");
    request_finish(&request);
    face_end(&face);
}

static void shows_the_truth(void **state) {
    (void)state;
    struct face face;
    struct http_request request;
    char path[128], other[128];
    face_begin(&face);
    struct kernel *kernel = post(&face, path);
    post(&face, other);
    UNTIL(&face.rig, is_state(kernel, "idle"));
    ask(&face, &request, "GET", path, NULL);
    assert_int_equal(request.status, 200);
    expect_model(request.json, "idle");
    request_finish(&request);
    played_die(LIST_ENTRY(face.rig.played.next, struct played, link), RPC_CAUSE_SIGNAL, SIGKILL,
               "");
    UNTIL(&face.rig, is_state(kernel, "dead"));
    ask(&face, &request, "GET", path, NULL);
    expect_model(request.json, "dead");
    assert_non_null(strstr(answer_text(&request, "reason"), "SIGKILL"));
    request_finish(&request);
    ask(&face, &request, "GET", "/api/kernels", NULL);
    assert_int_equal(json_array_size(request.json), 2);
    expect_model(json_array_get(request.json, 0), "dead");
    request_finish(&request);
    ask(&face, &request, "GET", "/api/status", NULL);
    assert_int_equal(json_integer_value(json_object_get(request.json, "kernels")), 2);
    assert_int_equal(json_integer_value(json_object_get(request.json, "connections")), 0);
    assert_int_equal(json_integer_value(json_object_get(request.json, "http_connections")), 5);
    assert_true(*answer_text(&request, "started") && *answer_text(&request, "last_activity"));
    request_finish(&request);
    face_end(&face);
}

static void answers_a_deletion_when_it_is_done(void **state) {
    (void)state;
    struct face face;
    struct http_request request, again;
    char path[128];
    face_begin(&face);
    struct kernel *kernel = post(&face, path);
    UNTIL(&face.rig, is_state(kernel, "idle"));
    ask(&face, &request, "DELETE", path, NULL);
    assert_int_equal(request.answers, 0);
    ask(&face, &again, "DELETE", path, NULL); /* gone already, for everyone else */
    expect_error(&again, 404, "kernel_not_found");
    request_finish(&again);
    UNTIL(&face.rig, request.answers);
    assert_int_equal(request.status, 204);
    assert_null(request.content);
    assert_int_equal(kernels_count(face.rig.kernels), 0);
    request_finish(&request);
    face_end(&face);
}

static void deletes_although_the_client_left(void **state) {
    (void)state;
    struct face face;
    struct http_request request;
    char path[128];
    face_begin(&face);
    struct kernel *kernel = post(&face, path);
    UNTIL(&face.rig, is_state(kernel, "idle"));
    ask(&face, &request, "DELETE", path, NULL);
    request_leave(&request);
    UNTIL(&face.rig, kernels_count(face.rig.kernels) == 0);
    face_end(&face);
}

static void says_why_a_deletion_failed(void **state) {
    (void)state;
    struct face face;
    struct http_request request;
    char path[128];
    face_begin(&face);
    struct kernel *kernel = post(&face, path);
    UNTIL(&face.rig, is_state(kernel, "idle"));
    face.rig.refused_kind = RPC_JAIL_END;
    strcpy(face.rig.refusal, "unmount: busy");
    ask(&face, &request, "DELETE", path, NULL);
    UNTIL(&face.rig, request.answers);
    expect_error(&request, 500, "delete_failed");
    assert_string_equal(answer_text(&request, "message"), "unmount: busy");
    request_finish(&request);
    face_end(&face);
}

static void answers_a_restart_when_the_kernel_does(void **state) {
    (void)state;
    struct face face;
    struct http_request request, second, gone;
    char path[128];
    face_begin(&face);
    struct kernel *kernel = post(&face, path);
    UNTIL(&face.rig, is_state(kernel, "idle"));
    ask_below(&face, &request, "POST", path, "/restart");
    ask_below(&face, &gone, "POST", path, "/restart");
    ask_below(&face, &second, "POST", path, "/restart");
    assert_int_equal(request.answers + second.answers, 0);
    request_leave(&gone);
    UNTIL(&face.rig, request.answers && second.answers);
    assert_int_equal(request.status, 200);
    assert_int_equal(second.status, 200);
    expect_model(request.json, "idle");
    request_finish(&request);
    request_finish(&second);
    face_end(&face);
}

static void says_why_a_restart_failed(void **state) {
    (void)state;
    struct face face;
    struct http_request request;
    char path[128];
    face_begin(&face);
    struct kernel *kernel = post(&face, path);
    UNTIL(&face.rig, is_state(kernel, "idle"));
    face.rig.no_sockets = true;
    ask_below(&face, &request, "POST", path, "/restart");
    UNTIL(&face.rig, face.rig.received[RPC_TREE_START] == 2);
    /* A long sentence is cut in the middle of a character, and stays text. */
    char words[300];
    for (size_t i = 0; i + 2 < sizeof words; i += 2)
        memcpy(words + i, "\xc3\xa9", 3);
    played_die(played_newest(&face.rig), RPC_CAUSE_EXIT, 1, words);
    UNTIL(&face.rig, request.answers);
    expect_error(&request, 500, "restart_failed");
    assert_non_null(strstr(answer_text(&request, "message"), "exit status 1: \xc3\xa9\xc3\xa9"));
    request_finish(&request);
    face_end(&face);
}

static void a_deletion_ends_a_restart(void **state) {
    (void)state;
    struct face face;
    struct http_request restart, deletion;
    char path[128];
    face_begin(&face);
    struct kernel *kernel = post(&face, path);
    UNTIL(&face.rig, is_state(kernel, "idle"));
    ask_below(&face, &restart, "POST", path, "/restart");
    ask(&face, &deletion, "DELETE", path, NULL);
    expect_error(&restart, 404, "kernel_not_found");
    UNTIL(&face.rig, deletion.answers);
    assert_int_equal(deletion.status, 204);
    request_finish(&restart);
    request_finish(&deletion);
    face_end(&face);
}

static void interrupts(void **state) {
    (void)state;
    struct face face;
    struct http_request request;
    char path[128];
    face_begin(&face);
    struct kernel *kernel = post(&face, path);
    ask_below(&face, &request, "POST", path, "/interrupt");
    expect_error(&request, 409, "kernel_pending");
    request_finish(&request);
    UNTIL(&face.rig, is_state(kernel, "idle"));
    ask_below(&face, &request, "POST", path, "/interrupt");
    assert_int_equal(request.status, 204);
    request_finish(&request);
    UNTIL(&face.rig, played_newest(&face.rig)->last_signal == SIGINT);
    played_die(played_newest(&face.rig), RPC_CAUSE_EXIT, 0, "");
    UNTIL(&face.rig, is_state(kernel, "dead"));
    ask_below(&face, &request, "POST", path, "/interrupt");
    expect_error(&request, 409, "kernel_dead");
    request_finish(&request);
    face_end(&face);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_whatever_the_body_is_like),
        cmocka_unit_test(refuses_what_it_cannot_start),
        cmocka_unit_test(takes_an_id),
        cmocka_unit_test(heeds_max_kernels),
        cmocka_unit_test(gives_each_its_own_environment),
        cmocka_unit_test(asks_for_what_all_places_say_together),
        cmocka_unit_test(shows_the_truth),
        cmocka_unit_test(answers_a_deletion_when_it_is_done),
        cmocka_unit_test(deletes_although_the_client_left),
        cmocka_unit_test(says_why_a_deletion_failed),
        cmocka_unit_test(answers_a_restart_when_the_kernel_does),
        cmocka_unit_test(says_why_a_restart_failed),
        cmocka_unit_test(a_deletion_ends_a_restart),
        cmocka_unit_test(interrupts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
