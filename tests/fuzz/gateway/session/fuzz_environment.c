/* fuzz_environment - variables that a client, or a kernelspec, gives its kernel. Input: a byte that
 * chooses the rule, then two JSON objects with a line end between them, of which the second is put
 * over the first. What the warden is told has names, no NUL and no more than the limits allow, and
 * nothing that a client may not set. */
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "session/environment.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *allowed[] = {"LANG", "A"};
static const struct params params = {
    .allowed_envs = {allowed, 2}, .kernel_env_bytes = 200, .kernel_env_value_bytes = 40};

static bool may_be_set(const char *name, size_t size) {
    if (size == 9 && memcmp(name, "KERNEL_ID", 9) == 0)
        return false;
    return (size >= 7 && memcmp(name, "KERNEL_", 7) == 0) ||
           (size == 4 && memcmp(name, "LANG", 4) == 0) || (size == 1 && *name == 'A');
}

static void check_written(struct slice environment, enum environment_rule rule) {
    assert(environment.size == 0 || environment.data[environment.size - 1] == 0);
    for (size_t at = 0; at < environment.size;) {
        const char *item = (const char *)environment.data + at, *equals = strchr(item, '=');
        assert(equals && equals > item && !(*item >= '0' && *item <= '9'));
        assert(strlen(equals + 1) <= params.kernel_env_value_bytes);
        assert(rule == ENVIRONMENT_TRUST || may_be_set(item, (size_t)(equals - item)));
        assert(strncmp(item, "KERNEL_CELLBLOCK=", 17) != 0);
        at += strlen(item) + 1;
    }
}

static void check_write(const json_t *env, enum environment_rule rule) {
    cleanup_text struct text environment = {0};
    int64_t timeout_ms = -1;
    struct err err = {0};
    int result = environment_write(&params, env, &environment, &timeout_ms, &err);
    assert(result == 0 || (result == -EINVAL && strncmp(err.text, "/env", 4) == 0));
    if (result < 0)
        return;
    assert(environment.size <= params.kernel_env_bytes);
    assert(timeout_ms == -1 || (timeout_ms > 0 && timeout_ms <= 3600001));
    check_written(text_slice(&environment), rule);
}

static int merge(struct slice json, enum environment_rule rule, json_t *into) {
    json_t *env =
        json_loadb((const char *)json.data, json.size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    struct err err = {0};
    int result = environment_merge(&params, env, rule, into, &err);
    assert(result == 0 || (result == -EINVAL && strncmp(err.text, "/env", 4) == 0));
    json_decref(env);
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    enum environment_rule rule = data[0] % 3;
    struct slice first = slice_make(data + 1, size - 1), second = {0};
    const uint8_t *end = first.size ? memchr(first.data, '\n', first.size) : NULL;
    if (end) {
        second = slice_from(first, (size_t)(end - first.data) + 1);
        first.size = (size_t)(end - first.data);
    }
    json_t *into = json_object();
    if (merge(first, rule, into) == 0 && (!end || merge(second, rule, into) == 0))
        check_write(into, rule);
    json_decref(into);
    return 0;
}
