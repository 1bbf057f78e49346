/* Kernelspecs from files that an operator, or nobody with care, wrote. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "session/specs.h"

#define WITH(parameters)                                                                           \
    "{\"argv\":[\"a\"],\"display_name\":\"A\",\"language\":\"l\",\"metadata\":{"                   \
    "\"cellblock\":" parameters "}}"
#define GOOD "{\"argv\":[\"a\"],\"display_name\":\"A\",\"language\":\"l\"}"

static struct rpc_packet packet; /* 64 KiB */
static const struct params params = {.memory_bytes = 512 << 20,
                                     .max_memory_bytes = 1024 << 20,
                                     .kernel_env_bytes = 100,
                                     .kernel_env_value_bytes = 100,
                                     .session_label_bytes = 100};
static const struct data_names data = {.names = {"sets"}};
static const struct parameters_context context = {&params, &data};

static int make_file(const void *content, size_t size) {
    int fd = memfd_create("test", MFD_CLOEXEC);
    assert_int_equal(write(fd, content, size), (ssize_t)size);
    return fd;
}

/* A packet of this name whose kernel.json holds content; files are appended to it. */
static void prepare(const char *name, uint32_t number, uint32_t generation, const char *content) {
    packet = (struct rpc_packet){0};
    packet.spec =
        (struct rpc_spec){.head = {RPC_SPEC, 0}, .spec = number, .generation = generation};
    snprintf(packet.spec.name, sizeof packet.spec.name, "%s", name);
    packet.fds[packet.fd_count++] = make_file(content, strlen(content));
    snprintf(packet.spec.files[0], 64, "kernel.json");
}

static void append_file(const char *name, const void *content, size_t size) {
    snprintf(packet.spec.files[packet.fd_count], 64, "%s", name);
    packet.fds[packet.fd_count++] = make_file(content, size);
}

static int add(struct specs *specs, struct err *err) {
    int result = specs_add(specs, &context, &packet, err);
    rpc_packet_close(&packet);
    return result;
}

static void keeps_what_it_reads(void **state) {
    (void)state;
    struct specs specs = {0};
    struct err err;
    prepare("python3", 4, 1,
            "{\"argv\":[\"python\",\"-m\"],\"display_name\":\"Python\",\"language\":"
            "\"python\",\"interrupt_mode\":\"message\",\"env\":{\"A\":\"1\"},"
            "\"metadata\":{\"debugger\":true}}");
    append_file("logo-64x64.png", "\x89PNG\0\xff", 6);
    append_file("empty.js", "", 0);
    assert_int_equal(add(&specs, &err), 0);
    const struct spec *spec = specs_find(&specs, "python3");
    assert_non_null(spec);
    assert_int_equal(spec->number, 4);
    assert_true(spec->interrupt_by_message);
    assert_string_equal(json_string_value(json_object_get(spec->content, "language")), "python");
    assert_int_equal(spec->resource_count, 2);
    assert_string_equal(spec->resources[0].name, "logo-64x64.png");
    assert_memory_equal(spec->resources[0].content->data, "\x89PNG\0\xff", 6);
    assert_int_equal(spec->resources[1].content->size, 0);
    assert_null(specs_find(&specs, "python"));
    assert_null(specs_find(&specs, ""));
    specs_finish(&specs);
    assert_int_equal(mem_live(), 0);
}

