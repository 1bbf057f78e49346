/* Sessions: paths by which clients find their kernels again. */
#include "face.h"

#define A "{\"path\":\"a.ipynb\",\"type\":\"notebook\",\"name\":\"a\"}"
#define B "{\"path\":\"b.ipynb\",\"type\":\"notebook\"}"
#define NOBODY "00000000-0000-4000-8000-000000000000"

struct made {
    char id[40], kernel_id[40];
};

static const json_t *kernel_of(const json_t *model) {
    return json_object_get(model, "kernel");
}

static const char *text_of(const json_t *object, const char *name) {
    const char *value = json_string_value(json_object_get(object, name));
    return value ? value : "";
}

static struct made made_of(const json_t *model) {
    struct made made;
    snprintf(made.id, sizeof made.id, "%s", text_of(model, "id"));
    snprintf(made.kernel_id, sizeof made.kernel_id, "%s", text_of(kernel_of(model), "id"));
    return made;
}

/* Makes a session, and checks that it is answered as one. */
static struct made post(struct face *face, const char *body) {
    struct http_request request;
    ask(face, &request, "POST", "/api/sessions", body);
    if (request.status != 201)
        fail_msg("%s: %d %s", body, request.status, answer_text(&request, "message"));
    struct made made = made_of(request.json);
    char location[80];
    snprintf(location, sizeof location, "Location: /api/sessions/%s\n", made.id);
    assert_non_null(strstr(request.headers, location));
    request_finish(&request);
    return made;
}

/* Asks for one session, or with id "" for all; the answer is the caller's to finish. */
static void ask_one(struct face *face, struct http_request *request, const char *method,
                    const char *id, const char *body) {
    static char path[80]; /* lives as long as the request: one at a time */
    snprintf(path, sizeof path, "/api/sessions%s%s", *id ? "/" : "", id);
    ask(face, request, method, path, body);
}

static void expect_refusal(struct face *face, const char *method, const char *id, const char *body,
                           int status, const char *code) {
    struct http_request request;
    ask_one(face, &request, method, id, body);
    expect_error(&request, status, code);
    request_finish(&request);
}

static size_t count(struct face *face) {
    struct http_request request;
    ask_one(face, &request, "GET", "", NULL);
    assert_int_equal(request.status, 200);
    size_t size = json_array_size(request.json);
    request_finish(&request);
    return size;
}

static void delete_its_kernel(struct face *face, const struct made *made) {
    kernel_delete(kernels_find(face->rig.kernels, made->kernel_id), NULL);
}

static void shows_what_clients_validate(void **state) {
    (void)state;
    struct face face;
    struct http_request request;
    face_begin(&face);
    struct made made = post(&face, A);
    ask_one(&face, &request, "GET", made.id, NULL);
    assert_int_equal(request.status, 200);
    assert_string_equal(text_of(request.json, "path"), "a.ipynb");
    assert_string_equal(text_of(request.json, "name"), "a");
    assert_string_equal(text_of(request.json, "type"), "notebook");
    assert_string_equal(text_of(kernel_of(request.json), "name"), "played");
    assert_string_equal(text_of(kernel_of(request.json), "execution_state"), "starting");
    const json_t *notebook = json_object_get(request.json, "notebook");
    assert_string_equal(text_of(notebook, "path"), "a.ipynb");
    assert_string_equal(text_of(notebook, "name"), "a");
    request_finish(&request);
    made = post(&face, "{\"path\":\"\",\"type\":\"console\",\"name\":null,\"kernel\":null}");
    ask_one(&face, &request, "GET", made.id, NULL);
    assert_null(json_object_get(request.json, "notebook"));
    assert_true(json_is_string(json_object_get(request.json, "name")));
    request_finish(&request);
    assert_int_equal(count(&face), 2);
    face_end(&face);
}

static void finds_a_path_again(void **state) {
    (void)state;
    struct face face;
    face_begin(&face);
    struct made a = post(&face, A), b = post(&face, B);
    struct made again = post(&face, "{\"path\":\"a.ipynb\",\"type\":\"file\",\"kernel\":{\"name\":"
                                    "\"none\"}}"); /* all but the path is of no matter */
    assert_string_equal(again.id, a.id);
    assert_string_equal(again.kernel_id, a.kernel_id);
    assert_string_not_equal(b.id, a.id);
    assert_string_not_equal(b.kernel_id, a.kernel_id);
    assert_int_equal(kernels_count(face.rig.kernels), 2);
    delete_its_kernel(&face, &a);
    again = post(&face, A);
    assert_string_not_equal(again.id, a.id);
    assert_int_equal(count(&face), 2);
    face_end(&face);
}

