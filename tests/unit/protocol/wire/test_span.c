#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <errno.h>

#include "base/mem.h"
#include "base/text.h"
#include "wire/span.h"

static int find(const char *json, const char *name, struct slice *ret_value) {
    return span_members(slice_from_text(json), &name, 1, ret_value, NULL);
}

static void finds(const char *json, const char *name, const char *value) {
    struct slice found;
    assert_int_equal(find(json, name, &found), 0);
    if (!value) {
        assert_null(found.data);
        return;
    }
    assert_non_null(found.data);
    assert_int_equal(found.size, strlen(value));
    assert_memory_equal(found.data, value, found.size);
}

static void finds_members_as_they_stand(void **state) {
    (void)state;
    finds("{}", "a", NULL);
    finds(" \t\r\n{ } \n", "a", NULL);
    finds("{\"a\":1}", "a", "1");
    finds("{\"a\":1}", "b", NULL);
    finds("{ \"b\" : [ 1 , { \"a\" : 2 } ] , \"a\" : { \"x\" : \"}\" } }", "a",
          "{ \"x\" : \"}\" }");
    finds("{\"a\":\"\\\"\",\"b\":\"\\\\\"}", "b", "\"\\\\\"");
    finds("{\"a\":[],\"b\":{},\"c\":[[]],\"d\":[{}]}", "d", "[{}]");
    finds("{\"\":0}", "", "0");
    finds("{\"a\":true,\"b\":false,\"c\":null}", "c", "null");
    finds("{\"b\":\"] } , \\\" :\",\"a\":-0.5e+3}", "a", "-0.5e+3");
}

static void passes_what_python_writes(void **state) {
    (void)state;
    static const char *values[] = {
        "NaN",
        "Infinity",
        "-Infinity",
        "1234567890123456789012345678901234567890123456789012345678901234567890",
        "1e99999",
        "\"\\ud800\"",
        "\"\\udc00\\ud83d\"",
        "\"\\u0000\"",
        "\"\\/\"",
        "\"\x7f\"",
        "[NaN,[-Infinity,{\"x\":Infinity}]]",
        "\"\xc3\xa4\"",
        "\"\xff\xfe\"", /* UTF-8 is not its business */
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct text json = {0};
        text_append_format(&json, "{\"b\":%s,\"a\":%s}", values[i], values[i]);
        finds(json.data, "a", values[i]);
        finds(json.data, "b", values[i]);
        text_finish(&json);
    }
    assert_int_equal(mem_live(), 0);
}

static void compares_keys_by_their_meaning(void **state) {
    (void)state;
    finds("{\"\\u0061\":1}", "a", "1");
    finds("{\"\\u006D\\u004a\":1}", "mJ", "1");
    finds("{\"a\\/b\\n\":1}", "a/b\n", "1");
    finds("{\"\\\"\\\\\\b\\f\\r\\t\":1}", "\"\\\b\f\r\t", "1");
    finds("{\"a\\u0000\":1}", "a", NULL);
    finds("{\"a\\u0000b\":1}", "a", NULL);
    finds("{\"\\u0161\":1}", "a", NULL);
    finds("{\"\\u00e4\":1}", "\xe4", NULL);
    finds("{\"\\ud83d\\ude00\":1}", "a", NULL);
    finds("{\"ab\":1}", "a", NULL);
    finds("{\"a\":1}", "ab", NULL);
    finds("{\"A\":1}", "a", NULL);
}

static void lets_the_last_of_equal_keys_win(void **state) {
    (void)state;
    finds("{\"a\":1,\"b\":2,\"a\":3}", "a", "3");
    finds("{\"a\":1,\"\\u0061\":4}", "a", "4");
}

