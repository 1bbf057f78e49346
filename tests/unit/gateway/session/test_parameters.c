/* The schema of session parameters: every key, every refusal, and who wins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "session/parameters.h"

static const struct params params = {.memory_bytes = 512 << 20,
                                     .max_memory_bytes = 3ULL << 30,
                                     .pids = 256,
                                     .max_pids = 256,
                                     .open_files = 1024,
                                     .max_open_files = 2048,
                                     .workspace_bytes = 256 << 20,
                                     .max_workspace_bytes = 256 << 20,
                                     .workspace_inodes = 20000,
                                     .max_workspace_inodes = 20000,
                                     .kernel_env_bytes = 100,
                                     .kernel_env_value_bytes = 40,
                                     .session_label_bytes = 20,
                                     .cull_idle_timeout_ms = 3600000,
                                     .max_cull_idle_timeout_ms = 7200000};
static const struct data_names data = {.names = {[0] = "sets", [5] = "books", [63] = "last"}};
static const struct parameters_context context = {&params, &data};

static int read_text(const char *text, enum parameters_giver giver, struct parameters *parameters,
                     struct err *err) {
    json_error_t problem;
    json_t *value = json_loads(text, JSON_DECODE_ANY, &problem);
    if (!value)
        fail_msg("%s: %s", text, problem.text);
    int result = parameters_read(&context, value, giver, parameters, err);
    json_decref(value);
    return result;
}

static void read_good(const char *text, enum parameters_giver giver,
                      struct parameters *parameters) {
    struct err err;
    if (read_text(text, giver, parameters, &err) < 0)
        fail_msg("%s: %s", text, err.text);
}

static void reads_every_key(void **state) {
    (void)state;
    struct parameters got;
    parameters_init(&got);
    read_good(
        "{\"kernel\":\"r\",\"env\":{\"KERNEL_A\":\"1\"},\"limits\":{\"memory_bytes\":1073741824,"
        "\"cpus\":0.5,\"pids\":64,\"open_files\":2048,\"workspace_bytes\":1048576,"
        "\"workspace_inodes\":100},\"data\":[\"last\",\"sets\",\"sets\"],\"labels\":{\"a\":\"b\"}}",
        GIVER_CLIENT, &got);
    assert_int_equal(got.limits.memory_bytes, 1 << 30);
    assert_int_equal(got.limits.cpus_milli, 500);
    assert_int_equal(got.limits.pids, 64);
    assert_int_equal(got.limits.open_files, 2048);
    assert_int_equal(got.limits.workspace_bytes, 1 << 20);
    assert_int_equal(got.limits.workspace_inodes, 100);
    assert_true(got.data_mask == ((uint64_t)1 << 63 | 1));
    assert_string_equal(json_string_value(json_object_get(got.env, "KERNEL_A")), "1");
    assert_string_equal(json_string_value(json_object_get(got.labels, "a")), "b");
    parameters_finish(&got);
    assert_int_equal(mem_live(), 0);
}

static void takes_numbers_as_people_write_them(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t cpus_milli, memory_bytes;
    } rows[] = {
        {"{\"limits\":{\"cpus\":2}}", 2000, 0},
        {"{\"limits\":{\"cpus\":0.01}}", 10, 0},
        {"{\"limits\":{\"cpus\":0.3333}}", 333, 0},
        {"{\"limits\":{\"cpus\":1024}}", 1024000, 0},
        {"{\"limits\":{\"memory_bytes\":3e9}}", 0, 3000000000},
        {"{\"limits\":{\"memory_bytes\":67108864.0}}", 0, 67108864},
        {"{\"limits\":{\"memory_bytes\":3221225472}}", 0, 3221225472},
        {"{\"limits\":{}}", 0, 0},
        {"{}", 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct parameters got;
        parameters_init(&got);
        read_good(rows[i].text, GIVER_CLIENT, &got);
        assert_int_equal(got.limits.cpus_milli, rows[i].cpus_milli);
        assert_int_equal(got.limits.memory_bytes, rows[i].memory_bytes);
        parameters_finish(&got);
    }
}

static const struct refusal {
    const char *text;
    enum parameters_giver giver;
    int code;
    const char *sentence;
} refusals[] = {
    {"7", GIVER_CLIENT, EINVAL, "the session parameters are not an object"},
    {"null", GIVER_CLIENT, EINVAL, "the session parameters are not an object"},
    {"{\"memory\":1}", GIVER_CLIENT, ENOKEY, "/memory is no parameter that there is"},
    {"{\"\":1}", GIVER_CLIENT, ENOKEY, "/ is no parameter that there is"},
    {"{\"a/b~c\":1}", GIVER_CLIENT, ENOKEY, "/a~1b~0c is no parameter that there is"},
    {"{\"limits\":{\"memroy_bytes\":1}}", GIVER_CLIENT, ENOKEY,
     "/limits/memroy_bytes is no limit that there is"},
    {"{\"limits\":{\"max_memory_bytes\":1}}", GIVER_CLIENT, ENOKEY, "/limits/max_memory_bytes"},
    {"{\"limits\":{\"cpus_milli\":1}}", GIVER_CLIENT, ENOKEY, "/limits/cpus_milli is no limit"},
    {"{\"limits\":[]}", GIVER_CLIENT, EINVAL, "/limits is not an object"},
    {"{\"limits\":{\"pids\":\"64\"}}", GIVER_CLIENT, EINVAL, "/limits/pids is not a number"},
    {"{\"limits\":{\"pids\":null}}", GIVER_CLIENT, EINVAL, "/limits/pids is not a number"},
    {"{\"limits\":{\"pids\":true}}", GIVER_CLIENT, EINVAL, "/limits/pids is not a number"},
    {"{\"limits\":{\"pids\":64.5}}", GIVER_CLIENT, EINVAL, "/limits/pids is not a whole number"},
    {"{\"limits\":{\"pids\":15}}", GIVER_CLIENT, ERANGE, "/limits/pids: 15 is less than 16"},
    {"{\"limits\":{\"pids\":-1}}", GIVER_CLIENT, ERANGE, "/limits/pids: -1 is less than 16"},
    {"{\"limits\":{\"pids\":257}}", GIVER_CLIENT, ERANGE,
     "/limits/pids: 257 is more than 256, which max_pids allows"},
    {"{\"limits\":{\"memory_bytes\":3221225473}}", GIVER_CLIENT, ERANGE,
     "/limits/memory_bytes: 3221225473 is more than 3221225472, which max_memory_bytes allows"},
    {"{\"limits\":{\"memory_bytes\":9223372036854775807}}", GIVER_CLIENT, ERANGE, "max_memory"},
    {"{\"limits\":{\"memory_bytes\":1e300}}", GIVER_CLIENT, ERANGE, "1e+300 is more than"},
    {"{\"limits\":{\"memory_bytes\":3221225473}}", GIVER_KERNELSPEC, ERANGE, "max_memory_bytes"},
    {"{\"limits\":{\"cpus\":0}}", GIVER_CLIENT, ERANGE, "/limits/cpus: 0 is less than 0.01"},
    {"{\"limits\":{\"cpus\":1025}}", GIVER_CLIENT, ERANGE, "/limits/cpus: 1025 is more than 1024"},
    {"{\"limits\":{\"cpu_s\":1}}", GIVER_CLIENT, ENOTSUP, "/limits/cpu_s is not available"},
    {"{\"limits\":{\"wall_s\":1}}", GIVER_CLIENT, ENOTSUP, "/limits/wall_s is not available"},
    {"{\"limits\":{\"output_bytes\":1}}", GIVER_CLIENT, ENOTSUP, "/limits/output_bytes is not"},
    {"{\"limits\":{\"session_output_bytes\":1}}", GIVER_CLIENT, ENOTSUP,
     "/limits/session_output_bytes is not"},
    {"{\"limits\":{\"queued\":1}}", GIVER_CLIENT, ENOTSUP, "/limits/queued is not available"},
    {"{\"idle_s\":\"60\"}", GIVER_CLIENT, EINVAL, "/idle_s is not a number"},
    {"{\"idle_s\":null}", GIVER_CLIENT, EINVAL, "/idle_s is not a number"},
    {"{\"idle_s\":0}", GIVER_CLIENT, ERANGE, "/idle_s: 0 is less than 0.001, the least"},
    {"{\"idle_s\":-1}", GIVER_KERNELSPEC, ERANGE, "/idle_s: -1 is less than 0.001"},
    {"{\"idle_s\":1e300}", GIVER_CLIENT, ERANGE, "/idle_s: 1e+300 is more than 7200"},
    {"{\"idle_s\":7200.5}", GIVER_CLIENT, ERANGE,
     "/idle_s: 7200.5 is more than 7200, which max_cull_idle_timeout_ms allows"},
    {"{\"life_s\":1}", GIVER_KERNELSPEC, ENOTSUP, "/life_s is not available in this version"},
    {"{\"egress\":[]}", GIVER_CLIENT, ENOTSUP, "/egress is not available"},
    {"{\"kernel\":7}", GIVER_CLIENT, EINVAL, "/kernel is not a name"},
    {"{\"kernel\":\"\"}", GIVER_CLIENT, EINVAL, "/kernel is not a name"},
    {"{\"kernel\":\"a\"}", GIVER_KERNELSPEC, ENOKEY, "/kernel does not stand in kernelspecs"},
    {"{\"trees\":[]}", GIVER_CLIENT, ENOKEY, "/trees stands only in kernelspecs"},
    {"{\"trees\":{}}", GIVER_KERNELSPEC, EINVAL, "/trees is not a list of paths"},
    {"{\"transport\":\"ipc\"}", GIVER_CLIENT, ENOKEY, "/transport stands only in kernelspecs"},
    {"{\"transport\":\"udp\"}", GIVER_KERNELSPEC, EINVAL, "/transport is neither ipc nor tcp"},
    {"{\"transport\":\"tcp\"}", GIVER_CLIENT, ENOKEY, "/transport stands only in kernelspecs"},
    {"{\"transport\":7}", GIVER_KERNELSPEC, EINVAL, "/transport is neither ipc nor tcp"},
    {"{\"env\":[]}", GIVER_CLIENT, EINVAL, "/env is not an object"},
    {"{\"env\":{\"HOME\":\"/x\"}}", GIVER_CLIENT, EINVAL, "/env/HOME is not among allowed_envs"},
    {"{\"env\":{\"KERNEL_A\":1}}", GIVER_CLIENT, EINVAL, "/env/KERNEL_A is not a string"},
    {"{\"env\":{\"HOME\":1}}", GIVER_KERNELSPEC, EINVAL, "/env/HOME is not a string"},
    {"{\"data\":\"sets\"}", GIVER_CLIENT, EINVAL, "/data is not a list"},
    {"{\"data\":[7]}", GIVER_CLIENT, EINVAL, "/data/0 is not a name"},
    {"{\"data\":[\"sets\",\"none\"]}", GIVER_CLIENT, ENOENT,
     "/data/1: there is no data folder named none"},
    {"{\"data\":[\"\"]}", GIVER_CLIENT, ENOENT, "/data/0: there is no data folder named "},
    {"{\"labels\":[]}", GIVER_CLIENT, EINVAL, "/labels is not an object"},
    {"{\"labels\":{\"a\":1}}", GIVER_CLIENT, EINVAL, "/labels/a is not a string"},
    {"{\"labels\":{\"a\":\"12345678901234567890\"}}", GIVER_CLIENT, ERANGE,
     "/labels has 21 bytes, session_label_bytes allows 20"},
};

static void refuses_the_rest_by_its_pointer(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        const struct refusal *row = &refusals[i];
        struct parameters got;
        struct err err = {0};
        parameters_init(&got);
        int result = read_text(row->text, row->giver, &got, &err);
        if (result != -row->code || !strstr(err.text, row->sentence))
            fail_msg("%s: %d %s", row->text, result, err.text);
        parameters_finish(&got);
    }
    assert_int_equal(mem_live(), 0);
}

static void each_mistake_has_a_word(void **state) {
    (void)state;
    assert_string_equal(parameters_error_word(ENOKEY), "unknown_parameter");
    assert_string_equal(parameters_error_word(ENOTSUP), "not_available");
    assert_string_equal(parameters_error_word(ERANGE), "out_of_range");
    assert_string_equal(parameters_error_word(ENOENT), "data_folder_not_found");
    assert_string_equal(parameters_error_word(EINVAL), "invalid_parameter");
}

/* Limits, variables and labels each for themselves, a list of folders as a whole. */
static void later_wins_per_key(void **state) {
    (void)state;
    struct parameters got;
    parameters_init(&got);
    read_good("{\"limits\":{\"pids\":50,\"open_files\":100},\"data\":[\"books\"],\"env\":{\"HOME\":"
              "\"/x\","
              "\"KERNEL_A\":\"1\"},\"labels\":{\"a\":\"1\",\"b\":\"1\"}}",
              GIVER_KERNELSPEC, &got);
    read_good(
        "{\"limits\":{\"open_files\":200},\"env\":{\"KERNEL_A\":\"2\"},\"labels\":{\"b\":\"2\"}}",
        GIVER_CLIENT, &got);
    assert_int_equal(got.data_mask, 1 << 5);
    read_good("{\"data\":[]}", GIVER_CLIENT, &got);
    assert_int_equal(got.limits.pids, 50);
    assert_int_equal(got.limits.open_files, 200);
    assert_int_equal(got.data_mask, 0);
    assert_string_equal(json_string_value(json_object_get(got.env, "HOME")), "/x");
    assert_string_equal(json_string_value(json_object_get(got.env, "KERNEL_A")), "2");
    assert_string_equal(json_string_value(json_object_get(got.labels, "a")), "1");
    assert_string_equal(json_string_value(json_object_get(got.labels, "b")), "2");
    struct rpc_limits limits = parameters_limits(&context, &got);
    assert_int_equal(limits.memory_bytes, 512 << 20);
    assert_int_equal(limits.cpus_milli, 0);
    assert_int_equal(limits.pids, 50);
    parameters_finish(&got);
}

