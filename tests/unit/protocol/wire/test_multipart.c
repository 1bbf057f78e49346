#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <errno.h>

#include "base/mem.h"
#include "wire/multipart.h"

enum { PARTS_MAX = 64 + MSG_BUFFERS_MAX };

/* "id|<IDS|MSG>|..." would need escapes: parts are given one by one, ended by NULL. */
static size_t fill(struct slice *parts, const char *const *texts) {
    size_t count = 0;
    for (; texts[count]; count++)
        parts[count] = slice_from_text(texts[count]);
    return count;
}

static void reads_a_message(void **state) {
    (void)state;
    static const char *const texts[] = {"kernel.iopub",
                                        MULTIPART_DELIMITER,
                                        "sig",
                                        "{h}",
                                        "null",
                                        "{m}",
                                        "{c}",
                                        "buffer",
                                        "",
                                        NULL};
    struct slice parts[16], signature;
    size_t count = fill(parts, texts), identities;
    struct msg msg = {.channel = MSG_IOPUB};
    assert_int_equal(multipart_read(parts, count, &identities, &signature, &msg, NULL), 0);
    assert_int_equal(identities, 1);
    assert_int_equal(msg.channel, MSG_IOPUB);
    assert_true(slice_equal_text(signature, "sig"));
    assert_true(slice_equal_text(msg.header, "{h}"));
    assert_true(slice_equal_text(msg.parent_header, "null")); /* signed as it is */
    assert_true(slice_equal_text(msg.metadata, "{m}"));
    assert_true(slice_equal_text(msg.content, "{c}"));
    assert_int_equal(msg.buffer_count, 2);
    assert_ptr_equal(msg.buffers, parts + 7);
}

static void finds_the_first_delimiter(void **state) {
    (void)state;
    for (size_t before = 0; before < 20; before++) {
        struct slice parts[64], signature;
        size_t count = 0, identities = 99;
        while (count < before)
            parts[count++] = SLICE_LITERAL("<IDS|MSG>x");
        for (int i = 0; i < 6; i++)
            parts[count++] = SLICE_LITERAL(MULTIPART_DELIMITER);
        struct msg msg;
        struct err err = {0};
        int error = multipart_read(parts, count, &identities, &signature, &msg, &err);
        if (before < 16) {
            assert_int_equal(error, 0);
            assert_int_equal(identities, before);
            assert_int_equal(msg.buffer_count, 0);
        } else {
            assert_int_equal(error, -EINVAL);
            assert_int_equal(identities, 99);
            assert_string_equal(err.text, "no delimiter within the first 16 parts");
        }
    }
}

static void refuses_too_few_parts(void **state) {
    (void)state;
    static const char *const texts[] = {"id", MULTIPART_DELIMITER, "", "{}", "{}", "{}", "{}",
                                        NULL};
    struct slice parts[16], signature = SLICE_LITERAL("untouched");
    size_t whole = fill(parts, texts), identities = 99;
    struct msg msg = {0};
    for (size_t count = 0; count < whole; count++) {
        struct err err = {0};
        assert_int_equal(multipart_read(parts, count, &identities, &signature, &msg, &err),
                         -EINVAL);
        assert_true(strlen(err.text) > 10);
        assert_int_equal(identities, 99);
        assert_true(slice_equal_text(signature, "untouched"));
        assert_null(msg.header.data);
    }
    assert_int_equal(multipart_read(parts, whole, &identities, &signature, &msg, NULL), 0);
}

static void bounds_buffers(void **state) {
    (void)state;
    static struct slice parts[PARTS_MAX];
    for (size_t i = 0; i < PARTS_MAX; i++)
        parts[i] = SLICE_LITERAL("{}");
    parts[0] = SLICE_LITERAL(MULTIPART_DELIMITER);
    size_t identities;
    struct slice signature;
    struct msg msg;
    size_t most = MULTIPART_FIXED + MSG_BUFFERS_MAX;
    assert_int_equal(multipart_read(parts, most, &identities, &signature, &msg, NULL), 0);
    assert_int_equal(msg.buffer_count, MSG_BUFFERS_MAX);
    assert_int_equal(multipart_read(parts, most + 1, &identities, &signature, &msg, NULL), -EINVAL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_message),
        cmocka_unit_test(finds_the_first_delimiter),
        cmocka_unit_test(refuses_too_few_parts),
        cmocka_unit_test(bounds_buffers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
