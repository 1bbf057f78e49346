/* Every form in which clients show a token, and what each answer is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <string.h>
#include <strings.h>

#include "auth/auth.h"
#include "base/mem.h"
#include "http/http.h"

/* A request as the http room would give it (header values are trimmed there), linked in place of
 * its own; decoding is the real one. */
struct http_request {
    const char *path, *query, *authorization; /* NULL: absent */
    const char *origin;
    struct http_peer peer;
};

static struct slice absent_or(const char *text) {
    return text ? slice_from_text(text) : (struct slice){0};
}

struct slice http_request_path(const struct http_request *request) {
    return absent_or(request->path);
}
struct slice http_request_query(const struct http_request *request) {
    return absent_or(request->query);
}
struct slice http_request_header(const struct http_request *request, const char *name) {
    const struct {
        const char *name, *value;
    } headers[] = {{"authorization", request->authorization}, {"origin", request->origin}};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        if (strcasecmp(name, headers[i].name) == 0)
            return absent_or(headers[i].value);
    return absent_or(NULL);
}
const struct http_peer *http_request_peer(const struct http_request *request) {
    return &request->peer;
}

static const struct {
    const char *path, *query, *authorization;
    int status;
    const char *rest; /* NULL: like path */
} rows[] = {
    /* The header, in every spelling that clients have. */
    {"/api", NULL, "token s3cret", 0, NULL},
    {"/api", NULL, "Token s3cret", 0, NULL},
    {"/api", NULL, "TOKEN\t s3cret", 0, NULL},
    {"/api", NULL, "bearer s3cret", 0, NULL},
    {"/api", NULL, "Bearer s3cret", 0, NULL},
    {"/api", NULL, "Bearer    s3cret", 0, NULL},
    {"/api", NULL, "token s3cre", 403, NULL},
    {"/api", NULL, "token s3cretx", 403, NULL},
    {"/api", NULL, "token S3CRET", 403, NULL},
    {"/api", NULL, "Bearer s3cret, Bearer s3cret", 403, NULL},
    {"/api", NULL, NULL, 401, NULL},
    {"/api", NULL, "", 401, NULL},
    {"/api", NULL, "token", 401, NULL},
    {"/api", NULL, "token ", 401, NULL},
    {"/api", NULL, "tokens3cret", 401, NULL},
    {"/api", NULL, "s3cret", 401, NULL},
    {"/api", NULL, "Basic dXNlcjpwYXNz", 401, NULL},
    /* The query, beside others and beside the header. */
    {"/api", "token=s3cret", NULL, 0, NULL},
    {"/api", "1732&token=s3cret&x", NULL, 0, NULL},
    {"/api", "token=s3%63ret", NULL, 0, NULL},
    {"/api", "token=", NULL, 401, NULL},
    {"/api", "token", NULL, 401, NULL},
    {"/api", "1732945678901", NULL, 401, NULL},
    {"/api", "token=wrong", NULL, 403, NULL},
    {"/api", "token=wrong", "token s3cret", 0, NULL},
    {"/api", "token=s3cret", "token wrong", 0, NULL},
    {"/api", "token=", "token ", 401, NULL},
    {"/api", "token=", "token s3cret", 0, NULL},
    {"/api", "token=s3cret", "token ", 0, NULL},
    {"/api", "token=wrong", "token ", 403, NULL},
    /* The prefix, which is taken off. */
    {"/t/s3cret/api/kernels", NULL, NULL, 0, "/api/kernels"},
    {"/t/s3cret/api/kernels", "token=", NULL, 0, "/api/kernels"},
    {"/t/s3cret/api/kernels", "token=", "token ", 0, "/api/kernels"},
    {"/t/s3cret/api/kernels", "token=wrong", "token wrong", 0, "/api/kernels"},
    {"/t/s3%63ret/api", NULL, NULL, 0, "/api"},
    {"/t/s3cret//api", NULL, NULL, 0, "/api"},
    {"//t/s3cret///api", NULL, NULL, 0, "/api"},
    {"/t/s3cret/", NULL, NULL, 0, "/"},
    {"/t/s3cret", NULL, NULL, 0, "/"},
    {"/t/wrong/api", NULL, NULL, 403, "/api"},
    {"/t/wrong/api", NULL, "token s3cret", 0, "/api"},
    {"/t/s3cret%/api", NULL, NULL, 403, "/api"},
    {"/t/s3cret%00/api", NULL, "token s3cret", 0, "/api"},
    {"/t//api", NULL, NULL, 401, "/api"},
    {"/t/", NULL, NULL, 401, "/"},
    {"/t", NULL, NULL, 401, NULL},
    {"/tree/s3cret", NULL, NULL, 401, NULL},
    {"/api/t/s3cret/x", NULL, NULL, 401, NULL},
    /* Doubled slashes at the front. */
    {"//api/kernels", NULL, "token s3cret", 0, "/api/kernels"},
    {"////", NULL, "token s3cret", 0, "/"},
    {"/api//kernels", NULL, "token s3cret", 0, NULL},
    {"/", NULL, "token s3cret", 0, NULL},
};

