#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "msg/utf8.h"

static void mends(struct slice from, const char *to) {
    struct text text = {0};
    text_append_text(&text, "<");
    utf8_append_mended(&text, from);
    assert_true(text_is_utf8(text_slice(&text)));
    assert_string_equal(text.data + 1, to);
    text_finish(&text);
}

static void leaves_good_text_alone(void **state) {
    (void)state;
    static const char *good[] = {"", "plain", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "a\x01\x7f"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        mends(slice_from_text(good[i]), good[i]);
    assert_int_equal(mem_live(), 0);
}

static void replaces_each_stray_byte(void **state) {
    (void)state;
#define FFFD "\xef\xbf\xbd"
    mends(SLICE_LITERAL("\xff"), FFFD);
    mends(SLICE_LITERAL("a\xff"
                        "b"),
          "a" FFFD "b");
    mends(SLICE_LITERAL("\xc3"), FFFD);
    mends(SLICE_LITERAL("\xc3\xc3\xa4"), FFFD "\xc3\xa4");
    mends(SLICE_LITERAL("\xed\xa0\x80"), FFFD FFFD FFFD); /* a surrogate */
    mends(SLICE_LITERAL("\xf0\x9f\x98"), FFFD FFFD FFFD);
    mends(SLICE_LITERAL("\xc0\x80"), FFFD FFFD);
    mends(SLICE_LITERAL("end\xe2\x82"), "end" FFFD FFFD);
    assert_int_equal(mem_live(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_good_text_alone),
        cmocka_unit_test(replaces_each_stray_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
