#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "echo/answer.h"
#include "echo/json.h"

static json_t *ask(answer_function *answer, const char *code, int cursor) {
    json_t *request = json_pack("{s:s, s:i}", "code", code, "cursor_pos", cursor);
    json_t *reply = answer(NULL, NULL, request);
    assert_string_equal(json_string_value(json_object_get(reply, "status")), "ok");
    json_decref(request);
    return reply;
}

static void assert_completion(const char *code, int cursor, size_t matches, int start) {
    json_t *reply = ask(answer_complete, code, cursor);
    assert_int_equal(json_array_size(json_object_get(reply, "matches")), matches);
    assert_int_equal(json_member_number(reply, "cursor_start", -1), start);
    assert_int_equal(json_member_number(reply, "cursor_end", -1), cursor);
    json_decref(reply);
}

/* Positions are characters: the two of "zwölf é" and the one beyond the BMP count once each. */
static void completes_at_the_cursor(void **state) {
    (void)state;
    assert_completion("sle", 3, 1, 0);
    assert_completion("sleep 5", 3, 1, 0);
    assert_completion("zwölf é😀\nsle", 12, 1, 9);
    assert_completion("sleep 5", 7, 0, 0);
    assert_completion("nothing", 7, 0, 0);
}

static void completes_everything_from_nothing(void **state) {
    (void)state;
    json_t *reply = ask(answer_complete, "", 0);
    assert_true(json_array_size(json_object_get(reply, "matches")) > 10);
    json_decref(reply);
}

static void assert_inspection(const char *code, int cursor, const char *expected) {
    json_t *reply = ask(answer_inspect, code, cursor);
    json_t *text = json_object_get(json_object_get(reply, "data"), "text/plain");
    assert_int_equal(json_member_flag(reply, "found", false), expected != NULL);
    if (expected)
        assert_string_equal(json_string_value(text), expected);
    json_decref(reply);
}

static void inspects_the_line_of_the_cursor(void **state) {
    (void)state;
    const char *help = "clear - clear_output\n";
    assert_inspection("clear", 0, help);
    assert_inspection("clear", 99, help);
    assert_inspection("a\nclear\nb", 4, help);
    assert_inspection("a\nclear\nb", 0, NULL);
    assert_inspection("", 0, NULL);
}

static void assert_complete(const char *code, const char *expected) {
    json_t *request = json_pack("{s:s}", "code", code);
    json_t *reply = answer_is_complete(NULL, NULL, request);
    assert_string_equal(json_string_value(json_object_get(reply, "status")), expected);
    json_decref(reply);
    json_decref(request);
}

static void tells_what_is_complete(void **state) {
    (void)state;
    assert_complete("", "complete");
    assert_complete("print\nanything at all", "complete");
    assert_complete("print a\\", "incomplete");
    assert_complete("print a\\\nb", "complete");
    assert_complete("print\nsleep", "invalid");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(completes_at_the_cursor),
        cmocka_unit_test(completes_everything_from_nothing),
        cmocka_unit_test(inspects_the_line_of_the_cursor),
        cmocka_unit_test(tells_what_is_complete),
    };
    json_set_alloc_funcs(mem_alloc, mem_free);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed || mem_live() != 0;
}
