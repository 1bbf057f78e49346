#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <errno.h>

#include "base/mem.h"
#include "base/text.h"
#include "msg/header.h"

#define BAD_UTF8 "{\"msg_id\":\"\xff\"}"

static void takes_the_members_that_matter(void **state) {
    (void)state;
    struct msg_header header;
    struct slice json = SLICE_LITERAL(
        " {\"msg_id\": \"a-1\", \"msg_type\": \"execute_request\", \"session\": \"s\\u00e4\","
        "\"username\": \"\", \"version\": \"5.3\", \"date\": \"2026-11-30T08:54:01.123456Z\","
        "\"subshell_id\": null, \"extra\": [1, {\"msg_id\": \"inner\"}]}\n");
    assert_int_equal(msg_header_parse(json, &header, NULL), 0);
    assert_string_equal(header.msg_id, "a-1");
    assert_string_equal(header.msg_type, "execute_request");
    assert_string_equal(header.session, "s\xc3\xa4");
    assert_string_equal(header.username, "");
    assert_string_equal(header.version, "5.3");
    assert_string_equal(header.date, "2026-11-30T08:54:01.123456Z");
    assert_false(header.date_is_number);
    msg_header_finish(&header);
    assert_int_equal(mem_live(), 0);
}

static void takes_absent_and_odd_members_as_empty(void **state) {
    (void)state;
    static const char *empties[] = {"{}", "null", " null ", "{\"msg_id\": 7, \"session\": null}"};
    for (size_t i = 0; i < sizeof empties / sizeof *empties; i++) {
        struct msg_header header;
        assert_int_equal(msg_header_parse(slice_from_text(empties[i]), &header, NULL), 0);
        assert_string_equal(header.msg_id, "");
        assert_string_equal(header.msg_type, "");
        assert_string_equal(header.session, "");
        assert_string_equal(header.date, "");
        assert_false(header.date_is_number);
        msg_header_finish(&header);
    }
    assert_int_equal(mem_live(), 0);
}

static void takes_dates_that_are_numbers(void **state) {
    (void)state;
    struct msg_header header;
    assert_int_equal(msg_header_parse(SLICE_LITERAL("{\"date\": 1732945678.25}"), &header, NULL),
                     0);
    assert_true(header.date_is_number);
    assert_true(header.date_s == 1732945678.25);
    assert_string_equal(header.date, "");
    msg_header_finish(&header);
    assert_int_equal(msg_header_parse(SLICE_LITERAL("{\"date\": -3}"), &header, NULL), 0);
    assert_true(header.date_is_number && header.date_s == -3);
    msg_header_finish(&header);
    assert_int_equal(mem_live(), 0);
}

static void reads_escaped_keys_and_lets_the_last_one_win(void **state) {
    (void)state;
    struct msg_header header;
    struct slice json = SLICE_LITERAL("{\"msg_id\":\"a\",\"\\u006dsg_id\":\"b\"}");
    assert_int_equal(msg_header_parse(json, &header, NULL), 0);
    assert_string_equal(header.msg_id, "b");
    msg_header_finish(&header);
}

static void refuse(struct slice json, int code) {
    struct msg_header header, before;
    memset(&header, 0x5a, sizeof header);
    before = header;
    struct err err = {0};
    assert_int_equal(msg_header_parse(json, &header, &err), -code);
    assert_int_equal(err.code, code);
    assert_true(strlen(err.text) > 10);
    assert_memory_equal(&header, &before, sizeof header);
    assert_int_equal(mem_live(), 0);
}

static void refuses_what_is_no_object(void **state) {
    (void)state;
    static const char *bad[] = {
        "",
        " ",
        "[]",
        "1",
        "\"a\"",
        "true",
        "nul",
        "{",
        "{}}",
        "{} {}",
        "{,}",
        "{\"a\"",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        BAD_UTF8,
        "{\"msg_id\":\"\\u0000\"}",
        "{\"date\":NaN}",
        "{\"msg_id\":\"\\ud800\"}",
        "{\"date\":1e999}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refuse(slice_from_text(bad[i]), EINVAL);
    refuse((struct slice){0}, EINVAL);
    refuse(slice_make("{}\0", 3), EINVAL);
}

static void refuses_every_cut(void **state) {
    (void)state;
    static const char whole[] = "{\"msg_id\":\"a\\n\",\"date\":\"2026\",\"x\":[1,{}]}";
    for (size_t size = 0; size < sizeof whole - 1; size++)
        refuse(slice_make(whole, size), EINVAL);
}

static void bounds_size_and_depth(void **state) {
    (void)state;
    struct text text = {0};
    text_append_text(&text, "{\"msg_id\":\"");
    while (text.size < MSG_HEADER_MAX - 2)
        text_append_text(&text, "x");
    text_append_text(&text, "\"}");
    struct msg_header header;
    assert_int_equal(text.size, MSG_HEADER_MAX);
    assert_int_equal(msg_header_parse(text_slice(&text), &header, NULL), 0);
    msg_header_finish(&header);
    text_append_text(&text, " ");
    struct err err;
    assert_int_equal(msg_header_parse(text_slice(&text), &header, &err), -EMSGSIZE);
    text_finish(&text);

    text_append_text(&text, "{\"a\":");
    while (text.size < MSG_HEADER_MAX)
        text_append_text(&text, "[");
    assert_int_equal(msg_header_parse(text_slice(&text), &header, &err), -EINVAL);
    text_finish(&text);
    assert_int_equal(mem_live(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_the_members_that_matter),
        cmocka_unit_test(takes_absent_and_odd_members_as_empty),
        cmocka_unit_test(takes_dates_that_are_numbers),
        cmocka_unit_test(reads_escaped_keys_and_lets_the_last_one_win),
        cmocka_unit_test(refuses_what_is_no_object),
        cmocka_unit_test(refuses_every_cut),
        cmocka_unit_test(bounds_size_and_depth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