static void assert_row(const struct auth *auth, size_t i, int status) {
    struct http_request request = {rows[i].path, rows[i].query, rows[i].authorization};
    struct auth_answer answer = auth_check(auth, &request);
    const char *rest = rows[i].rest ? rows[i].rest : rows[i].path;
    if (answer.status != status)
        fail_msg("row %zu, %s: %d, not %d", i, rows[i].path, answer.status, status);
    if (!slice_equal_text(answer.path, rest))
        fail_msg("row %zu: \"%.*s\", not \"%s\"", i, (int)answer.path.size, answer.path.data, rest);
    assert_true((answer.message == NULL) == (status == 0));
    assert_int_equal(mem_live(), 0);
}

static void one_right_token_is_enough(void **state) {
    (void)state;
    const struct auth auth = {.token = SLICE_LITERAL("s3cret")};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_row(&auth, i, rows[i].status);
}

static void without_a_token_everyone_is_answered(void **state) {
    (void)state;
    const struct auth auth = {.is_open = true};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_row(&auth, i, 0);
}

static void takes_its_base_off(void **state) {
    (void)state;
    static const struct {
        const char *path, *rest; /* NULL: not below it */
    } paths[] = {
        {"/some/base/api", "/api"},
        {"/some/base//api", "/api"},
        {"//some/base/t/s3cret/api", "/api"},
        {"/some/base", "/"},
        {"/some/base/", "/"},
        {"/some/basement", NULL},
        {"/some", NULL},
        {"/api", NULL},
        {"/t/s3cret/some/base/api", NULL},
        {"/SOME/BASE/api", NULL},
    };
    const struct auth auth = {.base = SLICE_LITERAL("/some/base"), .is_open = true};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct http_request request = {.path = paths[i].path};
        struct slice rest = auth_check(&auth, &request).path;
        assert_true(paths[i].rest ? slice_equal_text(rest, paths[i].rest) : !rest.data);
    }
}

static void tells_missing_from_wrong(void **state) {
    (void)state;
    const struct auth auth = {.token = SLICE_LITERAL("s3cret")};
    struct auth_answer answer = auth_check(&auth, &(struct http_request){.path = "/api"});
    assert_non_null(strstr(answer.message, "a token is needed"));
    answer = auth_check(&auth, &(struct http_request){.path = "/api", .query = "token=x"});
    assert_string_equal(answer.message, "the token is wrong");
}

/* A browser shows its certificate for any page. */
static void a_certificate_is_enough_but_not_for_pages_of_anybody(void **state) {
    (void)state;
    static const struct {
        const char *origin;
        bool any_page;
        int status;
    } pages[] = {{NULL, false, 0},
                 {NULL, true, 0},
                 {"https://lab.example", false, 0}, /* others were turned away before */
                 {"https://evil.example", true, 401},
                 {"", true, 401}};
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        const struct auth auth = {.token = SLICE_LITERAL("s3cret"), .any_page = pages[i].any_page};
        struct http_request request = {
            .path = "/api", .origin = pages[i].origin, .peer.subject = "CN=ada"};
        assert_int_equal(auth_check(&auth, &request).status, pages[i].status);
        request.query = "token=s3cret";
        assert_int_equal(auth_check(&auth, &request).status, 0);
    }
}

static void some_users_need_none_over_a_unix_socket(void **state) {
    (void)state;
    static const uid_t users[] = {0, 1000};
    const struct auth auth = {.token = SLICE_LITERAL("s3cret"), .users = users, .user_count = 2};
    static const struct {
        struct http_peer peer;
        int status;
    } peers[] = {{{.has_user = true, .user = 1000}, 0},
                 {{.has_user = true, .user = 0}, 0},
                 {{.has_user = true, .user = 1001}, 401},
                 {{.has_user = false, .user = 0}, 401}};
    for (size_t i = 0; i < sizeof peers / sizeof *peers; i++) {
        struct http_request request = {.path = "/api", .peer = peers[i].peer};
        assert_int_equal(auth_check(&auth, &request).status, peers[i].status);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_right_token_is_enough),
        cmocka_unit_test(without_a_token_everyone_is_answered),
        cmocka_unit_test(takes_its_base_off),
        cmocka_unit_test(tells_missing_from_wrong),
        cmocka_unit_test(some_users_need_none_over_a_unix_socket),
        cmocka_unit_test(a_certificate_is_enough_but_not_for_pages_of_anybody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