static void finds_several_at_once(void **state) {
    (void)state;
    const char *const names[] = {"c", "a", "missing", "b"};
    struct slice values[4];
    struct slice json = SLICE_LITERAL("{\"a\":[1],\"b\":\"x\",\"c\":{\"a\":0}}");
    assert_int_equal(span_members(json, names, 4, values, NULL), 0);
    assert_true(slice_equal_text(values[0], "{\"a\":0}"));
    assert_true(slice_equal_text(values[1], "[1]"));
    assert_null(values[2].data);
    assert_true(slice_equal_text(values[3], "\"x\""));
    assert_true(span_is_object(values[0]));
    assert_false(span_is_object(values[1]));
    assert_false(span_is_object(values[2]));
    assert_true(span_string_means(values[3], "x"));
    assert_false(span_string_means(values[3], "xx"));
    assert_false(span_string_means(values[3], ""));
    assert_false(span_string_means(values[2], ""));
    assert_false(span_string_means(values[1], "[1]"));
    assert_int_equal(span_members(json, NULL, 0, NULL, NULL), 0);
}

static void refuse(struct slice json) {
    static const char *const name = "a";
    struct slice value = SLICE_LITERAL("untouched");
    struct err err = {0};
    assert_int_equal(span_members(json, &name, 1, &value, &err), -EINVAL);
    assert_int_equal(err.code, EINVAL);
    assert_true(strncmp(err.text, "not a JSON object: ", 19) == 0);
    assert_true(slice_equal_text(value, "untouched"));
}

