#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <errno.h>

#include "base/mem.h"
#include "wire/object.h"

static void takes_nothing_and_null_for_an_empty_object(void **state) {
    (void)state;
    assert_true(slice_equal_text(object_or_empty((struct slice){0}), "{}"));
    assert_true(slice_equal_text(object_or_empty(SLICE_LITERAL("")), "{}"));
    assert_true(slice_equal_text(object_or_empty(SLICE_LITERAL("null")), "{}"));
    static const char *kept[] = {"{}", "{\"a\":1}", " {}", "nul", "nulll", "[]"};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        assert_ptr_equal(object_or_empty(slice_from_text(kept[i])).data, kept[i]);
}

static void names_the_part_that_is_wrong(void **state) {
    (void)state;
    struct err err = {0};
    assert_int_equal(object_check(SLICE_LITERAL("{\"a\":NaN}"), "content", &err), 0);
    assert_int_equal(object_check(SLICE_LITERAL("[]"), "content", &err), -EINVAL);
    assert_string_equal(err.text, "content: not a JSON object: expected an object at byte 0");
    assert_int_equal(object_check(SLICE_LITERAL("{\"a\":\"\xff\"}"), "metadata", &err), -EINVAL);
    assert_string_equal(err.text, "metadata: not UTF-8");
    assert_int_equal(object_check((struct slice){0}, "header", NULL), -EINVAL);
    assert_int_equal(mem_live(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_nothing_and_null_for_an_empty_object),
        cmocka_unit_test(names_the_part_that_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
