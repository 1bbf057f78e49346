/* Pages of other web origins: who may call, and what the answers say. */
#include "face.h"

static char *origins[] = {"https://lab.example.org", "http://localhost:3000"};
static char *any[] = {"http://localhost:3000", "*"};

static void allow(struct face *face, char **items, size_t count) {
    face->rig.params.allow_origin = (struct params_list){items, count};
}

static void ask_from(struct face *face, struct http_request *request, const char *method,
                     const char *path, const char *origin) {
    *request = (struct http_request){.method = method,
                                     .path = path,
                                     .authorization = "token secret",
                                     .origin = origin,
                                     .host = "here:8888"};
    ask_whole(face, request);
}

static void expect_header(const struct http_request *request, const char *name, const char *value) {
    char *line = mem_format("%s: %s\n", name, value ? value : "");
    const char *at = strstr(request->headers, value ? line : name);
    if ((at != NULL) != (value != NULL))
        fail_msg("%s of %s: %s", line, request->origin, request->headers);
    mem_free(line);
}

static void admits(void **state) {
    (void)state;
    static const struct {
        char **allowed;
        size_t count;
        const char *origin, *shown; /* NULL: absent */
        bool is_admitted;
    } rows[] = {
        {NULL, 0, NULL, NULL, true},
        {NULL, 0, "http://here:8888", NULL, true},
        {NULL, 0, "https://HERE:8888", NULL, true}, /* behind a proxy that ends TLS */
        {NULL, 0, "http://here:8889", NULL, false},
        {NULL, 0, "http://here", NULL, false},
        {NULL, 0, "http://here:8888.evil.org", NULL, false},
        {NULL, 0, "http://evil.org", NULL, false},
        {NULL, 0, "null", NULL, false},
        {NULL, 0, "", NULL, false},
        {NULL, 0, "://here:8888x", NULL, false},
        {origins, 1, NULL, "https://lab.example.org", true},
        {origins, 1, "https://lab.example.org", "https://lab.example.org", true},
        {origins, 1, "http://localhost:3000", NULL, false},
        {origins, 2, NULL, NULL, true},
        {origins, 2, "https://lab.example.org", "https://lab.example.org", true},
        {origins, 2, "HTTP://localhost:3000", "http://localhost:3000", true},
        {origins, 2, "http://here:8888", NULL, true},
        {origins, 2, "http://lab.example.org", NULL, false},
        {origins, 2, "https://lab.example.org:443", NULL, false},
        {any, 2, NULL, "*", true},
        {any, 2, "http://evil.org", "*", true},
        {any, 2, "null", "*", true},
    };
    struct face face;
    face_begin(&face);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct http_request request;
        allow(&face, rows[i].allowed, rows[i].count);
        ask_from(&face, &request, "GET", "/api/kernels", rows[i].origin);
        if (rows[i].is_admitted)
            assert_int_equal(request.status, 200);
        else
            expect_error(&request, 403, "origin_not_allowed");
        expect_header(&request, "Access-Control-Allow-Origin", rows[i].shown);
        expect_header(&request, "Vary", rows[i].allowed == origins ? "Origin" : NULL);
        request_finish(&request);
    }
    face_end(&face);
}

/* Without a token, a gateway of this machine alone is nobody's by a name that anybody can have. */
static void believes_no_name_where_no_token_is_asked(void **state) {
    (void)state;
    static char *machine[] = {"127.0.0.1:8888", "[::1]:8888", "unix:/run/gateway"},
                *net[] = {"127.0.0.1:8888", "0.0.0.0:8888"}, *net6[] = {"[::]:8888"};
    static const struct {
        char **listen;
        size_t count;
        bool no_token;
        const char *host;
        bool is_admitted;
    } rows[] = {
        {machine, 3, true, "evil.org:8888", false},
        {machine, 3, true, "127.0.0.1.evil.org:8888", false},
        {machine, 3, true, "localhost.evil.org", false},
        {machine, 3, true, "", false},
        {machine, 3, true, "LOCALHOST:8888", true},
        {machine, 3, true, "localhost", true},
        {machine, 3, true, "127.0.0.1:8888", true},
        {machine, 3, true, "[::1]:8888", true},
        {machine, 3, true, "lab.example.org", true}, /* the operator says so */
        {machine, 3, false, "evil.org:8888", true},
        {net, 2, true, "gateway:8888", true},
        {net6, 1, true, "gateway:8888", true},
    };
    struct face face;
    face_begin(&face);
    allow(&face, origins, 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *origin = mem_format("https://%s", rows[i].host);
        struct http_request request = {.method = "GET",
                                       .path = "/api/kernels",
                                       .authorization = "token secret",
                                       .origin = origin,
                                       .host = rows[i].host};
        face.rig.params.listen = (struct params_list){rows[i].listen, rows[i].count};
        face.rig.params.no_token = rows[i].no_token;
        ask_whole(&face, &request);
        assert_int_equal(request.status, rows[i].is_admitted ? 200 : 403);
        request_finish(&request);
        mem_free(origin);
    }
    face.rig.params.listen = (struct params_list){0};
    face_end(&face);
}

