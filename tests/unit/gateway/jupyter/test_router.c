/* Which path and method go where, and what is said of those that go nowhere. */
#include "face.h"

#define ID "00000000-0000-4000-8000-000000000000"

static void finds_every_route(void **state) {
    (void)state;
    static const struct {
        const char *method, *path;
        int status;
        const char *code; /* NULL: no error */
    } rows[] = {
        {"GET", "/api", 200, NULL},
        {"GET", "/api/", 200, NULL},
        {"GET", "/api///", 200, NULL},
        {"HEAD", "/api", 200, NULL},
        {"GET", "/api/status", 200, NULL},
        {"GET", "/api/kernelspecs", 200, NULL},
        {"GET", "/api/kernelspecs/", 200, NULL},
        {"HEAD", "/api/kernelspecs", 200, NULL},
        {"GET", "/api/kernelspecs/played", 200, NULL},
        {"GET", "/api/kernelspecs/play%65d", 200, NULL},
        {"GET", "/api/kernelspecs/PlaYed", 200, NULL}, /* as jupyter_client has it */
        {"GET", "/api/kernelspecs/none", 404, "kernelspec_not_found"},
        {"GET", "/api/kernelspecs/pl%2Fayed", 404, "kernelspec_not_found"},
        {"GET", "/api/kernelspecs/%", 400, "invalid_path"},
        {"GET", "/api/kernelspecs/%4", 400, "invalid_path"},
        {"GET", "/api/kernelspecs/%zz", 400, "invalid_path"},
        {"GET", "/api/kernelspecs/a%00", 400, "invalid_path"},
        {"GET", "/api/kernelspecs/%ff", 404, "kernelspec_not_found"},
        {"GET", "/api/kernelspecs/played/more", 404, "not_found"},
        {"GET", "/kernelspecs/played/kernel.js", 200, NULL},
        {"HEAD", "/kernelspecs/played/kernel.js", 200, NULL},
        {"GET", "/kernelspecs/played/none.js", 404, "resource_not_found"},
        {"GET", "/kernelspecs/played/..%2Fkernel.json", 404, "resource_not_found"},
        {"GET", "/kernelspecs/none/kernel.js", 404, "kernelspec_not_found"},
        {"GET", "/kernelspecs/played/%", 400, "invalid_path"},
        {"GET", "/kernelspecs/played/", 404, "not_found"},
        {"GET", "/kernelspecs/played", 404, "not_found"},
        {"GET", "/kernelspecs//kernel.js", 404, "not_found"},
        {"GET", "/api/kernels", 200, NULL},
        {"GET", "/api/kernels/" ID, 404, "kernel_not_found"},
        {"GET", "/api/kernels/a/b", 404, "not_found"},
        {"GET", "/api/kernels//channels", 404, "not_found"},
        {"GET", "/api/kernels/" ID "/channels", 404, "kernel_not_found"},
        {"POST", "/api/kernels/" ID "/restart", 404, "kernel_not_found"},
        {"POST", "/api/kernels/" ID "/interrupt", 404, "kernel_not_found"},
        {"DELETE", "/api/kernels/" ID, 404, "kernel_not_found"},
        {"GET", "/", 404, "not_found"},
        {"GET", "/apix", 404, "not_found"},
        {"GET", "/ap", 404, "not_found"},
        {"GET", "/API", 404, "not_found"},
        {"GET", "/api/contents", 404, "not_found"}, /* none of it, by design */
        {"PUT", "/api/contents/a/b.ipynb", 404, "not_found"},
        {"PATCH", "/api/contents/a", 404, "not_found"},
        {"POST", "/api/contents", 404, "not_found"},
        {"DELETE", "/api/contents/a", 404, "not_found"},
        {"GET", "/api/me", 200, NULL},
        {"PATCH", "/api/me", 405, "method_not_allowed"},
        {"GET", "/api/sessions/" ID, 404, "session_not_found"},
        {"PUT", "/api/sessions/" ID, 405, "method_not_allowed"},
        {"GET", "/api/../api", 404, "not_found"},
        {"GET", "/api/kernels/{}", 404, "kernel_not_found"},
        {"get", "/api", 405, "method_not_allowed"},
        {"POST", "/api", 405, "method_not_allowed"},
        {"PUT", "/api/kernels", 405, "method_not_allowed"},
        {"DELETE", "/api/kernels", 405, "method_not_allowed"},
        {"PATCH", "/api/kernels/" ID, 405, "method_not_allowed"},
        {"GET", "/api/kernels/" ID "/restart", 405, "method_not_allowed"},
        {"HEAD", "/api/kernels/" ID "/restart", 405, "method_not_allowed"},
        {"POST", "/api/kernelspecs/played", 405, "method_not_allowed"},
        {"POST", "/api/nothing", 404, "not_found"},
    };
    struct face face;
    face_begin(&face);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct http_request request;
        ask(&face, &request, rows[i].method, rows[i].path, NULL);
        if (rows[i].code)
            expect_error(&request, rows[i].status, rows[i].code);
        else if (request.status != rows[i].status)
            fail_msg("%s %s: %d", rows[i].method, rows[i].path, request.status);
        request_finish(&request);
    }
    face_end(&face);
}

