/* The whole warden, with this test in the gateway's place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "rig/rig.h"

#define PROBE TEST_PROGRAMS "/probe"
#define FIVE(separator)                                                                            \
    "/run/kernel/k" separator "1|/run/kernel/k" separator "2|/run/kernel/k" separator              \
    "3|/run/kernel/k" separator "4|/run/kernel/k" separator "5"

static struct rig rig;
static const struct slice nothing;

static int set_up(void **state) {
    (void)state;
    rig_init(&rig, TEST_PROGRAMS);
    rig_add_spec(&rig, "bind", PROBE "|bind|" FIVE("-"), NULL);
    rig_add_spec(&rig, "colon", PROBE "|bind|" FIVE(":"), NULL);
    rig_add_spec(&rig, "wait", PROBE "|wait", NULL);
    rig_add_spec(&rig, "print", PROBE "|print|7|some|words", NULL);
    rig_add_spec(&rig, "missing", "/does/not/exist", NULL);
    rig_start(&rig, NULL);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    int status = rig_stop(&rig);
    int left = rig_count_processes(&rig);
    bool ok = WIFEXITED(status) && WEXITSTATUS(status) == 0 && left == 0;
    if (!ok)
        fprintf(stderr, "status %x, %d processes left\n%s", (unsigned)status, left, rig_log(&rig));
    rig_finish(&rig);
    return ok ? 0 : -1;
}

static uint16_t bound_port(void) {
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    assert_int_equal(getsockname(rig.listen, (struct sockaddr *)&address, &size), 0);
    return address.sin_port;
}

static int try_connect(void) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = bound_port(), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int result = connect(fd, (struct sockaddr *)&address, sizeof address) < 0 ? -errno : 0;
    close(fd);
    return result;
}

static void refuses_connections_until_the_gateway_listens(void **state) {
    (void)state;
    char path[128], text[128] = "";
    snprintf(path, sizeof path, "%s/ready", rig.folder);
    assert_int_equal(try_connect(), -ECONNREFUSED);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(listen(rig.listen, 8), 0);
    assert_int_equal(try_connect(), 0);
    struct rpc_head ready = {.kind = RPC_READY};
    assert_int_equal(rig_request(&rig, &ready, nothing, NULL), 0);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(read(fd, text, sizeof text - 1) > 0);
    close(fd);
    char expected[64];
    snprintf(expected, sizeof expected, "http://127.0.0.1:%u\n", ntohs(bound_port()));
    assert_string_equal(text, expected);
    assert_non_null(strstr(rig_log(&rig), "curl -H 'Authorization: token "));
    assert_non_null(strstr(rig_log(&rig), "jupyter lab --gateway-url=http://127.0.0.1:"));
    assert_non_null(strstr(rig_log(&rig), "python3 -c "));
}

static void tells_kernelspecs_with_their_files(void **state) {
    (void)state;
    assert_true(rig_find_spec(&rig, "print") > 0);
    rig_await(&rig, RPC_SPECS_END);
    uint32_t generation = rig.packet->specs_end.generation, number = rig_find_spec(&rig, "wait");
    rig_add_spec(&rig, "another", PROBE "|wait", NULL);
    kill(rig.warden, SIGHUP);
    do {
        rig_await(&rig, RPC_SPEC);
        rpc_packet_close(rig.packet);
        assert_true(strcmp(rig.packet->spec.name, "wait") != 0 || rig.packet->spec.spec == number);
        assert_string_equal(rig.packet->spec.files[0], "kernel.json");
    } while (rig.packet->spec.generation == generation ||
             strcmp(rig.packet->spec.name, "another") != 0);
    rig_await(&rig, RPC_SPECS_END);
    assert_int_equal(rig.packet->specs_end.generation, generation + 1);
}

static void hands_over_sockets_that_can_be_connected(void **state) {
    (void)state;
    static const char *const specs[] = {"bind", "colon"};
    rig_create_jail(&rig, 1);
    for (size_t i = 0; i < 2; i++) {
        struct err err;
        assert_int_equal(rig_start_tree(&rig, 1, 10 + i, specs[i], "{}", nothing, &err), 0);
        rig_await(&rig, RPC_TREE_SOCKETS);
        assert_int_equal(rig.packet->tree_sockets.tree, 10 + i);
        assert_int_equal(rig.packet->fd_count, 5);
        for (size_t j = 0; j < 5; j++) {
            struct stat info;
            assert_int_equal(fstat(rig.packet->fds[j], &info), 0);
            assert_true(S_ISSOCK(info.st_mode));
            assert_int_equal(info.st_gid, rig.uid_base);
            struct sockaddr_un address = {.sun_family = AF_UNIX};
            snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d",
                     rig.packet->fds[j]);
            int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), result;
            /* Bound is not yet listening. */
            while ((result = connect(fd, (struct sockaddr *)&address, sizeof address)) < 0 &&
                   errno == ECONNREFUSED)
                usleep(1000);
            assert_int_equal(result, 0);
            close(fd);
        }
        rpc_packet_close(rig.packet);
    }
}

