#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <errno.h>

#include "base/mem.h"
#include "http/http.h"

static void decodes_escapes(void **state) {
    (void)state;
    static const struct {
        const char *encoded;
        bool plus_is_blank;
        const char *decoded; /* NULL: refused */
    } cases[] = {
        {"", false, ""},
        {"plain", false, "plain"},
        {"a%20b%2Fc%2f", false, "a b/c/"},
        {"a+b", false, "a+b"},
        {"a+b%2B", true, "a b+"},
        {"%c3%A4", false, "\xc3\xa4"},
        {"%25%32%30", false, "%20"},
        {"%", false, NULL},
        {"%2", false, NULL},
        {"%2g", false, NULL},
        {"%g2", false, NULL},
        {"%%20", false, NULL},
        {"%00", false, NULL},
        {"a%", false, NULL},
        {"%-1", false, NULL},
        {"% 1", false, NULL},
        {"%@1", false, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = (char *)"untouched";
        struct slice encoded = slice_from_text(cases[i].encoded);
        int result = http_percent_decode(encoded, cases[i].plus_is_blank, &text);
        if (cases[i].decoded) {
            assert_int_equal(result, 0);
            assert_string_equal(text, cases[i].decoded);
            mem_free(text);
        } else {
            assert_int_equal(result, -EINVAL);
            assert_string_equal(text, "untouched");
        }
    }
    char *text;
    assert_int_equal(http_percent_decode(SLICE_LITERAL("a\0b"), false, &text), -EINVAL);
    assert_int_equal(http_percent_decode((struct slice){0}, false, &text), 0);
    assert_string_equal(text, "");
    mem_free(text);
    assert_int_equal(mem_live(), 0);
}

static void finds_query_parameters(void **state) {
    (void)state;
    static const struct {
        const char *query, *name, *value; /* NULL: absent */
    } cases[] = {
        {"token=abc", "token", "abc"},    {"a=1&token=x%20y+z&token=second", "token", "x y z"},
        {"1732945678901", "token", NULL}, {"1732945678901&token=", "token", ""},
        {"token", "token", ""},           {"&&token=a&", "token", "a"},
        {"tok%65n=a", "token", "a"},      {"token=%zz", "token", NULL},
        {"%zz=1&token=a", "token", "a"},  {"token=a=b", "token", "a=b"},
        {"xtoken=a", "token", NULL},      {"=a", "", "a"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *value = http_query_get(slice_from_text(cases[i].query), cases[i].name);
        if (cases[i].value)
            assert_string_equal(value, cases[i].value);
        else
            assert_null(value);
        mem_free(value);
    }
    assert_null(http_query_get((struct slice){0}, "token"));
    assert_int_equal(mem_live(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decodes_escapes),
        cmocka_unit_test(finds_query_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