static void refuses_what_clients_would_choke_on(void **state) {
    (void)state;
    static const struct {
        const char *content, *words;
    } rows[] = {
        {"", "line 1"},
        {"{", "line 1"},
        {"\xff\xfe", "line 1"},
        {"{\"argv\":[\"a\"],\"display_name\":\"caf\xe9\",\"language\":\"l\"}", "line 1"},
        {"[]", "not an object"},
        {"7", "line 1"},
        {"{}", "argv"},
        {"{\"argv\":[],\"display_name\":\"A\",\"language\":\"l\"}", "argv"},
        {"{\"argv\":\"a\",\"display_name\":\"A\",\"language\":\"l\"}", "argv"},
        {"{\"argv\":[\"a\",7],\"display_name\":\"A\",\"language\":\"l\"}", "argv"},
        {"{\"argv\":[\"a\"],\"language\":\"l\"}", "display_name"},
        {"{\"argv\":[\"a\"],\"display_name\":null,\"language\":\"l\"}", "display_name"},
        {"{\"argv\":[\"a\"],\"display_name\":\"A\"}", "language"},
        {"{\"argv\":[\"a\"],\"display_name\":\"A\",\"language\":\"l\",\"env\":[]}", "env"},
        {"{\"argv\":[\"a\"],\"display_name\":\"A\",\"language\":\"l\",\"metadata\":null}",
         "metadata"},
        {"{\"argv\":[\"a\"],\"display_name\":\"A\",\"language\":\"l\",\"interrupt_mode\":1}",
         "interrupt_mode"},
        {"{\"argv\":[\"a\"],\"display_name\":\"A\",\"language\":\"l\",\"interrupt_mode\":\"kill\"}",
         "interrupt_mode"},
        {GOOD " x", "line 1"},
        {"{\"argv\":[\"a\"],\"display_name\":\"A\",\"language\":\"l\",\"metadata\":{"
         "\"cull_idle_timeout\":\"x\"}}",
         "metadata: /cull_idle_timeout is not a number"},
        {WITH("7"), "metadata.cellblock: the session parameters are not an object"},
        {WITH("{\"trees\":\"/opt\"}"), "metadata.cellblock: /trees is not a list"},
        {WITH("{\"limits\":{\"pids\":\"x\"}}"), "metadata.cellblock: /limits/pids is not a number"},
        {WITH("{\"limits\":{\"memory_bytes\":4294967296}}"),
         "/limits/memory_bytes: 4294967296 is more than 1073741824, which max_memory_bytes"},
        {WITH("{\"data\":[\"none\"]}"), "/data/0: there is no data folder named none"},
        {WITH("{\"kernel\":\"a\"}"), "/kernel does not stand in kernelspecs"},
        {WITH("{\"env\":{\"A\":1}}"), "/env/A is not a string"},
        {WITH("{\"env\":{\"KERNEL_LAUNCH_TIMEOUT\":\"x\"}}"), "KERNEL_LAUNCH_TIMEOUT"},
        {WITH("{\"transport\":\"udp\"}"), "/transport is neither ipc nor tcp"},
    };
    struct specs specs = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct err err;
        prepare("broken", 1, 1, rows[i].content);
        assert_true(add(&specs, &err) < 0);
        if (!strstr(err.text, rows[i].words) || !strstr(err.text, "kernelspec broken"))
            fail_msg("%s: %s", rows[i].content, err.text);
    }
    assert_int_equal(specs.count, 0);
    specs_finish(&specs);
    assert_int_equal(mem_live(), 0);
}

