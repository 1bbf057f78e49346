/* The table itself, and what people read of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "config/number.h"
#include "config/table.h"

/* What print writes, as a text the caller frees. */
static char *printed(void (*print)(FILE *)) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    print(out);
    fclose(out);
    return text;
}

static void docs_say_what_the_table_says(void **state) {
    (void)state;
    static const char path[] = TEST_DATA "/../../../../docs/config.md";
    static char committed[64 * 1024];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    committed[fread(committed, 1, sizeof committed - 1, file)] = 0;
    fclose(file);
    char *now = printed(params_print_doc);
    if (strcmp(now, committed) != 0)
        fail_msg("docs/config.md is out of date: run `ninja docs`");
    free(now);
}

static void help_names_every_flag_within_a_hundred_columns(void **state) {
    (void)state;
    char *help = printed(params_print_help);
    for (size_t i = 0; i < param_row_count; i++) {
        char flag[PARAM_NAME_MAX];
        if (!param_rows[i].name)
            continue;
        param_flag(&param_rows[i], flag);
        if (!strstr(help, flag))
            fail_msg("--help lacks %s", flag);
    }
    for (char *line = help; *line; line += strcspn(line, "\n") + 1)
        if (strcspn(line, "\n") > 100)
            fail_msg("too long: %.120s", line);
    free(help);
}

static void every_name_fits_and_says_its_unit(void **state) {
    (void)state;
    for (size_t i = 0; i < param_row_count; i++) {
        const struct param_row *row = &param_rows[i];
        if (!row->name)
            continue;
        assert_true(strlen("CELLBLOCK_") + strlen(row->name) < PARAM_NAME_MAX);
        assert_ptr_equal(param_find(row->name), row);
        const char *unit = row->type == &param_type_BYTES          ? "_bytes"
                           : row->type == &param_type_MILLISECONDS ? "_ms"
                                                                   : "";
        assert_true(strlen(row->name) > strlen(unit));
        assert_string_equal(row->name + strlen(row->name) - strlen(unit), unit);
    }
    assert_null(param_find("max_kernel"));
    assert_ptr_equal(param_find("MAX-kernels"), param_find("max_kernels"));
    assert_null(param_nearest("", NULL));
}

static void reads_and_prints_numbers(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const struct number_unit *units;
        uint64_t value;
        const char *printed;
    } rows[] = {
        {"0", number_bytes, 0, "0 bytes"},
        {"1024", number_bytes, 1024, "1 KiB"},
        {"64kib", number_bytes, 65536, "64 KiB"},
        {"1536 MiB", number_bytes, 1610612736, "1536 MiB"},
        {"2GiB", number_bytes, 2147483648, "2 GiB"},
        {"1 bytes", number_bytes, 1, "1 bytes"},
        {"40 s", number_times, 40000, "40 s"},
        {"90s", number_times, 90000, "90 s"},
        {"120s", number_times, 120000, "2 min"},
        {"1500", number_times, 1500, "1500 ms"},
        {"24h", number_times, 86400000, "24 h"},
        {"9223372036854775807", number_plain, INT64_MAX, "9223372036854775807"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t value;
        struct text out = {0};
        assert_true(number_read(rows[i].text, rows[i].units, &value));
        assert_int_equal(value, rows[i].value);
        number_print(value, rows[i].units, &out);
        assert_string_equal(out.data, rows[i].printed);
        text_finish(&out);
    }
    static const char *bad[] = {"",
                                " 1",
                                "+1",
                                "-1",
                                "1.5",
                                "0x10",
                                "1 KB",
                                "1k",
                                "1 s",
                                "KiB",
                                "9223372036854775808",
                                "18446744073709551616",
                                "9007199254740992KiB",
                                "1 KiB "};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint64_t value;
        if (number_read(bad[i], number_bytes, &value))
            fail_msg("\"%s\" was taken for a size", bad[i]);
    }
    assert_int_equal(mem_live(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(docs_say_what_the_table_says),
        cmocka_unit_test(help_names_every_flag_within_a_hundred_columns),
        cmocka_unit_test(every_name_fits_and_says_its_unit),
        cmocka_unit_test(reads_and_prints_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
