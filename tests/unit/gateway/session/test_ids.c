#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "session/ids.h"

static void makes_uuids_of_version_4(void **state) {
    (void)state;
    char previous[ID_TEXT_SIZE] = "";
    for (int i = 0; i < 1000; i++) {
        uint8_t id[ID_BYTES], again[ID_BYTES];
        char text[ID_TEXT_SIZE];
        id_make(id);
        id_format(id, text);
        assert_int_equal(strlen(text), 36);
        assert_int_equal(strspn(text, "0123456789abcdef-"), 36);
        assert_true(text[8] == '-' && text[13] == '-' && text[18] == '-' && text[23] == '-');
        assert_int_equal(text[14], '4');
        assert_non_null(strchr("89ab", text[19]));
        assert_string_not_equal(text, previous);
        assert_true(id_parse(slice_from_text(text), again));
        assert_memory_equal(again, id, ID_BYTES);
        memcpy(previous, text, sizeof text);
    }
}

static void formats_every_byte(void **state) {
    (void)state;
    static const uint8_t id[ID_BYTES] = {0x00, 0x01, 0x0f, 0x10, 0x7f, 0x80, 0x99, 0xa0,
                                         0xab, 0xcd, 0xef, 0xfe, 0xff, 0x12, 0x34, 0x56};
    char text[ID_TEXT_SIZE];
    id_format(id, text);
    assert_string_equal(text, "00010f10-7f80-99a0-abcd-effeff123456");
}

static void parses_uuids_of_any_version_and_case(void **state) {
    (void)state;
    static const char *const good[] = {"00010f10-7f80-99a0-abcd-effeff123456",
                                       "00010F10-7F80-99A0-ABCD-EFFEFF123456",
                                       "00000000-0000-0000-0000-000000000000"};
    static const char *const bad[] = {
        "",
        "00010f10",
        "00010f107f8099a0abcdeffeff123456",
        "00010f10-7f80-99a0-abcd-effeff12345",
        "00010f10-7f80-99a0-abcd-effeff1234567",
        "00010f1-07f80-99a0-abcd-effeff1234560",
        "00010f10_7f80-99a0-abcd-effeff123456",
        "g0010f10-7f80-99a0-abcd-effeff123456",
        "00010f10-7f80-99a0-abcd-effeff12345\n",
        "{0010f10-7f80-99a0-abcd-effeff12345}",
        "-------------------------------------",
        "00010f10-7f80-99a0-abcd-effeff1234 6",
        "00010f10-7f80-99a0-abcd-effeff1234@6",
        "00010f10-7f80-99a0-abcd-effeff1234\0206", /* octal: it ends before the 6 */
    };
    uint8_t id[ID_BYTES];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(id_parse(slice_from_text(good[i]), id));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        memset(id, 0x55, sizeof id);
        if (id_parse(slice_from_text(bad[i]), id))
            fail_msg("%s", bad[i]);
        for (int j = 0; j < ID_BYTES; j++)
            assert_int_equal(id[j], 0x55); /* untouched */
    }
}

static void tells_time_and_seeds(void **state) {
    (void)state;
    int64_t before = id_now_us();
    assert_true(before > 1700000000LL * 1000000);
    assert_true(id_now_us() >= before);
    assert_true(id_seed() != id_seed());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makes_uuids_of_version_4),
        cmocka_unit_test(formats_every_byte),
        cmocka_unit_test(parses_uuids_of_any_version_and_case),
        cmocka_unit_test(tells_time_and_seeds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
