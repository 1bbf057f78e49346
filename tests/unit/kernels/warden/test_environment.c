#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "warden/environment.h"

static const struct rpc_limits no_limits;

static const char *value(const struct strings *environment, const char *name) {
    size_t size = strlen(name);
    const char *found = NULL;
    for (size_t i = 0; i < environment->count; i++)
        if (strncmp(environment->items[i], name, size) == 0 && environment->items[i][size] == '=') {
            assert_null(found); /* each name once: getenv would find the first */
            found = environment->items[i] + size + 1;
        }
    return found;
}

static void builds_from_nothing(void **state) {
    (void)state;
    struct spec spec = {.bin = (char[]){""}};
    struct strings built;
    struct err err;
    assert_int_equal(environment_build(&spec, &no_limits, (struct slice){0}, &built, &err), 0);
    static const char *const expected[] = {"PATH=/usr/local/bin:/usr/bin:/bin",
                                           "HOME=/home/user",
                                           "USER=user",
                                           "LOGNAME=user",
                                           "LANG=C.UTF-8",
                                           "TMPDIR=/tmp",
                                           "TEMP=/run/spare"};
    assert_int_equal(built.count, 7);
    for (size_t i = 0; i < 7; i++)
        assert_string_equal(built.items[i], expected[i]);
    assert_null(built.items[7]);
    strings_finish(&built);
    assert_int_equal(mem_live(), 0);
}

static void lets_the_later_win(void **state) {
    (void)state;
    struct spec spec = {.bin = (char[]){"/opt/env/bin"}};
    strings_add(&spec.env, "A=spec");
    strings_add(&spec.env, "B=spec");
    strings_add(&spec.env, "HOME=/elsewhere");
    static const char asked[] = "A=asked\0EMPTY=\0A=asked again\0AA=x";
    struct strings built;
    struct err err;
    assert_int_equal(
        environment_build(&spec, &no_limits, slice_make(asked, sizeof asked), &built, &err), 0);
    assert_string_equal(value(&built, "A"), "asked again");
    assert_string_equal(value(&built, "AA"), "x");
    assert_string_equal(value(&built, "B"), "spec");
    assert_string_equal(value(&built, "EMPTY"), "");
    assert_string_equal(value(&built, "HOME"), "/elsewhere");
    assert_string_equal(value(&built, "PATH"), "/opt/env/bin:/usr/local/bin:/usr/bin:/bin");
    strings_finish(&built);
    strings_finish(&spec.env);
    assert_int_equal(mem_live(), 0);
}

/* A limit of one processor; what the kernelspec says wins. */
static void says_how_many_threads_there_may_be(void **state) {
    (void)state;
    struct spec spec = {.bin = (char[]){""}};
    strings_add(&spec.env, "OMP_NUM_THREADS=7");
    struct strings built;
    struct err err;
    const struct rpc_limits limits = {.cpus_milli = 500};
    bool is_limited = sysconf(_SC_NPROCESSORS_ONLN) > 1;
    assert_int_equal(environment_build(&spec, &limits, (struct slice){0}, &built, &err), 0);
    assert_string_equal(value(&built, "OMP_NUM_THREADS"), "7");
    const char *count = value(&built, "OPENBLAS_NUM_THREADS");
    assert_true(is_limited ? strcmp(count, "1") == 0 : !count);
    strings_finish(&built);
    strings_finish(&spec.env);
    assert_int_equal(mem_live(), 0);
}

/* In words of the kernelspec's own, which knows what its program calls it. */
static void says_how_much_memory_there_is(void **state) {
    (void)state;
    struct spec spec = {.bin = (char[]){""}};
    strings_add(&spec.env, "OPTIONS=-Xmx$CELLBLOCK_MEMORY_BYTES");
    const struct rpc_limits limits = {.memory_bytes = 512 << 20};
    struct strings built;
    struct err err;
    assert_int_equal(environment_build(&spec, &limits, (struct slice){0}, &built, &err), 0);
    assert_string_equal(value(&built, "CELLBLOCK_MEMORY_BYTES"), "536870912");
    assert_string_equal(value(&built, "OPTIONS"), "-Xmx536870912");
    strings_finish(&built);
    strings_finish(&spec.env);
    assert_int_equal(mem_live(), 0);
}