static void keeps_the_session_parameters(void **state) {
    (void)state;
    struct specs specs = {0};
    struct err err = {0};
    prepare(
        "with", 1, 1,
        WITH("{\"trees\":[\"/opt\"],\"transport\":\"tcp\",\"data\":[\"sets\"],\"env\":{\"HOME\":"
             "\"/x\"},\"limits\":{\"memory_bytes\":1073741824},\"labels\":{\"a\":\"b\"}}"));
    if (add(&specs, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(
        json_object_size(json_object_get(spec_metadata(specs_find(&specs, "with")), "cellblock")),
        6);
    prepare("without", 2, 1, GOOD);
    assert_int_equal(add(&specs, &err), 0);
    assert_null(spec_metadata(specs_find(&specs, "without")));
    specs_finish(&specs);
    assert_int_equal(mem_live(), 0);
}

static void refuses_names_that_are_no_text(void **state) {
    (void)state;
    static const char *const names[] = {"", "caf\xe9", "a\nb", "a b", "a/b", "..", "a\"b"};
    struct specs specs = {0};
    struct err err;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        prepare(names[i], 1, 1, GOOD);
        assert_int_equal(add(&specs, &err), -EINVAL);
        prepare("good", 1, 1, GOOD);
        append_file(names[i], "x", 1);
        assert_int_equal(add(&specs, &err), -EINVAL);
    }
    prepare("ir-4.3_x%20", 1, 1, GOOD); /* what Jupyter takes */
    assert_int_equal(add(&specs, &err), 0);
    specs_finish(&specs);
    assert_int_equal(mem_live(), 0);
}

static void refuses_files_that_are_too_large(void **state) {
    (void)state;
    struct specs specs = {0};
    struct err err;
    char *large = mem_zalloc(1, SPEC_FILE_MAX + 2);
    memset(large, ' ', SPEC_FILE_MAX + 1);
    prepare("large", 1, 1, large);
    assert_int_equal(add(&specs, &err), -EFBIG);
    assert_non_null(strstr(err.text, "kernel.json"));
    assert_non_null(strstr(err.text, "1048576"));
    memcpy(large, GOOD, sizeof GOOD - 1);
    large[SPEC_FILE_MAX] = 0;
    prepare("just", 1, 1, large);
    append_file("logo.svg", large, SPEC_FILE_MAX);
    assert_int_equal(add(&specs, &err), 0);
    prepare("logo", 1, 1, GOOD);
    append_file("logo.svg", large, SPEC_FILE_MAX + 1);
    assert_int_equal(add(&specs, &err), -EFBIG);
    assert_non_null(strstr(err.text, "logo.svg"));
    assert_int_equal(specs.count, 1);
    mem_free(large);
    specs_finish(&specs);
    assert_int_equal(mem_live(), 0);
}

/* Descriptors that cannot be read from the start: a pipe, one for writing, none at all. */
static void refuses_what_cannot_be_read(void **state) {
    (void)state;
    struct specs specs = {0};
    struct err err;
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    for (int i = 0; i < 2; i++) {
        prepare("broken", 1, 1, GOOD);
        close(packet.fds[0]);
        packet.fds[0] = pipes[i];
        assert_true(add(&specs, &err) < 0);
        assert_non_null(strstr(err.text, "kernel.json"));
    }
    prepare("broken", 1, 1, GOOD);
    rpc_packet_close(&packet);
    assert_int_equal(add(&specs, &err), -EINVAL);
    specs_finish(&specs);
    assert_int_equal(mem_live(), 0);
}

static void sorts_replaces_and_drops(void **state) {
    (void)state;
    static const char *const names[] = {"m", "z", "a", "m", "b"};
    struct specs specs = {0};
    struct err err;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        prepare(names[i], (uint32_t)i, 1, GOOD);
        assert_int_equal(add(&specs, &err), 0);
    }
    assert_int_equal(specs.count, 4);
    for (size_t i = 1; i < specs.count; i++)
        assert_true(strcmp(specs.entries[i - 1]->name, specs.entries[i]->name) < 0);
    assert_int_equal(specs_find(&specs, "m")->number, 3);
    /* A reading of the folders finds two of them again, one of which is broken now. */
    prepare("m", 3, 2, GOOD);
    assert_int_equal(add(&specs, &err), 0);
    prepare("z", 1, 2, "{}");
    assert_int_equal(add(&specs, &err), -EINVAL);
    specs_keep_generation(&specs, 2);
    assert_int_equal(specs.count, 1);
    assert_non_null(specs_find(&specs, "m"));
    specs_keep_generation(&specs, 3);
    assert_int_equal(specs.count, 0);
    specs_finish(&specs);
    assert_int_equal(mem_live(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_what_it_reads),
        cmocka_unit_test(refuses_what_clients_would_choke_on),
        cmocka_unit_test(keeps_the_session_parameters),
        cmocka_unit_test(refuses_names_that_are_no_text),
        cmocka_unit_test(refuses_files_that_are_too_large),
        cmocka_unit_test(refuses_what_cannot_be_read),
        cmocka_unit_test(sorts_replaces_and_drops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
