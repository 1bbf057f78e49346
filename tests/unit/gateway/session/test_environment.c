/* Which variables a client may set, and what is said of those that it may not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "session/environment.h"

static char *allowed[] = {"LANG", "PATH"};
static const struct params params = {
    .allowed_envs = {allowed, 2}, .kernel_env_bytes = 100, .kernel_env_value_bytes = 40};

static int read_json(const char *json, enum environment_rule rule, struct text *environment,
                     int64_t *timeout_ms, struct err *err) {
    json_t *env = json_loads(json, JSON_DECODE_ANY, NULL), *merged = json_object();
    assert_non_null(env);
    int result = environment_merge(&params, env, rule, merged, err);
    if (result == 0)
        result = environment_write(&params, merged, environment, timeout_ms, err);
    json_decref(env);
    json_decref(merged);
    return result;
}

/* What a client's env and a kernelspec's come to, with '|' for each NUL. */
static void expect(const char *json, enum environment_rule rule, const char *expected) {
    struct text environment = {0};
    int64_t timeout_ms = -1;
    struct err err = {0};
    if (read_json(json, rule, &environment, &timeout_ms, &err) < 0)
        fail_msg("%s: %s", json, err.text);
    for (size_t j = 0; j < environment.size; j++)
        if (!environment.data[j])
            environment.data[j] = '|';
    assert_string_equal(environment.data ? environment.data : "", expected);
    assert_int_equal(timeout_ms, -1);
    text_finish(&environment);
}

