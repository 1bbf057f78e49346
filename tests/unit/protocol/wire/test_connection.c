#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <errno.h>

#include "base/mem.h"
#include "base/text.h"
#include "wire/connection.h"

static const struct connection sample = {
    .transport = "ipc",
    .ip = "/run/kernel/\xc3\xa4",
    .key = "a0436f6c-1916 \"quoted\"",
    .signature_scheme = "hmac-sha256",
    .kernel_name = "python3",
    .ports = {1, 2, 3, 4, 65535},
};

static void reads_what_it_writes(void **state) {
    (void)state;
    struct bytes *text = connection_write(&sample);
    struct connection found;
    assert_int_equal(connection_read(bytes_slice(text), &found, NULL), 0);
    assert_string_equal(found.transport, sample.transport);
    assert_string_equal(found.ip, sample.ip);
    assert_string_equal(found.key, sample.key);
    assert_string_equal(found.signature_scheme, sample.signature_scheme);
    assert_string_equal(found.kernel_name, sample.kernel_name);
    assert_memory_equal(found.ports, sample.ports, sizeof found.ports);
    connection_finish(&found);
    bytes_unref(text);
    assert_int_equal(mem_live(), 0);
}

#define PORTS                                                                                      \
    "\"shell_port\":57503,\"iopub_port\":40885,\"stdin_port\":52597,\"control_port\":50160,"       \
    "\"hb_port\":42540"

/* The sample of jupyter_client's documentation, then one that lacks what older files lack. */
static void reads_files_of_others(void **state) {
    (void)state;
    struct connection found;
    assert_int_equal(connection_read(SLICE_LITERAL("{" PORTS ",\"ip\":\"127.0.0.1\",\"key\":\"a0\","
                                                   "\"transport\":\"tcp\",\"jupyter_session\":\"\","
                                                   "\"signature_scheme\":\"hmac-sha256\","
                                                   "\"kernel_name\":\"\"}"),
                                     &found, NULL),
                     0);
    assert_string_equal(found.transport, "tcp");
    assert_int_equal(found.ports[CONNECTION_SHELL], 57503);
    assert_int_equal(found.ports[CONNECTION_IOPUB], 40885);
    assert_int_equal(found.ports[CONNECTION_STDIN], 52597);
    assert_int_equal(found.ports[CONNECTION_CONTROL], 50160);
    assert_int_equal(found.ports[CONNECTION_HB], 42540);
    connection_finish(&found);
    assert_int_equal(
        connection_read(SLICE_LITERAL("{" PORTS ",\"ip\":\"::1\",\"key\":\"\"}"), &found, NULL), 0);
    assert_string_equal(found.transport, "tcp");
    assert_string_equal(found.signature_scheme, "hmac-sha256");
    assert_string_equal(found.kernel_name, "");
    assert_string_equal(found.key, "");
    connection_finish(&found);
    assert_int_equal(mem_live(), 0);
}

static void refuse(struct slice json, const char *names) {
    struct connection found, before;
    memset(&found, 0x5a, sizeof found);
    before = found;
    struct err err = {0};
    assert_int_equal(connection_read(json, &found, &err), -EINVAL);
    assert_int_equal(err.code, EINVAL);
    assert_true(strncmp(err.text, names, strlen(names)) == 0);
    assert_memory_equal(&found, &before, sizeof found);
    assert_int_equal(mem_live(), 0);
}

static void names_the_member_that_is_wrong(void **state) {
    (void)state;
    static const char *members[][2] = {
        {"ip", "\"ip\":1"},
        {"ip", "\"ip\":null"},
        {"key", "\"key\":[]"},
        {"transport", "\"transport\":\"udp\""},
        {"transport", "\"transport\":4"},
        {"signature_scheme", "\"signature_scheme\":\"hmac-md5\""},
        {"kernel_name", "\"kernel_name\":{}"},
        {"shell_port", "\"shell_port\":0"},
        {"iopub_port", "\"iopub_port\":65536"},
        {"stdin_port", "\"stdin_port\":-1"},
        {"control_port", "\"control_port\":\"1\""},
        {"hb_port", "\"hb_port\":9223372036854775807"},
        {"hb_port", "\"hb_port\":1.5"},
    };
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        struct text json = {0};
        text_append_format(&json, "{" PORTS ",\"ip\":\"\",\"key\":\"\",%s}", members[i][1]);
        struct slice text = slice_make(mem_strdup(json.data), json.size);
        text_finish(&json);
        struct connection found;
        struct err err = {0};
        assert_int_equal(connection_read(text, &found, &err), -EINVAL);
        assert_true(strncmp(err.text, members[i][0], strlen(members[i][0])) == 0);
        mem_free((void *)text.data);
    }
    refuse(SLICE_LITERAL("{" PORTS ",\"key\":\"\"}"), "ip: ");
    refuse(SLICE_LITERAL("{" PORTS ",\"ip\":\"\"}"), "key: ");
    refuse(SLICE_LITERAL("{\"ip\":\"\",\"key\":\"\"}"), "shell_port: ");
    refuse(SLICE_LITERAL("{}"), "ip: ");
    refuse(SLICE_LITERAL("[]"), "ip: ");
}

static void refuses_what_is_not_json(void **state) {
    (void)state;
    refuse((struct slice){0}, "connection file is not JSON");
    struct bytes *text = connection_write(&sample);
    for (size_t size = 0; size < text->size; size++) {
        struct connection found;
        struct slice cut = slice_make(text->data, size);
        assert_int_equal(connection_read(cut, &found, NULL), -EINVAL);
    }
    bytes_unref(text);
    char *blanks = mem_alloc(70000);
    memset(blanks, ' ', 70000);
    struct connection found;
    struct err err = {0};
    assert_int_equal(connection_read(slice_make(blanks, 70000), &found, &err), -EINVAL);
    assert_string_equal(err.text, "connection file of 70000 bytes, at most 65536 are taken");
    mem_free(blanks);
    assert_int_equal(mem_live(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_it_writes),
        cmocka_unit_test(reads_files_of_others),
        cmocka_unit_test(names_the_member_that_is_wrong),
        cmocka_unit_test(refuses_what_is_not_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
