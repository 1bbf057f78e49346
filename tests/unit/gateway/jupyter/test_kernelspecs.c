/* Kernelspecs as JupyterLab's validator wants them, and their files. */
#include "face.h"

static void lists_what_clients_index(void **state) {
    (void)state;
    struct face face;
    struct http_request request;
    face_begin(&face);
    face_add_spec(&face, "another", NULL);
    ask(&face, &request, "GET", "/api/kernelspecs", NULL);
    assert_int_equal(request.status, 200);
    assert_string_equal(answer_text(&request, "default"), "played");
    const json_t *specs = json_object_get(request.json, "kernelspecs");
    assert_int_equal(json_object_size(specs), 2);
    const json_t *model = json_object_get(specs, "played");
    const json_t *spec = json_object_get(model, "spec");
    const json_t *resources = json_object_get(model, "resources");
    assert_string_equal(json_string_value(json_object_get(model, "name")), "played");
    assert_string_equal(json_string_value(json_object_get(spec, "display_name")), "A");
    assert_string_equal(json_string_value(json_object_get(spec, "interrupt_mode")), "signal");
    assert_true(json_is_object(json_object_get(spec, "env")));
    assert_true(json_is_object(json_object_get(spec, "metadata")));
    assert_int_equal(json_object_size(resources), 3);
    assert_string_equal(json_string_value(json_object_get(resources, "logo-64x64")),
                        "/kernelspecs/played/logo-64x64.png");
    assert_string_equal(json_string_value(json_object_get(resources, "kernel")),
                        "/kernelspecs/played/kernel.js");
    assert_int_equal(
        json_object_size(json_object_get(json_object_get(specs, "another"), "resources")), 0);
    json_t *listed = json_deep_copy(model);
    request_finish(&request);
    /* One of them is the same model. */
    ask(&face, &request, "GET", "/api/kernelspecs/played", NULL);
    assert_true(json_equal(request.json, listed));
    json_decref(listed);
    request_finish(&request);
    /* What was added for clients is not written into what was read. */
    assert_null(json_object_get(specs_find(&face.specs, "played")->content, "env"));
    face_end(&face);
}

static void serves_files_with_their_types(void **state) {
    (void)state;
    static const struct {
        const char *path, *content, *type;
        bool is_cached;
    } rows[] = {
        {"/kernelspecs/played/logo-64x64.png", "logo-64x64.png", "image/png", true},
        {"/kernelspecs/played/logo%2D64x64.png", "logo-64x64.png", "image/png", true},
        {"/kernelspecs/played/kernel.js", "kernel.js", "text/javascript", false},
        {"/kernelspecs/played/logo-svg.svg", "logo-svg.svg", "image/svg+xml", false},
        {"/kernelspecs/more/plain", "plain", "application/octet-stream", false},
        {"/kernelspecs/more/a.html", "a.html", "application/octet-stream", false},
        {"/kernelspecs/more/a.css", "a.css", "text/css", false},
    };
    struct face face;
    face_begin(&face);
    face_add_spec(&face, "more", "plain", "a.html", "a.css", NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct http_request request;
        char type[64];
        ask(&face, &request, "GET", rows[i].path, NULL);
        assert_int_equal(request.status, 200);
        snprintf(type, sizeof type, "Content-Type: %s\n", rows[i].type);
        assert_non_null(strstr(request.headers, type));
        assert_non_null(strstr(request.headers, "X-Content-Type-Options: nosniff\n"));
        assert_non_null(strstr(request.headers, rows[i].is_cached
                                                    ? "Cache-Control: max-age=2592000\n"
                                                    : "Cache-Control: no-cache\n"));
        assert_true(slice_equal_text(bytes_slice(request.content), rows[i].content));
        request_finish(&request);
    }
    face_end(&face);
}

static void ask_with(struct face *face, struct http_request *request, const char *path,
                     const char *if_none_match) {
    *request = (struct http_request){.method = "GET",
                                     .path = path,
                                     .authorization = "token secret",
                                     .if_none_match = if_none_match};
    ask_whole(face, request);
}

static void answers_304_to_those_who_have_it(void **state) {
    (void)state;
    static const char logo[] = "/kernelspecs/played/logo-64x64.png";
    struct face face;
    struct http_request request;
    char etag[64], both[128], other[64];
    face_begin(&face);
    ask_with(&face, &request, logo, NULL);
    assert_int_equal(sscanf(strstr(request.headers, "ETag: "), "ETag: %63s", etag), 1);
    request_finish(&request);
    ask_with(&face, &request, "/kernelspecs/played/logo-svg.svg", NULL);
    assert_int_equal(sscanf(strstr(request.headers, "ETag: "), "ETag: %63s", other), 1);
    request_finish(&request);
    assert_string_not_equal(etag, other);
    snprintf(both, sizeof both, "\"x\", W/%s", etag);
    const struct {
        const char *if_none_match;
        int status;
    } rows[] = {{etag, 304}, {both, 304}, {"*", 304}, {other, 200}, {"", 200}, {"\"*\"", 200}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ask_with(&face, &request, logo, rows[i].if_none_match);
        assert_int_equal(request.status, rows[i].status);
        assert_int_equal(request.content != NULL, rows[i].status == 200);
        assert_non_null(strstr(request.headers, etag));
        assert_non_null(strstr(request.headers, "Cache-Control: max-age=2592000\n"));
        request_finish(&request);
    }
    face_end(&face);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_what_clients_index),
        cmocka_unit_test(serves_files_with_their_types),
        cmocka_unit_test(answers_304_to_those_who_have_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