/* The errors too: without the header, a page is told nothing but "network error". */
static void every_answer_has_the_headers(void **state) {
    (void)state;
    static const struct {
        const char *method, *path, *authorization;
        int status;
    } rows[] = {
        {"GET", "/api/kernels", NULL, 401},
        {"GET", "/api/kernels", "token wrong", 403},
        {"GET", "/nothing", "token secret", 404},
        {"PUT", "/api/kernels", "token secret", 405},
        {"POST", "/api/sessions", "token secret", 400},
        {"GET", "/kernelspecs/played/logo-64x64.png", "token secret", 200},
        {"POST", "/api/kernels", "token secret", 201},
        {"OPTIONS", "/nothing", NULL, 204},
    };
    struct face face;
    face_begin(&face);
    allow(&face, origins, 2);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct http_request request = {.method = rows[i].method,
                                       .path = rows[i].path,
                                       .authorization = rows[i].authorization,
                                       .origin = origins[1]};
        ask_whole(&face, &request);
        assert_int_equal(request.status, rows[i].status);
        expect_header(&request, "Access-Control-Allow-Origin", origins[1]);
        expect_header(&request, "Access-Control-Expose-Headers", "Location");
        request_finish(&request);
    }
    face_end(&face);
}

static void a_preflight_says_what_is_allowed(void **state) {
    (void)state;
    static const char *const names[] = {"Access-Control-Allow-Methods",
                                        "Access-Control-Allow-Headers", "Access-Control-Max-Age"};
    static const char *const values[] = {"GET, PUT, POST, PATCH, DELETE, OPTIONS",
                                         "accept, content-type, authorization, x-xsrftoken", "600"};
    struct face face;
    struct http_request request;
    face_begin(&face);
    allow(&face, origins, 2);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        ask_from(&face, &request, "OPTIONS", "/api/kernels", origins[0]);
        expect_header(&request, names[i], values[i]);
        request_finish(&request);
        ask_from(&face, &request, "OPTIONS", "/api/kernels", "http://evil.org");
        assert_int_equal(request.status, 204);
        expect_header(&request, names[i], NULL);
        request_finish(&request);
    }
    face_end(&face);
}

/* A browser opens WebSockets for every page and sends no preflight. */
static void a_websocket_is_refused_likewise(void **state) {
    (void)state;
    struct face face;
    struct http_request request = {.method = "GET",
                                   .path = "/api/kernels/x/channels",
                                   .query = "token=secret",
                                   .origin = "http://evil.org",
                                   .host = "here:8888",
                                   .is_websocket = true};
    face_begin(&face);
    ask_whole(&face, &request);
    expect_error(&request, 403, "origin_not_allowed");
    request_finish(&request);
    face_end(&face);
}

/* What the http room refuses by itself is answered with the same headers. */
static void adds_to_the_refusals_of_others(void **state) {
    (void)state;
    struct face face;
    struct http_request request = {.origin = origins[0]};
    face_begin(&face);
    allow(&face, origins, 2);
    jupyter_on_refusal(face.jupyter, &request);
    assert_non_null(
        strstr(request.added.data, "Access-Control-Allow-Origin: https://lab.example.org\n"));
    request_finish(&request);
    face_end(&face);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(admits),
        cmocka_unit_test(believes_no_name_where_no_token_is_asked),
        cmocka_unit_test(every_answer_has_the_headers),
        cmocka_unit_test(a_preflight_says_what_is_allowed),
        cmocka_unit_test(a_websocket_is_refused_likewise),
        cmocka_unit_test(adds_to_the_refusals_of_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