static void tells_how_a_tree_ended(void **state) {
    (void)state;
    rig_create_jail(&rig, 1);
    struct rpc_tree_ended ended = rig_run(&rig, 1, 20, "print");
    assert_int_equal(ended.tree, 20);
    assert_int_equal(ended.cause, RPC_CAUSE_EXIT);
    assert_int_equal(ended.status, 7);
    assert_string_equal(rig_output(&rig), "some words\n");

    ended = rig_run(&rig, 1, 21, "missing");
    assert_int_equal(ended.cause, RPC_CAUSE_FAILED);
    assert_string_equal(rig_output(&rig),
                        "start kernel missing: run its program: No such file or directory");

    struct err err;
    assert_int_equal(rig_start_tree(&rig, 1, 22, "bind", "{}", nothing, &err), 0);
    rig_await(&rig, RPC_TREE_SOCKETS);
    rpc_packet_close(rig.packet);
    struct rpc_tree_signal interrupt = {.head.kind = RPC_TREE_SIGNAL, .tree = 22, .signal = SIGINT};
    assert_int_equal(rig_request(&rig, &interrupt, nothing, NULL), 0);
    rig_await(&rig, RPC_TREE_ENDED);
    assert_int_equal(rig.packet->tree_ended.cause, RPC_CAUSE_SIGNAL);
    assert_int_equal(rig.packet->tree_ended.status, SIGINT);

    assert_int_equal(rig_start_tree(&rig, 1, 23, "wait", "{}", nothing, &err), 0);
    struct rpc_tree_kill tree_kill = {.head.kind = RPC_TREE_KILL, .tree = 23};
    assert_int_equal(rig_request(&rig, &tree_kill, nothing, NULL), 0);
    rig_await(&rig, RPC_TREE_ENDED);
    assert_int_equal(rig.packet->tree_ended.tree, 23);
    assert_int_equal(rig.packet->tree_ended.cause, RPC_CAUSE_KILLED);
    assert_non_null(
        strstr(rig_log(&rig), "killed tree 23 jail 01000000-0000-0000-0000-000000000000\n"));
    assert_int_equal(rig_count_processes(&rig), 1); /* the gateway */
}

static void answers_the_end_of_a_jail_when_it_is_gone(void **state) {
    (void)state;
    rig_create_jail(&rig, 1);
    struct err err;
    for (uint64_t tree = 30; tree < 33; tree++) {
        assert_int_equal(rig_start_tree(&rig, 1, tree, "bind", "{}", nothing, &err), 0);
        rig_await(&rig, RPC_TREE_SOCKETS);
        rpc_packet_close(rig.packet);
    }
    assert_int_equal(rig_count_processes(&rig), 1 + 3 * 2);
    assert_int_equal(rig_end_jail(&rig, 1), 0);
    assert_int_equal(rig_count_processes(&rig), 1);
    for (int i = 0; i < 3; i++) {
        rig_await(&rig, RPC_TREE_ENDED);
        assert_int_equal(rig.packet->tree_ended.cause, RPC_CAUSE_KILLED);
    }
    rig_create_jail(&rig, 1); /* the id is free again */
}

static int expect_error(int result, int expected, const struct err *err, const char *sentence) {
    assert_int_equal(result, -expected);
    assert_string_equal(err->text, sentence);
    return result;
}

