/* Data folders: which may be named, and what the gateway is told of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "warden/data.h"

static char top[] = "/var/tmp/test_data.XXXXXX";

static int set_up(void **state) {
    (void)state;
    char command[256];
    snprintf(command, sizeof command,
             "cd %s && mkdir sets books && ln -s sets link && ln -s /etc out && touch file",
             mkdtemp(top));
    return system(command);
}

static int tear_down(void **state) {
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", top);
    return system(command);
}

/* Reads one folder; "%" stands for top. */
static int read_one(struct data *data, const char *path, struct err *err) {
    char item[256];
    const char *rest = path + (path[0] == '%');
    snprintf(item, sizeof item, "sets=%s%s", path[0] == '%' ? top : "", rest);
    char *items[] = {item};
    struct params params = {.data = {items, 1}};
    return data_read(data, &params, err);
}

static void refuses_what_cannot_be_shown(void **state) {
    (void)state;
    static const struct {
        const char *path;
        int code;
        const char *words;
    } rows[] = {
        {"%/nothing", ENOENT, "No such file or directory"},
        {"%/file", ENOTDIR, "is no folder"},
        {"%/out", EPERM, "/etc is never shown in a jail"},
        {"%/../../../etc/ssl", EPERM, "/etc/ssl is never shown in a jail"},
        {"/", EPERM, "/ is never shown in a jail"},
        {"//", EPERM, "/ is never shown in a jail"},
        {"/etc", EPERM, "/etc is never shown"},
        {"/proc", EPERM, "/proc is never shown"},
        {"/proc/self/fd", EPERM, "is never shown"},
        {"/sys/kernel", EPERM, "/sys/kernel is never shown"},
        {"/dev/", EPERM, "/dev is never shown"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct data data = {0};
        struct err err;
        assert_int_equal(read_one(&data, rows[i].path, &err), -rows[i].code);
        if (!strstr(err.text, rows[i].words) || strncmp(err.text, "data folder sets: ", 18) != 0)
            fail_msg("%s: %s", rows[i].path, err.text);
        data_finish(&data);
    }
    assert_int_equal(mem_live(), 0);
}

static void finds_where_a_folder_lies(void **state) {
    (void)state;
    static const char *const paths[] = {"%/sets", "%/link", "%//books/../sets/."};
    char expected[64];
    snprintf(expected, sizeof expected, "%s/sets", top);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct data data = {0};
        struct trees_shown trees = {0};
        struct err err;
        assert_int_equal(read_one(&data, paths[i], &err), 0);
        data_add_trees(&data, 1, &trees);
        assert_int_equal(trees.paths.count, 1);
        assert_string_equal(trees.paths.items[0], "/data/sets");
        assert_string_equal(trees.sources.items[0], expected);
        trees_shown_finish(&trees);
        data_finish(&data);
    }
    assert_int_equal(mem_live(), 0);
}

static void follows_what_changes_when_it_is_told(void **state) {
    (void)state;
    char link[64], item[96], books[64], sets[64];
    snprintf(link, sizeof link, "%s/changing", top);
    snprintf(books, sizeof books, "%s/books", top);
    snprintf(sets, sizeof sets, "%s/sets", top);
    snprintf(item, sizeof item, "sets=%s", link);
    char *items[] = {item};
    struct params params = {.data = {items, 1}};
    struct data data = {0};
    struct err err;
    assert_int_equal(symlink(sets, link), 0);
    assert_int_equal(data_read(&data, &params, &err), 0);
    unlink(link);
    assert_int_equal(symlink(books, link), 0);
    assert_string_equal(data.items[0].source, sets);
    data_read_again(&data);
    assert_string_equal(data.items[0].source, books);
    unlink(link);
    assert_int_equal(symlink("/etc", link), 0);
    data_read_again(&data);
    assert_string_equal(data.items[0].source, books);
    unlink(link);
    data_read_again(&data);
    assert_string_equal(data.items[0].source, books);
    data_finish(&data);
    assert_int_equal(mem_live(), 0);
}

static void tells_the_gateway_names_alone(void **state) {
    (void)state;
    char first[96], second[96];
    snprintf(first, sizeof first, "sets=%s/sets", top);
    snprintf(second, sizeof second, "books=%s/books", top);
    char *items[] = {first, second};
    struct params params = {.data = {items, 2}};
    struct data data = {0};
    struct outbox outbox;
    struct err err;
    static struct rpc_packet packet; /* 64 KiB */
    int ends[2];
    assert_int_equal(data_read(&data, &params, &err), 0);
    outbox_init(&outbox);
    data_tell(&data, &outbox);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(outbox_flush(&outbox, ends[0], &err), 0);
    static const char *const names[] = {"sets", "books"};
    for (uint32_t i = 0; i < 2; i++) {
        memset(&packet, 0, sizeof packet);
        assert_int_equal(rpc_receive(ends[1], &packet, &err), 0);
        assert_int_equal(packet.head.kind, RPC_DATA);
        assert_int_equal(packet.data.data, i);
        assert_string_equal(packet.data.name, names[i]);
        assert_null(memmem(&packet, sizeof packet, top, strlen(top)));
    }
    close(ends[0]);
    close(ends[1]);
    outbox_finish(&outbox);
    data_finish(&data);
    assert_int_equal(mem_live(), 0);
}

static void knows_its_numbers(void **state) {
    (void)state;
    struct data data = {.count = 2};
    struct err err;
    assert_int_equal(data_check(&data, 0, &err), 0);
    assert_int_equal(data_check(&data, 3, &err), 0);
    assert_int_equal(data_check(&data, 4, &err), -EINVAL);
    assert_string_equal(err.text, "there is no data folder number 2");
    assert_int_equal(data_check(&data, (uint64_t)1 << 63, &err), -EINVAL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_what_cannot_be_shown),
        cmocka_unit_test(finds_where_a_folder_lies),
        cmocka_unit_test(follows_what_changes_when_it_is_told),
        cmocka_unit_test(tells_the_gateway_names_alone),
        cmocka_unit_test(knows_its_numbers),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
