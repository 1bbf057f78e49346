/* fuzz_parameters - session parameters that a stranger wrote. Input: a byte whose first bits say
 * who gives them, and whether they stand in a kernelspec's metadata, then JSON. What is taken stays
 * within the limits and reads back from what is shown; what is refused has a pointer and a word. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "session/environment.h"
#include "session/parameters.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *allowed[] = {"LANG"};
static const struct params params = {.memory_bytes = 512 << 20,
                                     .max_memory_bytes = 1024 << 20,
                                     .pids = 256,
                                     .max_pids = 512,
                                     .open_files = 1024,
                                     .max_open_files = 1024,
                                     .workspace_bytes = 256 << 20,
                                     .max_workspace_bytes = 256 << 20,
                                     .workspace_inodes = 20000,
                                     .max_workspace_inodes = 20000,
                                     .allowed_envs = {allowed, 1},
                                     .kernel_env_bytes = 200,
                                     .kernel_env_value_bytes = 100,
                                     .session_label_bytes = 100,
                                     .cull_idle_timeout_ms = 3600000,
                                     .max_cull_idle_timeout_ms = 7200000};
static const struct data_names names = {.names = {[0] = "sets", [63] = "books"}};
static const struct parameters_context context = {&params, &names};

static void check_limits(const struct parameters *parameters) {
    struct rpc_limits limits = parameters_limits(&context, parameters);
    assert(limits.cpus_milli == 0 || limits.cpus_milli >= 10); /* 0: not given, all there is */
#define LIMIT(name, key, scale, least)                                                             \
    assert(!params.max_##name || limits.name <= params.max_##name);
#include "config/limits.def"
    assert(parameters->idle_ms >= 0 && parameters->idle_ms <= params.max_cull_idle_timeout_ms);
    assert((parameters->data_mask & ~((uint64_t)1 << 63 | 1)) == 0);
}

static void check_environment(const struct parameters *parameters) {
    cleanup_text struct text environment = {0};
    int64_t timeout_ms = 0;
    struct err err;
    assert(!json_object_get(parameters->env, "KERNEL_CELLBLOCK"));
    if (environment_write(&params, parameters->env, &environment, &timeout_ms, &err) == 0) {
        assert(environment.size <= params.kernel_env_bytes);
        assert(timeout_ms >= 0 && timeout_ms <= 3600001);
    }
}

/* What a client is shown, it may ask for. */
static void check_shown(const struct parameters *parameters) {
    json_t *shown = parameters_show(&context, parameters);
    struct parameters again;
    struct err err;
    parameters_init(&again);
    int result = parameters_read(&context, shown, GIVER_CLIENT, &again, &err);
    assert(result == 0 && again.data_mask == parameters->data_mask);
    assert(json_equal(again.labels, parameters->labels));
    (void)result;
    parameters_finish(&again);
    json_decref(shown);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    json_t *value = json_loadb((const char *)data + 1, size - 1, JSON_DECODE_ANY, NULL);
    if (!value)
        return 0;
    struct parameters parameters;
    struct err err = {0};
    enum parameters_giver giver = data[0] & 1 ? GIVER_KERNELSPEC : GIVER_CLIENT;
    bool is_metadata = data[0] & 2;
    parameters_init(&parameters);
    int result = is_metadata ? parameters_read_metadata(&context, value, &parameters, &err)
                             : parameters_read(&context, value, giver, &parameters, &err);
    if (result == 0) {
        check_limits(&parameters);
        check_environment(&parameters);
        check_shown(&parameters);
    } else {
        assert(err.code && (err.text[0] == '/' || is_metadata || !json_is_object(value)));
        assert(*parameters_error_word(err.code));
    }
    parameters_finish(&parameters);
    json_decref(value);
    return 0;
}
