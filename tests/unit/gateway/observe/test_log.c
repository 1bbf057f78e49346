/* Lines as an operator reads them, whatever a stranger put into their values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "observe/log.h"

static int saved_stderr, read_end;

static int redirect(void **state) {
    (void)state;
    int ends[2];
    saved_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0 || dup2(ends[1], STDERR_FILENO) < 0)
        return -1;
    read_end = ends[0];
    close(ends[1]);
    return 0;
}

static int restore(void **state) {
    (void)state;
    dup2(saved_stderr, STDERR_FILENO);
    close(saved_stderr);
    close(read_end);
    return 0;
}

/* What was written since, NUL-terminated. */
static const char *written(void) {
    static char data[128 * 1024];
    ssize_t size = read(read_end, data, sizeof data - 1);
    data[size > 0 ? size : 0] = 0;
    return data;
}

/* The line behind its time, which must look like one. */
static const char *behind_time(const char *line) {
    static const char shape[] = "dddd-dd-ddTdd:dd:dd.dddZ ";
    for (const char *at = shape; *at; at++, line++)
        if (*at == 'd' ? !isdigit((unsigned char)*line) : *line != *at)
            fail_msg("no time: %s", line);
    return line;
}

static void assert_line(const char *expected) {
    assert_string_equal(behind_time(written()), expected);
}

static void writes_words(void **state) {
    (void)state;
    log_event(LOG_LEVEL_INFO, "ready");
    assert_line("info ready\n");
    log_event(LOG_LEVEL_WARNING, "kernel died", LOG_TEXT("session", "5f3a"),
              LOG_NUMBER("status", -9), LOG_SLICE("name", SLICE_LITERAL("python3")));
    assert_line("warning kernel died session=5f3a status=-9 name=python3\n");
    log_event(LOG_LEVEL_ERROR, "x", LOG_TEXT("empty", ""), LOG_TEXT("blank", "a b"),
              LOG_TEXT("quote", "say \"a\\b\""), LOG_TEXT("equals", "a=b"));
    assert_line("error x empty=\"\" blank=\"a b\" quote=\"say \\\"a\\\\b\\\"\" equals=\"a=b\"\n");
}

static void escapes_what_a_terminal_would_obey(void **state) {
    (void)state;
    log_event(LOG_LEVEL_INFO, "x",
              LOG_SLICE("value", SLICE_LITERAL("\x1b[2Ja\r\nb\t\0\x7f\x9b\xc2\x9b\xe2\x80\xae")));
    assert_line("info x "
                "value=\"\\x1b[2Ja\\x0d\\nb\\x09\\x00\\x7f\\x9b\\xc2\\x9b\\xe2\\x80\\xae\"\n");
}

static void bounds_values_and_lines(void **state) {
    (void)state;
    static char big[100000];
    memset(big, 'y', sizeof big - 1);
    log_event(LOG_LEVEL_INFO, "x", LOG_TEXT("big", big), LOG_TEXT("next", "z"));
    const char *line = behind_time(written());
    assert_int_equal(strspn(line + strlen("info x big="), "y"), LOG_VALUE_MAX);
    assert_string_equal(line + strlen("info x big=") + LOG_VALUE_MAX, "... next=z\n");
    memset(big, 1, sizeof big - 1);
    log_event(LOG_LEVEL_INFO, "x", LOG_TEXT("a", big), LOG_TEXT("b", big), LOG_TEXT("c", big));
    line = written();
    assert_true(strlen(line) <= LOG_LINE_MAX);
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
}

static void hides_tokens_of_paths(void **state) {
    (void)state;
    log_event(LOG_LEVEL_INFO, "x", LOG_PATH("a", SLICE_LITERAL("/t/s3cret/api/kernels")),
              LOG_PATH("b", SLICE_LITERAL("/api?token=s3cret")),
              LOG_PATH("c", SLICE_LITERAL("//t/s3cret")), LOG_PATH("d", SLICE_LITERAL("/tree")),
              LOG_PATH("e", SLICE_LITERAL("")));
    assert_line("info x a=/t/.../api/kernels b=/api c=/t/... d=/tree e=\"\"\n");
}

static void a_reader_that_does_not_read_stops_nobody(void **state) {
    (void)state;
    char filler[4096] = {0};
    while (write(STDERR_FILENO, filler, sizeof filler) > 0)
        ;
    fcntl(STDERR_FILENO, F_SETFL, 0); /* would block now */
    log_event(LOG_LEVEL_INFO, "lost");
    log_event(LOG_LEVEL_INFO, "lost");
    while (read(read_end, filler, sizeof filler) > 0)
        ;
    log_event(LOG_LEVEL_INFO, "seen");
    assert_line("info seen lines_lost=2\n");
    log_event(LOG_LEVEL_INFO, "seen");
    assert_line("info seen\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(writes_words, redirect, restore),
        cmocka_unit_test_setup_teardown(escapes_what_a_terminal_would_obey, redirect, restore),
        cmocka_unit_test_setup_teardown(bounds_values_and_lines, redirect, restore),
        cmocka_unit_test_setup_teardown(hides_tokens_of_paths, redirect, restore),
        cmocka_unit_test_setup_teardown(a_reader_that_does_not_read_stops_nobody, redirect,
                                        restore),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
