#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "echo/answer.h"
#include "echo/json.h"
#include "echo/kernel.h"

static void matches_patterns(void **state) {
    (void)state;
    assert_true(history_match("", ""));
    assert_false(history_match("", "a"));
    assert_true(history_match("*", ""));
    assert_true(history_match("a*c", "abbc"));
    assert_true(history_match("a*b*c", "aXbXbXc"));
    assert_false(history_match("a*c", "abbcd"));
    assert_true(history_match("?", "a"));
    assert_false(history_match("?", ""));
    assert_true(history_match("*a*", "xxa"));
}

/* A pattern that would keep a backtracking matcher busy for ever. */
static void matches_many_stars_at_once(void **state) {
    (void)state;
    char pattern[201], text[20001];
    for (size_t i = 0; i < sizeof pattern - 1; i++)
        pattern[i] = i % 2 ? 'a' : '*';
    pattern[sizeof pattern - 2] = 'b';
    pattern[sizeof pattern - 1] = 0;
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = 0;
    assert_false(history_match(pattern, text));
}

/* The reply to a history_request, as text. */
static void assert_reply(struct kernel *kernel, const char *content, const char *expected) {
    json_t *request = json_loads(content, 0, NULL);
    struct text text = {0};
    json_append_consume(&text, answer_history(kernel, NULL, request));
    char *whole = mem_format("{\"status\":\"ok\",\"history\":%s}", expected);
    assert_string_equal(text.data, whole);
    mem_free(whole);
    text_finish(&text);
    json_decref(request);
}

static void note(struct kernel *kernel, int line, const char *input, const char *output) {
    history_note(&kernel->history, line, slice_from_text(input),
                 output ? slice_from_text(output) : (struct slice){0});
}

static void answers_each_way_of_asking(void **state) {
    (void)state;
    struct kernel kernel = {0};
    assert_reply(&kernel, "{\"hist_access_type\":\"tail\",\"n\":3}", "[]");
    assert_reply(&kernel, "{\"hist_access_type\":\"range\"}", "[]");
    note(&kernel, 1, "a", "A");
    note(&kernel, 2, "b", NULL);
    note(&kernel, 3, "a", "A");
    assert_reply(&kernel, "{\"hist_access_type\":\"tail\",\"n\":2}", "[[1,2,\"b\"],[1,3,\"a\"]]");
    assert_reply(&kernel, "{\"hist_access_type\":\"tail\",\"n\":0}", "[]");
    assert_reply(&kernel, "{\"hist_access_type\":\"tail\",\"n\":2,\"output\":true}",
                 "[[1,2,[\"b\",null]],[1,3,[\"a\",\"A\"]]]");
    assert_reply(&kernel, "{\"hist_access_type\":\"range\",\"start\":2,\"stop\":3}",
                 "[[1,2,\"b\"]]");
    assert_reply(&kernel, "{\"hist_access_type\":\"range\",\"session\":1,\"start\":-1}",
                 "[[1,3,\"a\"]]");
    assert_reply(&kernel, "{\"hist_access_type\":\"range\",\"session\":2}", "[]");
    assert_reply(&kernel, "{\"hist_access_type\":\"search\",\"pattern\":\"a*\"}",
                 "[[1,1,\"a\"],[1,3,\"a\"]]");
    assert_reply(&kernel, "{\"hist_access_type\":\"search\",\"pattern\":\"a*\",\"unique\":true}",
                 "[[1,3,\"a\"]]");
    assert_reply(&kernel, "{\"hist_access_type\":\"search\",\"n\":1}", "[[1,3,\"a\"]]");
    assert_reply(&kernel, "{\"hist_access_type\":\"other\"}", "[]");
    assert_reply(&kernel, "{}", "[]");
    history_finish(&kernel.history);
    assert_int_equal(mem_live(), 0);
}

static void keeps_the_last_and_cuts_the_long(void **state) {
    (void)state;
    struct history history = {0};
    char *two_byte = mem_alloc(2 * HISTORY_TEXT_MAX + 2);
    two_byte[0] = 'x';
    for (size_t i = 0; i < HISTORY_TEXT_MAX; i++)
        memcpy(two_byte + 1 + 2 * i, "\xc3\xa9", 2);
    two_byte[2 * HISTORY_TEXT_MAX + 1] = 0;
    for (int line = 1; line <= HISTORY_MAX + 5; line++)
        history_note(&history, line, SLICE_LITERAL("x"), (struct slice){0});
    history_note(&history, HISTORY_MAX + 6, slice_from_text(two_byte), SLICE_LITERAL(""));
    mem_free(two_byte);
    assert_int_equal(history.count, HISTORY_MAX);
    assert_int_equal(history.entries[0].line, 7);
    const struct history_entry *last = &history.entries[HISTORY_MAX - 1];
    assert_int_equal(strlen(last->input), HISTORY_TEXT_MAX - 1);
    assert_true(text_is_utf8(slice_from_text(last->input)));
    assert_string_equal(last->output, "");
    history_finish(&history);
    assert_int_equal(mem_live(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matches_patterns),
        cmocka_unit_test(matches_many_stars_at_once),
        cmocka_unit_test(answers_each_way_of_asking),
        cmocka_unit_test(keeps_the_last_and_cuts_the_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
