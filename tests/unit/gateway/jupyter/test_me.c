/* Who asks, and what they may do. */
#include "face.h"

static void ask_me(struct face *face, struct http_request *request, const char *query) {
    *request = (struct http_request){
        .method = "GET", .path = "/api/me", .query = query, .authorization = "token secret"};
    ask_whole(face, request);
}

static void says_who(void **state) {
    (void)state;
    static const char *const texts[] = {"username", "name", "display_name", "initials"};
    struct face face;
    struct http_request request;
    face_begin(&face);
    ask_me(&face, &request, NULL);
    assert_int_equal(request.status, 200);
    const json_t *identity = json_object_get(request.json, "identity");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_true(json_string_length(json_object_get(identity, texts[i])) > 0);
    assert_true(json_is_null(json_object_get(identity, "avatar_url")));
    assert_true(json_is_null(json_object_get(identity, "color")));
    assert_int_equal(json_object_size(identity), 6);
    request_finish(&request);
    face_end(&face);
}

static void allows_the_owner_what_is_asked_for(void **state) {
    (void)state;
    static const struct {
        const char *query, *permissions; /* NULL: refused */
    } rows[] = {
        {NULL, "{}"},
        {"1732945678901", "{}"},
        {"permissions=", "{}"},
        {"permissions={}", "{}"},
        {"permissions=%7B%22kernels%22%3A%5B%22read%22%2C%22write%22%5D%2C%22a%22:[]}",
         "{\"kernels\":[\"read\",\"write\"],\"a\":[]}"},
        {"permissions={", NULL},
        {"permissions=[]", NULL},
        {"permissions=7", NULL},
        {"permissions={\"kernels\":\"read\"}", NULL},
        {"permissions={\"kernels\":[7]}", NULL},
        {"permissions={\"kernels\":{}}", NULL},
    };
    struct face face;
    face_begin(&face);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct http_request request;
        ask_me(&face, &request, rows[i].query);
        if (!rows[i].permissions) {
            expect_error(&request, 400, "invalid_permissions");
        } else {
            json_t *expected = json_loads(rows[i].permissions, 0, NULL);
            json_object_set_new(expected, "updatable_fields", json_array());
            assert_true(json_equal(json_object_get(request.json, "permissions"), expected));
            json_decref(expected);
        }
        request_finish(&request);
    }
    face_end(&face);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_who),
        cmocka_unit_test(allows_the_owner_what_is_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
