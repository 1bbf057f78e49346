#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "echo/command.h"

/* The lines of code, each ended by a bar. */
static void assert_lines(const char *code, const char *expected) {
    struct slice rest = slice_from_text(code);
    struct text line = {0}, all = {0};
    text_append_text(&all, "");
    while (command_next_line(&rest, &line)) {
        text_append(&all, text_slice(&line));
        text_append_text(&all, "|");
    }
    assert_string_equal(all.data ? all.data : "", expected);
    text_finish(&line);
    text_finish(&all);
    assert_int_equal(mem_live(), 0);
}

static void splits_code_into_lines(void **state) {
    (void)state;
    assert_lines("", "");
    assert_lines("a", "a|");
    assert_lines("a\nb\n", "a|b|");
    assert_lines("\n\n  \n\ta b \n", "a b |");
    assert_lines("a\\\nb", "ab|");
    assert_lines("a\\\n\\\n b\nc", "a b|c|");
    assert_lines("a\\", "a|");
    assert_lines("\\", "");
    assert_lines("\\\n\\\n", "");
}

static bool fits(const char *line, struct arguments *ret_arguments) {
    struct slice rest;
    const struct command *command = command_find(slice_from_text(line), &rest);
    assert_non_null(command);
    return command_read_arguments(command, rest, ret_arguments);
}

static void finds_commands_by_their_whole_name(void **state) {
    (void)state;
    struct slice rest = SLICE_LITERAL("untouched");
    assert_null(command_find(SLICE_LITERAL("ech"), &rest));
    assert_null(command_find(SLICE_LITERAL("echoes a"), &rest));
    assert_null(command_find(SLICE_LITERAL(" echo"), &rest));
    assert_null(command_find(SLICE_LITERAL(""), &rest));
    assert_true(slice_equal_text(rest, "untouched"));
    assert_string_equal(command_find(SLICE_LITERAL("echo  a"), &rest)->name, "echo");
    assert_true(slice_equal_text(rest, " a"));
    assert_string_equal(command_find(SLICE_LITERAL("echo"), &rest)->name, "echo");
    assert_int_equal(rest.size, 0);
}

static void reads_arguments(void **state) {
    (void)state;
    struct arguments arguments;
    assert_true(fits("uid", &arguments));
    assert_false(fits("uid x", &arguments));
    assert_true(fits("print", &arguments));
    assert_true(fits("ls /a b", &arguments));
    assert_true(slice_equal_text(arguments.text, "/a b"));
    assert_false(fits("ls", &arguments));
    assert_true(fits("display text/plain a b", &arguments));
    assert_true(slice_equal_text(arguments.word, "text/plain"));
    assert_true(slice_equal_text(arguments.text, "a b"));
    assert_true(fits("error E", &arguments));
    assert_int_equal(arguments.text.size, 0);
    assert_false(fits("error", &arguments));
}

static void reads_numbers_up_to_their_maximum(void **state) {
    (void)state;
    struct arguments arguments;
    assert_true(fits("exit 255", &arguments));
    assert_int_equal(arguments.number, 255);
    assert_true(fits("exit 0", &arguments));
    static const char *const wrong[] = {"exit",
                                        "exit 256",
                                        "exit -1",
                                        "exit 1 ",
                                        "exit 1a",
                                        "exit  1",
                                        "exit 18446744073709551617"};
    arguments.number = 7;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(fits(wrong[i], &arguments));
    assert_int_equal(arguments.number, 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splits_code_into_lines),
        cmocka_unit_test(finds_commands_by_their_whole_name),
        cmocka_unit_test(reads_arguments),
        cmocka_unit_test(reads_numbers_up_to_their_maximum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
