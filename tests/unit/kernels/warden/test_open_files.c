#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "config/table.h"
#include "init/init.h"
#include "warden/open_files.h"

static const struct {
    uint64_t limit, kernels, connections, fit_kernels, fit_connections;
} rows[] = {
    {1048576, 300, 4096, 300, 4096},
    {160 + 300 * 8 + 4096, 300, 4096, 300, 4096}, /* just enough */
    {160 + 300 * 8 + 4095, 300, 4096, 300, 4095}, /* and one too few */
    {4096, 300, 4096, 246, 1968},                 /* half of it for either */
    {1024, 300, 4096, 54, 432},
    {1024, 10, 4096, 10, 784}, /* what the other does not use */
    {1024, 300, 64, 100, 64},
    {256, 300, 4096, 6, 48},
    {256, 1, 1, 1, 1},
};

static void fits_what_there_is(void **state) {
    (void)state;
    struct err err;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct params params = {.max_kernels = rows[i].kernels,
                                .http_connections = rows[i].connections};
        assert_int_equal(open_files_fit(&params, rows[i].limit, &err), 0);
        assert_int_equal(params.max_kernels, rows[i].fit_kernels);
        assert_int_equal(params.http_connections, rows[i].fit_connections);
    }
}

static void refuses_where_nothing_fits(void **state) {
    (void)state;
    struct err err;
    struct params params = {.max_kernels = 1, .http_connections = 1};
    assert_int_equal(open_files_fit(&params, 255, &err), -EMFILE);
    assert_non_null(strstr(err.text, "the limit of open files is 255"));
}

/* A session has what pid 1 of its trees needs. */
static void leaves_pid_1_enough(void **state) {
    (void)state;
    assert_true(param_find("open_files")->minimum >= INIT_OPEN_FILES_LEAST);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fits_what_there_is),
        cmocka_unit_test(refuses_where_nothing_fits),
        cmocka_unit_test(leaves_pid_1_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