static void keeps_what_is_allowed(void **state) {
    (void)state;
    static const struct {
        const char *json, *expected; /* strings end in '|' instead of a NUL */
    } rows[] = {
        {"{}", ""},
        {"{\"KERNEL_A\":\"1\",\"HOME\":\"/root\",\"LANG\":\"C\"}", "KERNEL_A=1|LANG=C|"},
        {"{\"LD_PRELOAD\":\"x\",\"kernel_a\":\"x\",\"KERNEL\":\"x\"}", ""},
        {"{\"HOME\":7,\"a b\":null}", ""}, /* left out whatever they are */
        {"{\"KERNEL_\":\"\"}", "KERNEL_=|"},
        {"{\"KERNEL_A\":\"a=b \\n\\u00e9\"}", "KERNEL_A=a=b \n\xc3\xa9|"},
        {"{\"KERNEL_ID\":\"theirs\",\"KERNEL_B\":\"2\"}", "KERNEL_B=2|"},
        {"{\"KERNEL_GATEWAY\":\"theirs\",\"KERNEL_B\":\"2\"}", "KERNEL_B=2|"},
        {"{\"KERNEL_CELLBLOCK\":\"{}\",\"KERNEL_B\":\"2\"}", "KERNEL_B=2|"},
        {"{\"PATHS\":\"x\",\"PATH\":\"/bin\"}", "PATH=/bin|"},
        {"{\"KERNEL_V\":\"0123456789012345678901234567890123456789\"}",
         "KERNEL_V=0123456789012345678901234567890123456789|"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect(rows[i].json, ENVIRONMENT_PICK, rows[i].expected);
    assert_int_equal(mem_live(), 0);
}

static void keeps_all_that_an_operator_sets(void **state) {
    (void)state;
    expect("{\"HOME\":\"/x\",\"LD_PRELOAD\":\"y\"}", ENVIRONMENT_TRUST, "HOME=/x|LD_PRELOAD=y|");
}

static void puts_later_over_earlier(void **state) {
    (void)state;
    json_t *merged = json_object();
    struct text environment = {0};
    static const char *const layers[] = {"{\"KERNEL_A\":\"1\",\"KERNEL_B\":\"1\"}",
                                         "{\"KERNEL_B\":\"2\",\"LANG\":\"C\"}"};
    for (size_t i = 0; i < 2; i++) {
        json_t *env = json_loads(layers[i], 0, NULL);
        assert_int_equal(environment_merge(&params, env, ENVIRONMENT_CHECK, merged, NULL), 0);
        json_decref(env);
    }
    assert_int_equal(environment_write(&params, merged, &environment, NULL, NULL), 0);
    assert_memory_equal(environment.data, "KERNEL_A=1\0KERNEL_B=2\0LANG=C", environment.size);
    text_finish(&environment);
    json_decref(merged);
    assert_int_equal(mem_live(), 0);
}

/* Who writes session parameters wants to know; who sends Jupyter's env sends all it has. */
static void says_what_it_does_not_take(void **state) {
    (void)state;
    static const struct {
        const char *json;
        enum environment_rule rule;
        const char *words;
    } rows[] = {
        {"{\"HOME\":\"/x\"}", ENVIRONMENT_CHECK, "/env/HOME is not among allowed_envs"},
        {"{\"KERNEL_ID\":\"x\"}", ENVIRONMENT_CHECK, "/env/KERNEL_ID is not for you to set"},
        {"{\"KERNEL_CELLBLOCK\":\"{}\"}", ENVIRONMENT_CHECK, "/env/KERNEL_CELLBLOCK is not for"},
        {"{\"KERNEL_CELLBLOCK\":\"{}\"}", ENVIRONMENT_TRUST, "/env/KERNEL_CELLBLOCK is not for"},
        {"{\"A B\":\"x\"}", ENVIRONMENT_TRUST, "/env/A B is not a name"},
        {"null", ENVIRONMENT_CHECK, "/env is not an object"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct text environment = {0};
        struct err err;
        assert_int_equal(read_json(rows[i].json, rows[i].rule, &environment, NULL, &err), -EINVAL);
        if (!strstr(err.text, rows[i].words))
            fail_msg("%s: %s", rows[i].json, err.text);
        text_finish(&environment);
    }
    assert_int_equal(mem_live(), 0);
}

static void refuses_the_rest_by_name(void **state) {
    (void)state;
    static const struct {
        const char *json, *words;
    } rows[] = {
        {"[]", "env is not an object"},
        {"\"KERNEL_A=1\"", "env is not an object"},
        {"7", "env is not an object"},
        {"{\"KERNEL_A\":7}", "KERNEL_A is not a string"},
        {"{\"KERNEL_A\":null}", "KERNEL_A is not a string"},
        {"{\"KERNEL_A B\":\"x\"}", "KERNEL_A B is not a name"},
        {"{\"KERNEL_A=B\":\"x\"}", "KERNEL_A=B is not a name"},
        {"{\"KERNEL_\\n\":\"x\"}", "is not a name"},
        {"{\"KERNEL_\\u00e9\":\"x\"}", "is not a name"},
        {"{\"KERNEL_V\":\"01234567890123456789012345678901234567890\"}",
         "KERNEL_V has 41 bytes, kernel_env_value_bytes allows 40"},
        {"{\"KERNEL_A\":\"0123456789012345678901234567890123456789\",\"KERNEL_B\":"
         "\"0123456789012345678901234567890123456789\",\"KERNEL_C\":\"\"}",
         "more than 100 bytes (kernel_env_bytes)"},
        {"{\"KERNEL_LAUNCH_TIMEOUT\":\"\"}", "KERNEL_LAUNCH_TIMEOUT"},
        {"{\"KERNEL_LAUNCH_TIMEOUT\":\"soon\"}", "KERNEL_LAUNCH_TIMEOUT"},
        {"{\"KERNEL_LAUNCH_TIMEOUT\":\"3 s\"}", "KERNEL_LAUNCH_TIMEOUT"},
        {"{\"KERNEL_LAUNCH_TIMEOUT\":\"0\"}", "KERNEL_LAUNCH_TIMEOUT"},
        {"{\"KERNEL_LAUNCH_TIMEOUT\":\"-1\"}", "KERNEL_LAUNCH_TIMEOUT"},
        {"{\"KERNEL_LAUNCH_TIMEOUT\":\"3601\"}", "KERNEL_LAUNCH_TIMEOUT"},
        {"{\"KERNEL_LAUNCH_TIMEOUT\":\"1e99\"}", "KERNEL_LAUNCH_TIMEOUT"},
        {"{\"KERNEL_LAUNCH_TIMEOUT\":\"inf\"}", "KERNEL_LAUNCH_TIMEOUT"},
        {"{\"KERNEL_LAUNCH_TIMEOUT\":\"nan\"}", "KERNEL_LAUNCH_TIMEOUT"},
        {"{\"KERNEL_LAUNCH_TIMEOUT\":null}", "KERNEL_LAUNCH_TIMEOUT is not a string"},
        {"{\"KERNEL_LAUNCH_TIMEOUT\":3601}", "KERNEL_LAUNCH_TIMEOUT"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct text environment = {0};
        int64_t timeout_ms = -1;
        struct err err;
        assert_int_equal(read_json(rows[i].json, ENVIRONMENT_PICK, &environment, &timeout_ms, &err),
                         -EINVAL);
        if (!strstr(err.text, rows[i].words))
            fail_msg("%s: %s", rows[i].json, err.text);
        assert_int_equal(timeout_ms, -1);
        text_finish(&environment);
    }
    assert_int_equal(mem_live(), 0);
}

static void reads_the_launch_timeout(void **state) {
    (void)state;
    static const struct {
        const char *seconds; /* as a text and, where JSON has it so, as a number */
        int64_t least_ms, most_ms;
    } rows[] = {
        {"40", 40000, 40000},
        {"0.5", 500, 500},
        {"3600", 3600000, 3600000},
        {"0.0005", 1, 1},
    };
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        struct text environment = {0};
        char json[64];
        int64_t timeout_ms = 0;
        struct err err;
        const char *quote = i % 2 ? "" : "\"";
        snprintf(json, sizeof json, "{\"KERNEL_LAUNCH_TIMEOUT\":%s%s%s}", quote,
                 rows[i / 2].seconds, quote);
        assert_int_equal(read_json(json, ENVIRONMENT_PICK, &environment, &timeout_ms, &err), 0);
        assert_in_range(timeout_ms, rows[i / 2].least_ms, rows[i / 2].most_ms);
        assert_non_null(strstr(environment.data, rows[i / 2].seconds)); /* the kernel gets it too */
        text_finish(&environment);
    }
    assert_int_equal(mem_live(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_what_is_allowed),
        cmocka_unit_test(keeps_all_that_an_operator_sets),
        cmocka_unit_test(puts_later_over_earlier),
        cmocka_unit_test(says_what_it_does_not_take),
        cmocka_unit_test(refuses_the_rest_by_name),
        cmocka_unit_test(reads_the_launch_timeout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
