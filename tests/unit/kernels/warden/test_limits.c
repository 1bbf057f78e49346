/* What a session gets of what a gateway, which may not be trusted, asks for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "warden/limits.h"

static const struct params params = {.memory_bytes = 512 << 20,
                                     .max_memory_bytes = 3ULL << 30,
                                     .pids = 256,
                                     .max_pids = 256,
                                     .open_files = 1024,
                                     .max_open_files = 1024,
                                     .workspace_bytes = 256 << 20,
                                     .max_workspace_bytes = 512 << 20,
                                     .workspace_inodes = 20000,
                                     .max_workspace_inodes = 20000};

static void fills_in_the_defaults(void **state) {
    (void)state;
    struct rpc_limits asked = {.pids = 20}, got;
    assert_int_equal(limits_resolve(&params, &asked, &got, NULL), 0);
    assert_int_equal(got.memory_bytes, 512 << 20);
    assert_int_equal(got.cpus_milli, 0); /* all there is */
    assert_int_equal(got.pids, 20);
    assert_int_equal(got.workspace_bytes, 256 << 20);
}

static void gives_the_most_and_no_more(void **state) {
    (void)state;
    struct rpc_limits asked = {.memory_bytes = 3ULL << 30, .cpus_milli = UINT64_MAX}, got;
    struct err err;
    assert_int_equal(limits_resolve(&params, &asked, &got, &err), 0);
    assert_int_equal(got.memory_bytes, 3ULL << 30);
    static const struct {
        struct rpc_limits asked;
        const char *name;
    } rows[] = {
        {{.memory_bytes = (3ULL << 30) + 1}, "limit memory_bytes: 3221225473 is more than"},
        {{.pids = 257}, "limit pids: 257 is more than the most, 256"},
        {{.open_files = UINT64_MAX}, "limit open_files: "},
        {{.workspace_bytes = (512 << 20) + 1}, "limit workspace_bytes: "},
        {{.workspace_inodes = 20001}, "limit workspace_inodes: "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct rpc_limits untouched = {.pids = 7};
        assert_int_equal(limits_resolve(&params, &rows[i].asked, &untouched, &err), -EINVAL);
        assert_non_null(strstr(err.text, rows[i].name));
        assert_int_equal(untouched.pids, 7);
    }
}

static void holds_processors_to_their_most(void **state) {
    (void)state;
    struct params some = params;
    struct rpc_limits asked = {.cpus_milli = 2001}, got;
    some.cpus_milli = 500;
    some.max_cpus_milli = 2000;
    assert_int_equal(limits_resolve(&some, &asked, &got, NULL), -EINVAL);
    asked.cpus_milli = 2000;
    assert_int_equal(limits_resolve(&some, &asked, &got, NULL), 0);
    asked.cpus_milli = 0;
    assert_int_equal(limits_resolve(&some, &asked, &got, NULL), 0);
    assert_int_equal(got.cpus_milli, 500);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills_in_the_defaults),
        cmocka_unit_test(gives_the_most_and_no_more),
        cmocka_unit_test(holds_processors_to_their_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