static void names_the_methods_of_a_path(void **state) {
    (void)state;
    struct face face;
    struct http_request request;
    face_begin(&face);
    ask(&face, &request, "PUT", "/api/kernels", NULL);
    assert_non_null(strstr(request.headers, "Allow: GET, HEAD, POST, OPTIONS\n"));
    request_finish(&request);
    ask(&face, &request, "PUT", "/api/kernels/" ID, NULL);
    assert_non_null(strstr(request.headers, "Allow: GET, HEAD, DELETE, OPTIONS\n"));
    request_finish(&request);
    ask(&face, &request, "PUT", "/api/kernels/" ID "/restart/", NULL);
    assert_non_null(strstr(request.headers, "Allow: POST, OPTIONS\n"));
    request_finish(&request);
    face_end(&face);
}

static void asks_for_a_token(void **state) {
    (void)state;
    static const struct {
        const char *path, *query, *authorization;
        int status;
    } rows[] = {
        {"/api/kernels", NULL, NULL, 401},
        {"/api/kernels", NULL, "token ", 401},
        {"/api/kernels", NULL, "token wrong", 403},
        {"/api/kernels", NULL, "token secret", 200},
        {"/api/kernels", NULL, "bEARER  secret", 200},
        {"/api/kernels", "1732945678901", "token secret", 200},
        {"/api/kernels", "token=secret", NULL, 200},
        {"/api/kernels", "token=", "Bearer secret", 200},
        {"/t/secret/api/kernels", "token=", NULL, 200},
        {"/t/secret//api/kernels/", NULL, NULL, 200},
        {"/t/wrong/api/kernels", NULL, NULL, 403},
        {"/api", NULL, NULL, 200}, /* open to everyone */
        {"/t/wrong/api", NULL, NULL, 200},
        {"/nothing", NULL, NULL, 401}, /* what is there is told to those with a token */
        {"/t/secret", NULL, NULL, 404},
    };
    struct face face;
    face_begin(&face);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct http_request request = {.method = "GET",
                                       .path = rows[i].path,
                                       .query = rows[i].query,
                                       .authorization = rows[i].authorization};
        ask_whole(&face, &request);
        if (request.status != rows[i].status)
            fail_msg("%s?%s: %d", rows[i].path, rows[i].query, request.status);
        if (request.status == 401 || request.status == 403)
            expect_error(&request, rows[i].status, "unauthorized");
        assert_int_equal(request.status == 401,
                         strstr(request.headers, "WWW-Authenticate: ") != NULL);
        request_finish(&request);
    }
    face_end(&face);
}

/* A browser asks before it shows a token. */
static void answers_every_preflight(void **state) {
    (void)state;
    static const char *const paths[] = {"/api/kernels", "/nothing", "/", "*", "/api/kernels/%"};
    struct face face;
    face_begin(&face);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct http_request request = {.method = "OPTIONS", .path = paths[i]};
        ask_whole(&face, &request);
        assert_int_equal(request.status, 204);
        assert_null(request.content);
        request_finish(&request);
    }
    face_end(&face);
}

/* What is repeated of a stranger's bytes is text all the same, and of bounded size. */
static void repeats_a_path_as_text(void **state) {
    (void)state;
    struct face face;
    struct http_request request;
    face_begin(&face);
    ask(&face, &request, "GET", "/caf\xe9/\xf0\x9f\x92\xa5\"\n", NULL);
    expect_error(&request, 404, "not_found");
    assert_string_equal(answer_text(&request, "message"),
                        "there is nothing at /caf\xef\xbf\xbd/\xf0\x9f\x92\xa5\"\n");
    request_finish(&request);
    char *path = mem_zalloc(1, 60001);
    memset(path, '/', 60000);
    for (size_t i = 1; i < 60000; i += 2)
        memcpy(path + i, "\xc3\xa9", 2); /* cut in the middle of one */
    path[59999] = 0;
    ask(&face, &request, "GET", path, NULL);
    expect_error(&request, 404, "not_found");
    assert_true(request.content->size < 16 * 1024);
    request_finish(&request);
    mem_free(path);
    face_end(&face);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_every_route),      cmocka_unit_test(names_the_methods_of_a_path),
        cmocka_unit_test(asks_for_a_token),       cmocka_unit_test(answers_every_preflight),
        cmocka_unit_test(repeats_a_path_as_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