static void fills_in_what_a_kernelspec_refers_to(void **state) {
    (void)state;
    static const struct {
        const char *given, *expected;
    } rows[] = {
        {"P=/x:${PATH}", "/x:/usr/local/bin:/usr/bin:/bin"},
        {"P=$HOME/lib", "/home/user/lib"},
        {"P=${NOT_SET}-$NOT_SET", "${NOT_SET}-$NOT_SET"},
        {"P=$$HOME", "$HOME"},
        {"P=100$", "100$"},
        {"P=$1 ${ ${} ${HOME", "$1 ${ ${} ${HOME"},
        {"P=$USERNAME $USER", "$USERNAME user"},
        {"P=", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct spec spec = {.bin = (char[]){""}};
        struct strings built;
        struct err err;
        strings_add(&spec.env, rows[i].given);
        assert_int_equal(environment_build(&spec, &no_limits, (struct slice){0}, &built, &err), 0);
        assert_string_equal(value(&built, "P"), rows[i].expected);
        strings_finish(&built);
        strings_finish(&spec.env);
    }
    assert_int_equal(mem_live(), 0);
}

/* What a client asks for is taken as it stands. */
static void fills_nothing_into_what_was_asked(void **state) {
    (void)state;
    struct spec spec = {.bin = (char[]){""}};
    struct strings built;
    struct err err;
    assert_int_equal(environment_build(&spec, &no_limits, SLICE_LITERAL("A=$HOME\0"), &built, &err),
                     0);
    assert_string_equal(value(&built, "A"), "$HOME");
    strings_finish(&built);
}

/* A kernel.json of a few hundred bytes could otherwise ask for any memory. */
static void refuses_what_grows_without_end(void **state) {
    (void)state;
    struct spec spec = {.bin = (char[]){""}};
    struct strings built = {0};
    struct err err;
    strings_add(&spec.env, "A0=0123456789abcdef");
    for (int i = 1; i < 60; i++)
        strings_add_take(&spec.env, mem_format("A%d=${A%d}$A%d", i, i - 1, i - 1));
    assert_int_equal(environment_build(&spec, &no_limits, (struct slice){0}, &built, &err), -E2BIG);
    assert_null(built.items);
    strings_finish(&spec.env);

    strings_add_take(&spec.env, mem_format("A=%0*d", 100 * 1024, 0));
    for (int i = 0; i < 9; i++)
        strings_add_take(&spec.env, mem_format("B%d=$A", i));
    assert_int_equal(environment_build(&spec, &no_limits, (struct slice){0}, &built, &err), 0);
    strings_finish(&built);
    strings_add(&spec.env, "C=$A");
    assert_int_equal(environment_build(&spec, &no_limits, (struct slice){0}, &built, &err), -E2BIG);
    assert_non_null(strstr(err.text, "more than 1048576 bytes"));
    strings_finish(&spec.env);
    assert_int_equal(mem_live(), 0);
}

static void refuses_what_exec_would_not_carry(void **state) {
    (void)state;
    struct spec spec = {.bin = (char[]){""}};
    static const struct slice bad[] = {
        SLICE_LITERAL("A=1"),          SLICE_LITERAL("A\0"),    SLICE_LITERAL("=1\0"),
        SLICE_LITERAL("A=1\0B\0"),     SLICE_LITERAL("A=1\0B"), SLICE_LITERAL("\0"),
        SLICE_LITERAL("A=1\0\0B=2\0"),
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct strings built = {0};
        struct err err;
        assert_int_equal(environment_build(&spec, &no_limits, bad[i], &built, &err), -EINVAL);
        assert_null(built.items);
    }
    assert_int_equal(mem_live(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(builds_from_nothing),
        cmocka_unit_test(lets_the_later_win),
        cmocka_unit_test(says_how_many_threads_there_may_be),
        cmocka_unit_test(says_how_much_memory_there_is),
        cmocka_unit_test(fills_in_what_a_kernelspec_refers_to),
        cmocka_unit_test(fills_nothing_into_what_was_asked),
        cmocka_unit_test(refuses_what_grows_without_end),
        cmocka_unit_test(refuses_what_exec_would_not_carry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