static void takes_the_older_form(void **state) {
    (void)state;
    struct face face;
    struct http_request request;
    face_begin(&face);
    struct made made = post(&face, "{\"notebook\":{\"path\":\"a.ipynb\"}}");
    assert_string_equal(post(&face, A).id, made.id);
    assert_string_equal(post(&face, "{\"notebook\":{\"name\":\"a.ipynb\"}}").id, made.id);
    ask_one(&face, &request, "PATCH", made.id, "{\"notebook\":{\"path\":\"c\"}}");
    assert_string_equal(text_of(request.json, "path"), "c");
    request_finish(&request);
    face_end(&face);
}

static void takes_a_kernel_by_name_or_id(void **state) {
    (void)state;
    static const char chosen[] = "12345678-1234-5678-1234-56781234567f";
    struct face face;
    face_begin(&face);
    face_add_spec(&face, "another", NULL);
    struct made made =
        post(&face, "{\"path\":\"a\",\"type\":\"x\",\"kernel\":{\"name\":\"another\","
                    "\"id\":null}}");
    struct kernel *kernel = kernels_find(face.rig.kernels, made.kernel_id);
    assert_string_equal(kernel_spec_name(kernel), "another");
    char body[200];
    snprintf(body, sizeof body, "{\"path\":\"b\",\"type\":\"x\",\"kernel\":{\"id\":\"%s\"}}",
             made.kernel_id);
    assert_string_equal(post(&face, body).kernel_id, made.kernel_id);
    snprintf(body, sizeof body, "{\"path\":\"c\",\"type\":\"x\",\"kernel\":{\"id\":\"%s\"}}",
             chosen);
    assert_string_equal(post(&face, body).kernel_id, chosen);
    assert_int_equal(kernels_count(face.rig.kernels), 2);
    face_end(&face);
}

static void refuses_bodies(void **state) {
    (void)state;
#define KERNEL(kernel) "{\"path\":\"k\",\"type\":\"x\",\"kernel\":" kernel "}"
    static const struct {
        const char *body;
        int status;
        const char *code;
    } rows[] = {
        {NULL, 400, "missing_field"},
        {"{", 400, "invalid_json"},
        {"[]", 400, "invalid_body"},
        {"{}", 400, "missing_field"},
        {"{\"path\":\"k\"}", 400, "missing_field"},
        {"{\"type\":\"x\"}", 400, "missing_field"},
        {"{\"path\":null,\"type\":\"x\"}", 400, "missing_field"},
        {"{\"notebook\":{}}", 400, "missing_field"},
        {"{\"notebook\":7}", 400, "missing_field"},
        {"{\"path\":7,\"type\":\"x\"}", 400, "invalid_session"},
        {"{\"path\":\"k\",\"type\":[]}", 400, "invalid_session"},
        {"{\"path\":\"k\",\"type\":\"x\",\"name\":{}}", 400, "invalid_session"},
        {"{\"notebook\":{\"path\":7}}", 400, "invalid_session"},
        {KERNEL("7"), 400, "invalid_kernel"},
        {KERNEL("[]"), 400, "invalid_kernel"},
        {KERNEL("{\"name\":7}"), 400, "invalid_name"},
        {KERNEL("{\"id\":7}"), 400, "invalid_kernel_id"},
        {KERNEL("{\"id\":\"x\"}"), 400, "invalid_kernel_id"},
        {KERNEL("{\"name\":\"none\"}"), 501, "kernelspec_not_found"},
    };
    struct face face;
    face_begin(&face);
    struct made made = post(&face, A);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        expect_refusal(&face, "POST", "", rows[i].body, rows[i].status, rows[i].code);
        if (strcmp(rows[i].code, "missing_field") == 0)
            continue; /* a change need not name everything */
        if (strcmp(rows[i].code, "invalid_kernel_id") == 0)
            expect_refusal(&face, "PATCH", made.id, rows[i].body, 400, "kernel_not_found");
        else
            expect_refusal(&face, "PATCH", made.id, rows[i].body, rows[i].status, rows[i].code);
    }
    struct http_request request;
    ask(&face, &request, "POST", "/api/sessions", KERNEL("{\"name\":\"none\"}"));
    assert_string_equal(answer_text(&request, "short_message"), "none not found");
    request_finish(&request);
    assert_int_equal(count(&face), 1);
    assert_int_equal(kernels_count(face.rig.kernels), 1);
    face_end(&face);
}

