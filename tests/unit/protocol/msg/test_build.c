#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <jansson.h>

#include "base/mem.h"
#include "msg/build.h"
#include "msg/header.h"

static const struct msg_origin origin = {"id-1", "ses\"sion", "us\xffr",
                                         "2026-11-30T08:54:01.123456Z"};

static json_t *load(struct slice json) {
    json_t *value = json_loadb((const char *)json.data, json.size, 0, NULL);
    assert_non_null(value);
    return value;
}

static const char *string_of(json_t *object, const char *name) {
    const char *value = json_string_value(json_object_get(object, name));
    assert_non_null(value);
    return value;
}

static void writes_dates(void **state) {
    (void)state;
    static const struct {
        int64_t us;
        const char *date;
    } cases[] = {
        {0, "1970-01-01T00:00:00.000000Z"},
        {1796028841123456, "2026-11-30T08:54:01.123456Z"},
        {951782400000001, "2000-02-29T00:00:00.000001Z"},
        {-1, "1969-12-31T23:59:59.999999Z"},
        {-62135596800000000, "0001-01-01T00:00:00.000000Z"},
        {253402300799999999, "9999-12-31T23:59:59.999999Z"},
        {INT64_MAX, "294247-01-10T04:00:54.775807Z"},
        {INT64_MIN, "-290308-12-21T19:59:05.224192Z"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char date[MSG_DATE_SIZE];
        msg_format_date(cases[i].us, date);
        assert_string_equal(date, cases[i].date);
    }
}

static void builds_in_one_allocation(void **state) {
    (void)state;
    struct slice parent = SLICE_LITERAL("{\"msg_id\": NaN }"), none = {0};
    struct msg_built built = msg_build(MSG_IOPUB, "status", &origin, parent, none,
                                       SLICE_LITERAL("{\"execution_state\":\"idle\"}"));
    assert_int_equal(mem_live(), 1);
    assert_int_equal(built.msg.channel, MSG_IOPUB);
    assert_int_equal(built.msg.buffer_count, 0);
    assert_true(slice_equal(built.msg.parent_header, parent));
    assert_true(slice_equal_text(built.msg.metadata, "{}"));
    assert_true(slice_equal_text(built.msg.content, "{\"execution_state\":\"idle\"}"));
    assert_ptr_equal(built.msg.header.data, built.bytes->data);
    assert_ptr_equal(built.msg.content.data + built.msg.content.size,
                     built.bytes->data + built.bytes->size);

    json_t *header = load(built.msg.header);
    assert_int_equal(json_object_size(header), 6);
    assert_string_equal(string_of(header, "msg_id"), "id-1");
    assert_string_equal(string_of(header, "msg_type"), "status");
    assert_string_equal(string_of(header, "session"), "ses\"sion");
    assert_string_equal(string_of(header, "username"), "us\xef\xbf\xbdr");
    assert_string_equal(string_of(header, "date"), origin.date);
    assert_string_equal(string_of(header, "version"), "5.4");
    json_decref(header);
    msg_built_finish(&built);
    assert_null(built.bytes);
    assert_int_equal(mem_live(), 0);
}

static void says_states(void **state) {
    (void)state;
    struct bytes *content = msg_content_status("restarting");
    assert_true(slice_equal_text(bytes_slice(content), "{\"execution_state\":\"restarting\"}"));
    bytes_unref(content);
    assert_int_equal(mem_live(), 0);
}

static void check_error(json_t *content, const char *evalue, const char *line) {
    assert_string_equal(string_of(content, "ename"), "Lost");
    assert_string_equal(string_of(content, "evalue"), evalue);
    json_t *traceback = json_object_get(content, "traceback");
    assert_int_equal(json_array_size(traceback), 1);
    assert_string_equal(json_string_value(json_array_get(traceback, 0)), line);
}

static void says_errors(void **state) {
    (void)state;
    struct bytes *bytes = msg_content_error("Lost", "died: \"9\"\n\xff");
    json_t *content = load(bytes_slice(bytes));
    assert_int_equal(json_object_size(content), 3);
    check_error(content, "died: \"9\"\n\xef\xbf\xbd", "Lost: died: \"9\"\n\xef\xbf\xbd");
    json_decref(content);
    bytes_unref(bytes);

    bytes = msg_content_error_reply("Lost", "");
    content = load(bytes_slice(bytes));
    check_error(content, "", "Lost: ");
    assert_string_equal(string_of(content, "status"), "error");
    assert_true(json_is_integer(json_object_get(content, "execution_count")));
    json_decref(content);
    bytes_unref(bytes);
    assert_int_equal(mem_live(), 0);
}

/* The date of header once rewritten, to be freed; NULL where it stays. Every other member stays. */
static char *rewrite(const char *text) {
    struct slice json = slice_from_text(text);
    struct msg_header header;
    assert_int_equal(msg_header_parse(json, &header, NULL), 0);
    struct bytes *bytes = msg_header_with_iso_date(json, &header);
    msg_header_finish(&header);
    if (!bytes)
        return NULL;
    json_t *before = load(json), *after = load(bytes_slice(bytes));
    char *date = mem_strdup(string_of(after, "date"));
    json_object_del(before, "date");
    json_object_del(after, "date");
    assert_true(json_equal(before, after));
    json_decref(before);
    json_decref(after);
    bytes_unref(bytes);
    return date;
}

static void rewrites_dates_that_a_strict_kernel_refuses(void **state) {
    (void)state;
    static const struct {
        const char *header, *date;
    } cases[] = {
        {"{\"msg_id\":\"a\",\"date\":1796028841.25,\"x\":[1,2.5,null]}",
         "2026-11-30T08:54:01.250000Z"},
        {"{\"date\":0}", "1970-01-01T00:00:00.000000Z"},
        {"{\"date\":-0.5}", "1969-12-31T23:59:59.500000Z"},
        {"{\"date\":1e300}", "9999-12-31T23:59:59.000000Z"},
        {"{\"date\":-1e300}", "0001-01-01T00:00:00.000000Z"},
        {"{\"date\":9223372036854775807}", "9999-12-31T23:59:59.000000Z"},
        {"{\"date\":\"2026-11-30 08:54:01.123456+00:00\",\"u\":\"\\u00e4\"}",
         "2026-11-30T08:54:01.123456+00:00"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *date = rewrite(cases[i].header);
        assert_string_equal(date, cases[i].date);
        mem_free(date);
    }
    assert_int_equal(mem_live(), 0);
}

static void leaves_other_dates_alone(void **state) {
    (void)state;
    static const char *headers[] = {
        "{}",
        "{\"date\":\"2026-11-30T08:54:01.123456Z\"}",
        "{\"date\":\"\"}",
        "{\"date\":null}",
        "{\"date\":\"2026-11-30 \"}",
        "{\"date\":\"2026-11-3\"}",
        "{\"date\":\"30 November 2026\"}",
    };
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        assert_null(rewrite(headers[i]));
    assert_int_equal(mem_live(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_dates),
        cmocka_unit_test(builds_in_one_allocation),
        cmocka_unit_test(says_states),
        cmocka_unit_test(says_errors),
        cmocka_unit_test(rewrites_dates_that_a_strict_kernel_refuses),
        cmocka_unit_test(leaves_other_dates_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
