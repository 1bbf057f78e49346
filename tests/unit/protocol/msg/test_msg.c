#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "msg/msg.h"

static void names_channels_and_finds_them(void **state) {
    (void)state;
    for (enum msg_channel channel = 0; channel < MSG_CHANNEL_COUNT; channel++) {
        const char *name = msg_channel_name(channel);
        assert_int_equal(msg_channel_from(slice_from_text(name)), channel);
    }
    assert_string_equal(msg_channel_name(MSG_IOPUB), "iopub");
}

static void takes_nothing_for_a_channel_that_is_none(void **state) {
    (void)state;
    static const char *bad[] = {"", "shel", "shell ", "Shell", "hb", "shellx", "iopub\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(msg_channel_from(slice_from_text(bad[i])), MSG_CHANNEL_COUNT);
    assert_int_equal(msg_channel_from((struct slice){0}), MSG_CHANNEL_COUNT);
    assert_int_equal(msg_channel_from(slice_make("shell\0", 6)), MSG_CHANNEL_COUNT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_channels_and_finds_them),
        cmocka_unit_test(takes_nothing_for_a_channel_that_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
