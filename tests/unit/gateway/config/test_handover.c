/* Parameters cross from one program to another whole; addresses become sockets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "config/params.h"
#include "config/table.h"

static void load(int argc, char **argv, struct params *ret_params) {
    char *environment[] = {NULL};
    struct err err = {0};
    if (params_load(argc, argv, environment, ret_params, &err) != 0)
        fail_msg("%s", err.text);
}

static void assert_same(const struct params *a, const struct params *b) {
    for (size_t i = 0; i < param_row_count; i++) {
        const struct param_row *row = &param_rows[i];
        struct text left = {0}, right = {0};
        if (!row->name)
            continue;
        row->type->print(row, param_value(row, a), &left);
        row->type->print(row, param_value(row, b), &right);
        assert_true(slice_equal(text_slice(&left), text_slice(&right)));
        text_finish(&left);
        text_finish(&right);
    }
}

static void every_value_crosses(void **state) {
    (void)state;
    char *argv[] = {"serve",
                    "--token=se=cr.et",
                    "--listen=[::1]:0,unix:/a b",
                    "--kernels=/a b:/c",
                    "--kernels=/d",
                    "--allowed-envs=A,B",
                    "--memory-bytes=68157441",
                    "--grace-ms=0",
                    "--allow-origin=",
                    "--ready-file=/tmp/x = y"};
    struct params params, read;
    struct err err = {0};
    int fd;
    load(sizeof argv / sizeof *argv, argv, &params);
    assert_int_equal(params_write_fd(&params, &fd, &err), 0);
    assert_int_equal(params_read_fd(fd, &read, &err), 0);
    assert_same(&params, &read);
    assert_string_equal(read.token, "se=cr.et");
    assert_int_equal(read.memory_bytes, 68157441);
    assert_int_equal(read.kernels.count, 3);
    assert_string_equal(read.kernels.items[0], "/a b");
    assert_int_equal(read.listen.count, 2);
    assert_string_equal(read.listen.items[1], "unix:/a b");
    params_finish(&read);
    params_finish(&params);
    close(fd);
    assert_int_equal(mem_live(), 0);
}

static bool holds(int fd, const char *word) {
    char content[16384];
    ssize_t size = pread(fd, content, sizeof content, 0);
    assert_true(size > 0 && size < (ssize_t)sizeof content);
    return memmem(content, (size_t)size, word, strlen(word)) != NULL;
}

static void keeps_data_folders_to_itself(void **state) {
    (void)state;
    char *argv[] = {"serve", "--data=sets=/srv/secret-place", "--kernels=/srv/kernels"};
    struct params params, read;
    struct err err = {0};
    int fd;
    load(sizeof argv / sizeof *argv, argv, &params);
    assert_int_equal(params_write_fd(&params, &fd, &err), 0);
    assert_true(holds(fd, "/srv/kernels"));
    assert_false(holds(fd, "secret-place"));
    assert_int_equal(params_read_fd(fd, &read, &err), 0);
    assert_int_equal(read.data.count, 0);
    params_finish(&read);
    params_finish(&params);
    close(fd);
    assert_int_equal(mem_live(), 0);
}

static void the_memfd_is_sealed_and_closed_on_exec(void **state) {
    (void)state;
    char *argv[] = {"serve"};
    struct params params;
    struct err err = {0};
    int fd;
    load(1, argv, &params);
    assert_int_equal(params_write_fd(&params, &fd, &err), 0);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    assert_int_equal(pwrite(fd, "x", 1, 0), -1);
    assert_int_equal(ftruncate(fd, 0), -1);
    assert_true(fcntl(fd, F_GET_SEALS) & F_SEAL_SEAL);
    close(fd);
    params_finish(&params);
}

static void refuses_a_memfd_that_is_none(void **state) {
    (void)state;
    static const struct {
        const char *records;
        size_t size;
        const char *sentence;
    } rows[] = {
        {"", 0, "listen is missing"},
        {"listen=127.0.0.1:1", 18, "socket_mode is missing"},
        {"max_kernels=0", 14, "max_kernels: \"0\" is not a number"},
        {"nothing=0", 10, "none called nothing"},
        {"listen", 7, "\"listen\" is no record"},
        {"\0\0", 2, "\"\" is no record"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct params params;
        struct err err = {0};
        int fd = memfd_create("test", MFD_CLOEXEC);
        assert_int_equal(write(fd, rows[i].records, rows[i].size), rows[i].size);
        assert_true(params_read_fd(fd, &params, &err) < 0);
        if (!strstr(err.text, rows[i].sentence))
            fail_msg("\"%s\" lacks \"%s\"", err.text, rows[i].sentence);
        close(fd);
        assert_int_equal(mem_live(), 0);
    }
    struct err err = {0};
    struct params params;
    assert_int_equal(params_read_fd(-1, &params, &err), -EBADF);
}

static void addresses_become_sockets(void **state) {
    (void)state;
    char *argv[] = {"serve", "--listen=localhost:80", "--listen=[::1]:81,unix:/run/x"};
    struct params params;
    struct params_address address;
    struct err err;
    load(3, argv, &params);
    assert_int_equal(params.listen.count, 3);
    assert_int_equal(params_address_read(params.listen.items[0], &address, &err), 0);
    assert_int_equal(address.size, sizeof address.ipv4);
    assert_int_equal(address.any.sa_family, AF_INET);
    assert_int_equal(ntohs(address.ipv4.sin_port), 80);
    assert_int_equal(ntohl(address.ipv4.sin_addr.s_addr), INADDR_LOOPBACK);
    assert_int_equal(params_address_read(params.listen.items[1], &address, &err), 0);
    assert_int_equal(address.size, sizeof address.ipv6);
    assert_int_equal(ntohs(address.ipv6.sin6_port), 81);
    assert_memory_equal(&address.ipv6.sin6_addr, &in6addr_loopback, sizeof in6addr_loopback);
    assert_int_equal(params_address_read(params.listen.items[2], &address, &err), 0);
    assert_int_equal(address.any.sa_family, AF_UNIX);
    assert_string_equal(address.local.sun_path, "/run/x");
    params_finish(&params);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_crosses),
        cmocka_unit_test(keeps_data_folders_to_itself),
        cmocka_unit_test(the_memfd_is_sealed_and_closed_on_exec),
        cmocka_unit_test(refuses_a_memfd_that_is_none),
        cmocka_unit_test(addresses_become_sockets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
