#include "session/environment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "config/table.h"

static const char launch_timeout[] = "KERNEL_LAUNCH_TIMEOUT";

static bool is_allowed(const struct params *params, const char *name) {
    if (strncmp(name, "KERNEL_", 7) == 0)
        return true;
    for (size_t i = 0; i < params->allowed_envs.count; i++)
        if (strcmp(params->allowed_envs.items[i], name) == 0)
            return true;
    return false;
}

/* What the gateway itself says to the kernel, what is said to the gateway, and a name that
 * Jupyter's gateways keep for themselves: code tells by it that it runs behind one. */
static bool is_ours(const char *name) {
    static const char *const names[] = {"KERNEL_ID", "KERNEL_GATEWAY", "KERNEL_CELLBLOCK"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* POSIX.1-2017 8.1: letters, digits and underscores, not beginning with a digit. */
static bool is_name(const char *name) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    return *name && strspn(name, letters) == strlen(name) && !(*name >= '0' && *name <= '9');
}

/* Enterprise Gateway's client sends its timeout as a number; everything else is a text. */
static json_t *text_of(const char *name, json_t *value) {
    if (!json_is_number(value) || strcmp(name, launch_timeout) != 0)
        return json_incref(value);
    cleanup_mem char *text = mem_format("%.15g", json_number_value(value));
    return json_string(text);
}

static int check(const struct params *params, const char *name, const json_t *value,
                 struct err *err) {
    if (!is_name(name))
        return err_set(err, EINVAL, "/env/%.80s is not a name of a variable", name);
    if (!json_is_string(value))
        return err_set(err, EINVAL, "/env/%.80s is not a string", name);
    size_t size = json_string_length(value);
    if (strlen(json_string_value(value)) != size)
        return err_set(err, EINVAL, "/env/%.80s holds a NUL", name);
    if (size > params->kernel_env_value_bytes)
        return err_set(err, EINVAL, "/env/%.80s has %zu bytes, kernel_env_value_bytes allows %llu",
                       name, size, (unsigned long long)params->kernel_env_value_bytes);
    return 0;
}

int environment_merge(const struct params *params, const json_t *env, enum environment_rule rule,
                      json_t *into, struct err *err) {
    if (!json_is_object(env))
        return err_set(err, EINVAL, "/env is not an object");
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)env, name, value) {
        bool is_good = rule == ENVIRONMENT_TRUST || is_allowed(params, name);
        if (rule == ENVIRONMENT_PICK && (!is_good || strcmp(name, "KERNEL_CELLBLOCK") == 0))
            continue;
        if (!is_good)
            return err_set(err, EINVAL, "/env/%.80s is not among allowed_envs", name);
        if (rule != ENVIRONMENT_PICK && is_ours(name))
            return err_set(err, EINVAL, "/env/%.80s is not for you to set", name);
        json_t *text = text_of(name, value);
        int result = check(params, name, text, err);
        if (result == 0 && !is_ours(name))
            json_object_set(into, name, text);
        json_decref(text);
        if (result < 0)
            return result;
    }
    return 0;
}

static int read_timeout(const char *value, int64_t *ret_ms, struct err *err) {
    char *end;
    double seconds = strtod(value, &end);
    double most = (double)param_find("launch_timeout_ms")->maximum / 1000;
    if (*end || end == value || !(seconds > 0 && seconds <= most))
        return err_set(err, EINVAL, "/env/%s is not a number of seconds up to %.15g",
                       launch_timeout, most);
    int64_t ms = (int64_t)(seconds * 1000);
    *ret_ms = ms ? ms : 1; /* 0 would mean none */
    return 0;
}

int environment_write(const struct params *params, const json_t *env, struct text *ret_environment,
                      int64_t *ret_launch_timeout_ms, struct err *err) {
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)env, name, value) {
        text_append_format(ret_environment, "%s=%s", name, json_string_value(value));
        text_append(ret_environment, slice_make("", 1));
        if (ret_environment->size > params->kernel_env_bytes)
            return err_set(err, EINVAL, "/env has more than %llu bytes (kernel_env_bytes)",
                           (unsigned long long)params->kernel_env_bytes);
    }
    const json_t *timeout = json_object_get(env, launch_timeout);
    return timeout ? read_timeout(json_string_value(timeout), ret_launch_timeout_ms, err) : 0;
}
