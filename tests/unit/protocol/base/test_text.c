#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include <errno.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/text.h"

static void knows_utf8_from_what_is_not(void **state) {
    (void)state;
    static const char *good[] = {"",
                                 "plain ascii text, longer than eight",
                                 "\xc3\xa4",
                                 "\xe2\x82\xac",
                                 "\xf0\x9f\x98\x80",
                                 "\xf4\x8f\xbf\xbf",
                                 "\xed\x9f\xbf",
                                 "12345678\xc3\xa4"};
    static const char *bad[] = {
        "\x80",         "\xc0\x80",         "\xc1\xbf",         "\xe0\x9f\xbf",
        "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
        "\xc3",         "\xe2\x82",         "12345678\xff",     "\xc3(",
        "\xe2\x28\xa1"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(text_is_utf8(slice_from_text(good[i])));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(text_is_utf8(slice_from_text(bad[i])));
}

static void writes_json_strings(void **state) {
    (void)state;
    struct text text = {0};
    text_append_json_string(&text, SLICE_LITERAL("a\"b\\c\nd\x01 \xc3\xa4"));
    assert_string_equal(text.data, "\"a\\\"b\\\\c\\u000ad\\u0001 \xc3\xa4\"");
    text_finish(&text);
    text_append_json_string(&text, SLICE_LITERAL(""));
    assert_string_equal(text.data, "\"\"");
    text_finish(&text);
    assert_int_equal(mem_live(), 0);
}

static void wraps_errors_outward(void **state) {
    (void)state;
    struct err err = {0};
    assert_int_equal(err_errno(&err, EPERM, "mount %s", "/proc"), -EPERM);
    assert_int_equal(err_wrap(&err, "start %s", "python3"), -EPERM);
    assert_string_equal(err.text, "start python3: mount /proc: Operation not permitted");
    char longer[600];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    assert_int_equal(err_set(&err, EIO, "%s", longer), -EIO);
    assert_int_equal(strlen(err.text), ERR_TEXT_MAX - 1);
    assert_int_equal(err_wrap(&err, "outer"), -EIO);
    assert_int_equal(err_set(NULL, EIO, "nobody listens"), -EIO);
}

static void counts_references(void **state) {
    (void)state;
    struct bytes *bytes = bytes_copy(SLICE_LITERAL("abc"));
    assert_ptr_equal(bytes_ref(bytes), bytes);
    bytes_unref(bytes);
    assert_true(slice_equal_text(bytes_slice(bytes), "abc"));
    bytes_unref(bytes);
    bytes_unref(NULL);
    assert_int_equal(mem_live(), 0);
}

struct entry {
    int value;
    struct list link;
};

static void lists_survive_removal_while_walking(void **state) {
    (void)state;
    struct list head;
    struct entry entries[4] = {{1}, {2}, {3}, {4}}, *entry;
    list_init(&head);
    for (int i = 0; i < 4; i++)
        list_append(&head, &entries[i].link);
    list_for_each (entry, &head, link)
        if (entry->value % 2)
            list_remove(&entry->link);
    int sum = 0;
    list_for_each (entry, &head, link)
        sum = sum * 10 + entry->value;
    assert_int_equal(sum, 24);
}

static void compares_secrets_and_cases(void **state) {
    (void)state;
    assert_true(text_equal_secret(SLICE_LITERAL("abc"), SLICE_LITERAL("abc")));
    assert_false(text_equal_secret(SLICE_LITERAL("abc"), SLICE_LITERAL("abd")));
    assert_false(text_equal_secret(SLICE_LITERAL("abc"), SLICE_LITERAL("ab")));
    assert_true(slice_equal_nocase(SLICE_LITERAL("Host"), SLICE_LITERAL("hOST")));
    assert_false(slice_equal_nocase(SLICE_LITERAL("a["), SLICE_LITERAL("a{")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_utf8_from_what_is_not),
        cmocka_unit_test(writes_json_strings),
        cmocka_unit_test(wraps_errors_outward),
        cmocka_unit_test(counts_references),
        cmocka_unit_test(lists_survive_removal_while_walking),
        cmocka_unit_test(compares_secrets_and_cases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