static void changes_what_a_patch_names(void **state) {
    (void)state;
    struct face face;
    struct http_request request;
    face_begin(&face);
    struct made a = post(&face, A), b = post(&face, B);
    ask_one(&face, &request, "PATCH", a.id, "{\"path\":\"c\",\"name\":\"n\",\"type\":\"t\"}");
    assert_int_equal(request.status, 200);
    assert_string_equal(text_of(request.json, "path"), "c");
    assert_string_equal(text_of(request.json, "name"), "n");
    assert_string_equal(text_of(request.json, "type"), "t");
    assert_string_equal(made_of(request.json).kernel_id, a.kernel_id);
    request_finish(&request);
    ask_one(&face, &request, "PATCH", a.id, "{\"kernel\":{},\"path\":null}");
    assert_string_equal(text_of(request.json, "path"), "c");
    assert_string_equal(made_of(request.json).kernel_id, a.kernel_id);
    request_finish(&request);
    ask_one(&face, &request, "PATCH", a.id, "{\"kernel\":{\"name\":\"played\"}}");
    assert_int_equal(request.status, 200);
    struct made after = made_of(request.json);
    request_finish(&request);
    assert_string_not_equal(after.kernel_id, a.kernel_id);
    assert_null(kernels_find(face.rig.kernels, a.kernel_id)); /* the one before ends */
    char body[80];
    snprintf(body, sizeof body, "{\"kernel\":{\"id\":\"%s\",\"name\":\"none\"}}", b.kernel_id);
    ask_one(&face, &request, "PATCH", a.id, body);
    assert_string_equal(made_of(request.json).kernel_id, b.kernel_id);
    request_finish(&request);
    assert_null(kernels_find(face.rig.kernels, after.kernel_id));
    ask_one(&face, &request, "PATCH", a.id, body); /* it has that one already */
    assert_string_equal(made_of(request.json).kernel_id, b.kernel_id);
    request_finish(&request);
    assert_int_equal(count(&face), 2);
    face_end(&face);
}

static void goes_with_its_kernel(void **state) {
    (void)state;
    struct face face;
    face_begin(&face);
    struct made a = post(&face, A), b = post(&face, B);
    delete_its_kernel(&face, &a);
    assert_int_equal(count(&face), 1);
    expect_refusal(&face, "GET", a.id, NULL, 404, "session_not_found");
    expect_refusal(&face, "PATCH", a.id, "{}", 404, "session_not_found");
    expect_refusal(&face, "DELETE", a.id, NULL, 410, "kernel_deleted");
    expect_refusal(&face, "DELETE", a.id, NULL, 404, "session_not_found");
    expect_refusal(&face, "GET", NOBODY, NULL, 404, "session_not_found");
    expect_refusal(&face, "PATCH", NOBODY, "{}", 404, "session_not_found");
    expect_refusal(&face, "DELETE", NOBODY, NULL, 404, "session_not_found");
    struct http_request request;
    ask_one(&face, &request, "DELETE", b.id, NULL);
    assert_int_equal(request.answers, 0); /* until nothing of its kernel is left */
    assert_null(kernels_find(face.rig.kernels, b.kernel_id));
    assert_int_equal(count(&face), 0);
    request_leave(&request);
    request_finish(&request);
    face_end(&face);
}

/* max_session_names is 3, session_name_bytes 100. */
static void is_bounded(void **state) {
    (void)state;
    struct face face;
    struct http_request request;
    char body[256];
    face_begin(&face);
    struct made a = post(&face, A);
    post(&face, B);
    snprintf(body, sizeof body, "{\"path\":\"%0100d\",\"type\":\"x\"}", 0);
    struct made c = post(&face, body);
    snprintf(body, sizeof body, "{\"path\":\"%0101d\",\"type\":\"x\"}", 0);
    expect_refusal(&face, "POST", "", body, 400, "session_name_too_large");
    expect_refusal(&face, "PATCH", c.id, body, 400, "session_name_too_large");
    ask(&face, &request, "POST", "/api/sessions", "{\"path\":\"d\",\"type\":\"x\"}");
    expect_error(&request, 403, "max_session_names");
    assert_non_null(strstr(answer_text(&request, "message"), "max_session_names"));
    request_finish(&request);
    assert_int_equal(kernels_count(face.rig.kernels), 3); /* none was started in vain */
    assert_string_equal(post(&face, A).id, a.id);
    delete_its_kernel(&face, &a);
    post(&face, "{\"path\":\"d\",\"type\":\"x\"}");
    assert_int_equal(count(&face), 3);
    expect_refusal(&face, "DELETE", a.id, NULL, 404, "session_not_found"); /* it made room */
    face_end(&face);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shows_what_clients_validate),
        cmocka_unit_test(finds_a_path_again),
        cmocka_unit_test(takes_the_older_form),
        cmocka_unit_test(takes_a_kernel_by_name_or_id),
        cmocka_unit_test(refuses_bodies),
        cmocka_unit_test(changes_what_a_patch_names),
        cmocka_unit_test(goes_with_its_kernel),
        cmocka_unit_test(is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