static void refuses_what_makes_no_sense(void **state) {
    (void)state;
    struct err err;
    struct rpc_jail_create create = {.head.kind = RPC_JAIL_CREATE, .jail = {1}};
    create.limits.pids = 1000000;
    expect_error(rig_request(&rig, &create, nothing, &err), EINVAL, &err,
                 "create jail: limit pids: 1000000 is more than the most, 256");
    create.limits.pids = 0;
    create.data_mask = 1;
    expect_error(rig_request(&rig, &create, nothing, &err), EINVAL, &err,
                 "create jail: there is no data folder number 0");
    create.data_mask = 0;
    assert_int_equal(rig_request(&rig, &create, nothing, &err), 0);
    expect_error(rig_request(&rig, &create, nothing, &err), EEXIST, &err,
                 "create jail: there is a jail of this id");
    assert_int_equal(rig_end_jail(&rig, 9), -ENOENT);
    struct rpc_tree_start start = {
        .head.kind = RPC_TREE_START, .jail = {1}, .tree = 1, .kind = RPC_TREE_KERNEL};
    expect_error(rig_request(&rig, &start, nothing, &err), ENOENT, &err,
                 "start tree: there is no such kernelspec");
    start.spec = UINT32_MAX;
    assert_int_equal(rig_request(&rig, &start, nothing, &err), -ENOENT);
    start.jail[0] = 2;
    assert_int_equal(rig_request(&rig, &start, nothing, &err), -ENOENT);
    start.kind = RPC_TREE_TERMINAL;
    assert_int_equal(rig_request(&rig, &start, nothing, &err), -ENOTSUP);
    start.kind = RPC_TREE_KERNEL;
    start.connection_size = UINT32_MAX;
    start.environment_size = 2;
    assert_int_equal(rig_request(&rig, &start, slice_make("x", 1), &err), -EINVAL);
    start.connection_size = start.environment_size = 0;
    start.directory_size = 3;
    expect_error(rig_request(&rig, &start, slice_make("a\0b", 3), &err), EINVAL, &err,
                 "start tree: the directory is too long, or holds a NUL");
    start.directory_size = 4;
    expect_error(rig_request(&rig, &start, slice_make("abc", 3), &err), EINVAL, &err,
                 "start tree: sizes do not add up to the tail's");
    start.directory_size = 0;
    static const char *const bad[] = {"NAME", "=value", "A=1\0B"};
    static const size_t sizes[] = {5, 7, 5};
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(
            rig_start_tree(&rig, 1, 1, "wait", "{}", slice_make(bad[i], sizes[i]), &err), -EINVAL);
    struct rpc_tree_signal interrupt = {.head.kind = RPC_TREE_SIGNAL, .tree = 5, .signal = 2};
    assert_int_equal(rig_request(&rig, &interrupt, nothing, &err), -ENOENT);
    struct rpc_tree_kill tree_kill = {.head.kind = RPC_TREE_KILL, .tree = 5};
    assert_int_equal(rig_request(&rig, &tree_kill, nothing, &err), -ENOENT);
    assert_int_equal(rig_start_tree(&rig, 1, 5, "wait", "{}", nothing, &err), 0);
    assert_int_equal(rig_start_tree(&rig, 1, 5, "wait", "{}", nothing, &err), -EEXIST);
    static const int32_t signals[] = {0, -1, 65, INT32_MIN};
    for (size_t i = 0; i < 4; i++) {
        interrupt.signal = signals[i];
        assert_int_equal(rig_request(&rig, &interrupt, nothing, &err), -EINVAL);
    }
}

static void starts_another_gateway_when_one_dies(void **state) {
    (void)state;
    rig_create_jail(&rig, 1);
    struct err err;
    assert_int_equal(rig_start_tree(&rig, 1, 1, "wait", "{}", nothing, &err), 0);
    uint16_t port = bound_port();
    assert_int_equal(listen(rig.listen, 8), 0);
    rig_drop_gateway(&rig);
    rig_await_gateway(&rig);
    assert_int_equal(bound_port(), port);
    assert_int_equal(try_connect(), 0); /* never refused in between */
    assert_int_equal(rig_count_processes(&rig), 1);
    assert_non_null(strstr(rig_log(&rig), "gateway ended: exit status 5\n"));
    rig_create_jail(&rig, 1);
    assert_int_equal(rig_start_tree(&rig, 1, 1, "wait", "{}", nothing, &err), 0);
}