static void refuses_what_is_no_object(void **state) {
    (void)state;
    static const char *bad[] = {
        "",
        " ",
        "null",
        "1",
        "\"a\"",
        "[]",
        "[{}]",
        "{}{}",
        "{} x",
        "{}}",
        "{]",
        "{,}",
        "{a:1}",
        "{1:1}",
        "{\"a\"}",
        "{\"a\" 1}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{\"a\":,}",
        "{\"a\"::1}",
        "{\"a\":1 2}",
        "{\"a\":1}]",
        "{\"a\":[1,]}",
        "{\"a\":[,1]}",
        "{\"a\":[1 2]}",
        "{\"a\":[1}}",
        "{\"a\":{\"b\":1]}",
        "{\"a\":[\"b\":1]}",
        "{\"a\":{1}}",
        "{\"a\":{\"b\"}}",
        "{\"a\":{\"b\":1,}}",
        "{'a':1}",
        "{\"a\":'b'}",
        "\xef\xbb\xbf{}",
        "{\"a\":1}\f",
        "{\"a\":\v1}",
        "{\"a\":undefined}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refuse(slice_from_text(bad[i]));
    refuse((struct slice){0});
    refuse(slice_make("{}\0", 3));
    refuse(slice_make("{\"a\":\0}", 7));
    refuse(slice_make("{\"a\":8\0}", 8));
    refuse(slice_make("{\"a\0\":1}", 8));
}

static void refuses_bad_scalars(void **state) {
    (void)state;
    static const char *bad[] = {
        "01",       "-",        "+1",
        "1.",       ".5",       "1e",
        "1e+",      "1.e3",     "0x10",
        "--1",      "-NaN",     "nan",
        "NaNN",     "inf",      "Infinit",
        "-Infinit", "-nfinity", "tru",
        "truee",    "True",     "nulll",
        "1a",       "\"\\x\"",  "\"\\u12g4\"",
        "\"\\u123", "\"\\u\"",  "\"\\",
        "\"a",      "\"\n\"",   "\"12345678\0379\"", /* octal: it ends before the 9 */
        "\"\\ \"",  "- 1",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct text json = {0};
        text_append_format(&json, "{\"a\":%s}", bad[i]);
        refuse(text_slice(&json));
        text_finish(&json);
        text_append_format(&json, "{\"b\":[%s]}", bad[i]);
        refuse(text_slice(&json));
        text_finish(&json);
    }
    assert_int_equal(mem_live(), 0);
}

/* Copied to the heap at every size, so that a read beyond the cut is seen. */
static void refuses_every_cut(void **state) {
    (void)state;
    static const char whole[] =
        "{ \"a\\u0061\" : [ 1.5e-3 , { \"b\" : \"0123456789\\n\" } , -Infinity"
        " , null , true ] , \"c\" : \"\" }";
    for (size_t size = 0; size < sizeof whole - 1; size++) {
        char *cut = mem_alloc(size);
        memcpy(cut, whole, size);
        refuse(slice_make(cut, size));
        mem_free(cut);
    }
    struct slice value;
    assert_int_equal(find(whole, "c", &value), 0);
    assert_int_equal(mem_live(), 0);
}

/* Strings of every length and alignment, with the one special byte at every place. */
static void sees_every_byte_of_a_string(void **state) {
    (void)state;
    for (size_t size = 0; size < 40; size++)
        for (size_t at = 0; at < size; at++) {
            char json[64];
            int length = snprintf(json, sizeof json, "{\"a\":\"%0*d\"}", (int)size, 0);
            json[6 + at] = '\x1f';
            refuse(slice_make(json, (size_t)length));
            json[6 + at] = '\\';
            refuse(slice_make(json, (size_t)length)); /* \0 or \" is no good end */
            json[6 + at] = '"';
            refuse(slice_make(json, (size_t)length));
            json[6 + at] = '\x80';
            struct slice value;
            assert_int_equal(find(json, "a", &value), 0);
            assert_int_equal(value.size, size + 2);
        }
}

static void append_times(struct text *text, const char *what, size_t count) {
    while (count--)
        text_append_text(text, what);
}

static void bounds_depth(void **state) {
    (void)state;
    static const struct {
        const char *open, *close;
    } kinds[] = {{"[", "]"}, {"{\"x\":", "}"}, {"[{\"x\":", "}]"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t levels = strlen(kinds[i].close);
        for (size_t extra = 0; extra < 2; extra++) {
            size_t count = (SPAN_DEPTH_MAX - 1) / levels + extra;
            struct text json = {0};
            text_append_text(&json, "{\"a\":");
            append_times(&json, kinds[i].open, count);
            text_append_text(&json, "1");
            append_times(&json, kinds[i].close, count);
            text_append_text(&json, "}");
            struct slice value;
            if (extra)
                refuse(text_slice(&json));
            else
                assert_int_equal(find(json.data, "a", &value), 0);
            text_finish(&json);
        }
    }
    struct text open = {0};
    text_append_text(&open, "{\"a\":");
    append_times(&open, "[", 1000000);
    refuse(text_slice(&open));
    text_finish(&open);
    assert_int_equal(mem_live(), 0);
}

static void bounds_the_digits_of_integers(void **state) {
    (void)state;
    static const char *const ends[] = {"", ".5", "e1"};
    for (size_t i = 0; i < 3; i++)
        for (size_t extra = 0; extra < 2; extra++) {
            struct text json = {0};
            text_append_text(&json, "{\"a\":[-");
            append_times(&json, "9", SPAN_DIGITS_MAX + extra);
            text_append_text(&json, ends[i]);
            text_append_text(&json, "]}");
            struct slice value;
            if (i == 0 && extra)
                refuse(text_slice(&json));
            else
                assert_int_equal(find(json.data, "a", &value), 0);
            text_finish(&json);
        }
    assert_int_equal(mem_live(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_members_as_they_stand),
        cmocka_unit_test(passes_what_python_writes),
        cmocka_unit_test(compares_keys_by_their_meaning),
        cmocka_unit_test(lets_the_last_of_equal_keys_win),
        cmocka_unit_test(finds_several_at_once),
        cmocka_unit_test(refuses_what_is_no_object),
        cmocka_unit_test(refuses_bad_scalars),
        cmocka_unit_test(refuses_every_cut),
        cmocka_unit_test(sees_every_byte_of_a_string),
        cmocka_unit_test(bounds_depth),
        cmocka_unit_test(bounds_the_digits_of_integers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