static void shows_what_holds(void **state) {
    (void)state;
    struct parameters got;
    parameters_init(&got);
    read_good("{\"limits\":{\"cpus\":1.5},\"data\":[\"books\",\"sets\"],\"labels\":{\"a\":\"b\"}}",
              GIVER_CLIENT, &got);
    json_t *shown = parameters_show(&context, &got);
    char *text = json_dumps(shown, JSON_COMPACT);
    assert_string_equal(text, "{\"limits\":{\"memory_bytes\":536870912,\"cpus\":1.5,\"pids\":256,"
                              "\"open_files\":1024,\"workspace_bytes\":268435456,"
                              "\"workspace_inodes\":20000},\"idle_s\":3600,"
                              "\"data\":[\"sets\",\"books\"],"
                              "\"labels\":{\"a\":\"b\"}}");
    free(text);
    json_decref(shown);
    parameters_finish(&got);
}

/* Jupyter's own key for it in a kernelspec, ours beside it, and a client's. */
static void reads_how_long_it_may_be_idle(void **state) {
    (void)state;
    static const struct {
        const char *metadata, *client;
        int64_t idle_ms;
    } rows[] = {
        {"{}", "{}", 3600000},
        {"{\"cull_idle_timeout\":60}", "{}", 60000},
        {"{\"cull_idle_timeout\":60,\"cellblock\":{\"idle_s\":7200}}", "{}", 7200000},
        {"{\"cull_idle_timeout\":7200}", "{\"idle_s\":0.5}", 500},
        {"{\"cellblock\":{\"idle_s\":1}}", "{\"idle_s\":7200}", 7200000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct parameters got;
        struct err err;
        json_t *metadata = json_loads(rows[i].metadata, 0, NULL);
        parameters_init(&got);
        assert_int_equal(parameters_read_metadata(&context, metadata, &got, &err), 0);
        read_good(rows[i].client, GIVER_CLIENT, &got);
        assert_int_equal(parameters_idle_ms(&context, &got), rows[i].idle_ms);
        parameters_finish(&got);
        json_decref(metadata);
    }
    assert_int_equal(mem_live(), 0);
}

static void names_the_kernel(void **state) {
    (void)state;
    static const struct {
        const char *text, *kernel;
    } rows[] = {{"{\"kernel\":\"r\"}", "r"},
                {"{\"kernel\":\"\"}", NULL},
                {"{\"kernel\":7}", NULL},
                {"{}", NULL},
                {"[]", NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *value = json_loads(rows[i].text, JSON_DECODE_ANY, NULL);
        const char *kernel = parameters_kernel(value);
        if (rows[i].kernel)
            assert_string_equal(kernel, rows[i].kernel);
        else
            assert_null(kernel);
        json_decref(value);
    }
    assert_null(parameters_kernel(NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_key),
        cmocka_unit_test(takes_numbers_as_people_write_them),
        cmocka_unit_test(refuses_the_rest_by_its_pointer),
        cmocka_unit_test(each_mistake_has_a_word),
        cmocka_unit_test(later_wins_per_key),
        cmocka_unit_test(shows_what_holds),
        cmocka_unit_test(reads_how_long_it_may_be_idle),
        cmocka_unit_test(names_the_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