static void ends_a_gateway_that_breaks_the_contract(void **state) {
    (void)state;
    static const struct rpc_head heads[] = {{99, 1}, {RPC_REPLY, 1}, {RPC_READY, 0}};
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        rig_create_jail(&rig, 1);
        assert_int_equal(send(rig.link, &heads[i], sizeof heads[i], 0), sizeof heads[i]);
        int driver = rig.driver;
        rig.driver = -1;
        rig_drop_gateway(&rig);
        rig_await_gateway(&rig);
        close(driver);
        assert_non_null(strstr(rig_log(&rig), "gateway ended: signal 9\n"));
        assert_null(strstr(rig_log(&rig), "exit status"));
    }
}

static int tear_down_failed(void **state) {
    (void)state;
    rig_finish(&rig);
    return 0;
}

static void gives_up_on_a_gateway_that_always_dies(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        rig_drop_gateway(&rig);
        rig_await_gateway(&rig);
    }
    rig_drop_gateway(&rig);
    int status = rig_await_end(&rig);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    assert_non_null(strstr(rig_log(&rig), "the gateway died too often"));
}

/* The warden has finished what it did when it answers the next request. */
static int count_fds_at_rest(void) {
    assert_int_equal(rig_end_jail(&rig, 250), -ENOENT);
    return rig_count_fds(&rig);
}

static void keeps_its_descriptors_over_many_jails(void **state) {
    (void)state;
    int before = count_fds_at_rest();
    for (uint64_t i = 0; i < 200; i++) {
        struct err err;
        rig_create_jail(&rig, 1);
        assert_int_equal(rig_start_tree(&rig, 1, i, i % 2 ? "bind" : "print", "{}", nothing, &err),
                         0);
        if (i % 2) {
            rig_await(&rig, RPC_TREE_SOCKETS);
            rpc_packet_close(rig.packet);
            if (i < 10)
                assert_true(count_fds_at_rest() <= before + 8);
        }
        assert_int_equal(rig_end_jail(&rig, 1), 0);
        rig_await(&rig, RPC_TREE_ENDED);
    }
    assert_int_equal(count_fds_at_rest(), before);
    assert_int_equal(rig_count_processes(&rig), 1);
}

static void holds_as_many_jails_as_it_may(void **state) {
    (void)state;
    int before = count_fds_at_rest();
    struct err err;
    for (uint8_t id = 1; id <= 60; id++) {
        rig_create_jail(&rig, id);
        assert_int_equal(rig_start_tree(&rig, id, id, "bind", "{}", nothing, &err), 0);
    }
    struct rpc_jail_create more = {.head.kind = RPC_JAIL_CREATE, .jail = {61}};
    expect_error(rig_request(&rig, &more, nothing, &err), EAGAIN, &err,
                 "create jail: max_kernels: there are 60 jails");
    for (int i = 0; i < 60; i++) {
        rig_await(&rig, RPC_TREE_SOCKETS);
        rpc_packet_close(rig.packet);
    }
    assert_true(count_fds_at_rest() <= before + 60 * 8);
    for (uint8_t id = 1; id <= 60; id++)
        assert_int_equal(rig_end_jail(&rig, id), 0);
    assert_int_equal(count_fds_at_rest(), before);
    assert_int_equal(rig_count_processes(&rig), 1);
}

int main(void) {
    if (geteuid() != 0)
        return 77;
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(refuses_connections_until_the_gateway_listens),
        TEST(tells_kernelspecs_with_their_files),
        TEST(hands_over_sockets_that_can_be_connected),
        TEST(tells_how_a_tree_ended),
        TEST(answers_the_end_of_a_jail_when_it_is_gone),
        TEST(refuses_what_makes_no_sense),
        TEST(starts_another_gateway_when_one_dies),
        TEST(ends_a_gateway_that_breaks_the_contract),
        cmocka_unit_test_setup_teardown(gives_up_on_a_gateway_that_always_dies, set_up,
                                        tear_down_failed),
        TEST(keeps_its_descriptors_over_many_jails),
        TEST(holds_as_many_jails_as_it_may),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
