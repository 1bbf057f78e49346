/* What the warden starts its gateway with, and what is left when either of them ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "config/params.h"
#include "rig/rig.h"

static struct rig rig;
static const struct slice nothing;

static int set_up(void **state) {
    (void)state;
    rig_init(&rig, TEST_PROGRAMS);
    rig_add_spec(&rig, "wait", TEST_PROGRAMS "/probe|wait", NULL);
    rig_add_spec(&rig, "bind",
                 TEST_PROGRAMS "/probe|bind|/run/kernel/k-1|/run/kernel/k-2|/run/kernel/k-3|"
                               "/run/kernel/k-4|/run/kernel/k-5",
                 NULL);
    rig_start(&rig, (const char *const[]){"--token", "secret-of-the-gateway", NULL});
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    rig_finish(&rig);
    return 0;
}

static size_t read_text(const char *path, char *text, size_t size) {
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t count = fd < 0 ? 0 : read(fd, text, size - 1);
    text[count > 0 ? count : 0] = 0;
    return count > 0 ? (size_t)count : 0;
}

static void start_bound(uint64_t tree) {
    struct err err;
    assert_int_equal(rig_start_tree(&rig, 1, tree, "bind", "{}", nothing, &err), 0);
    rig_await(&rig, RPC_TREE_SOCKETS);
    rpc_packet_close(rig.packet);
}

static void await_no_processes(void) {
    for (int waited = 0; rig_count_processes(&rig) > 0; waited += 10) {
        assert_true(waited < RIG_WAIT_MS);
        usleep(10000);
    }
}

static void gives_the_gateway_nothing_more_than_it_needs(void **state) {
    (void)state;
    char path[64], text[4096], expected[64];
    snprintf(path, sizeof path, "/proc/%d/status", rig.gateway);
    read_text(path, text, sizeof text);
    snprintf(expected, sizeof expected, "Uid:\t%u\t%u\t%u\t%u\n", rig.uid_base, rig.uid_base,
             rig.uid_base, rig.uid_base);
    assert_non_null(strstr(text, expected));
    static const char *const lines[] = {"Groups:\t \n",
                                        "CapInh:\t0000000000000000\n",
                                        "CapPrm:\t0000000000000000\n",
                                        "CapEff:\t0000000000000000\n",
                                        "CapBnd:\t0000000000000000\n",
                                        "CapAmb:\t0000000000000000\n",
                                        "NoNewPrivs:\t1\n"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        if (!strstr(text, lines[i]))
            fail_msg("%s is not in\n%s", lines[i], text);

    snprintf(path, sizeof path, "/proc/%d/environ", rig.gateway);
    size_t size = read_text(path, text, sizeof text);
    static const char environment[] = "PATH=/usr/local/bin:/usr/bin:/bin\0LANG=C.UTF-8";
    assert_int_equal(size, sizeof environment);
    assert_memory_equal(text, environment, size);
    snprintf(path, sizeof path, "/proc/%d/cmdline", rig.gateway);
    size = read_text(path, text, sizeof text);
    assert_null(memmem(text, size, "secret", 6));

    /* Six, and the connection that the fake one made. */
    snprintf(path, sizeof path, "/proc/%d/fd", rig.gateway);
    DIR *folder = opendir(path);
    int count = -2;
    while (readdir(folder))
        count++;
    closedir(folder);
    assert_int_equal(count, 7);
    rig_stop(&rig);
}

static void passes_parameters_that_nobody_can_change(void **state) {
    (void)state;
    struct params params;
    struct err err;
    assert_int_equal(params_read_fd(rig.params, &params, &err), 0);
    assert_string_equal(params.token, "secret-of-the-gateway");
    assert_int_equal(params.max_kernels, 60);
    assert_int_equal(write(rig.params, "x", 1), -1);
    params_finish(&params);
    rig_stop(&rig);
}

/* Whatever mounts of ours the host would see. */
static bool host_has_mounts(void) {
    static char text[1 << 20];
    read_text("/proc/self/mountinfo", text, sizeof text);
    return strstr(text, " /run/kernel ") || strstr(text, " /home/user ") ||
           strstr(text, rig.folder);
}

static void leaves_nothing_behind(void **state) {
    (void)state;
    char command[256], path[128];
    rig_create_jail(&rig, 1);
    start_bound(1);
    start_bound(2);
    struct rpc_head ready = {.kind = RPC_READY};
    assert_int_equal(rig_request(&rig, &ready, nothing, NULL), 0);
    assert_false(host_has_mounts()); /* not even while it runs */
    int status = rig_stop(&rig);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(rig_count_processes(&rig), 0);
    assert_false(host_has_mounts());
    snprintf(path, sizeof path, "%s/ready", rig.folder);
    assert_int_equal(access(path, F_OK), -1);
    /* The folder holds what the rig put there, and the log. */
    snprintf(command, sizeof command,
             "cd %s && test \"$(ls | sort | tr '\\n' ' ')\" = "
             "'cellblock-gateway cellblock-init cellblock-warden driver.sock kernels log probe '",
             rig.folder);
    assert_int_equal(system(command), 0);
}

static void ends_all_when_the_warden_is_killed(void **state) {
    (void)state;
    static const uint8_t id = 0x77; /* no other test's, so that the reports name the right ones */
    rig_create_jail(&rig, id);
    struct err err;
    assert_int_equal(rig_start_tree(&rig, id, 1, "bind", "{}", nothing, &err), 0);
    rig_await(&rig, RPC_TREE_SOCKETS);
    rpc_packet_close(rig.packet);
    assert_int_equal(rig_count_processes(&rig), 3);
    assert_true(WIFSIGNALED(rig_kill(&rig, id)));
    assert_int_equal(rig_count_processes(&rig), 0);
    assert_false(host_has_mounts());
}

static void obeys_an_interrupt_as_it_obeys_sigterm(void **state) {
    (void)state;
    rig_create_jail(&rig, 1);
    start_bound(1);
    kill(rig.warden, SIGINT);
    int status = rig_await_end(&rig);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(rig_count_processes(&rig), 0);
}

static void ends_while_a_gateway_is_on_its_way(void **state) {
    (void)state;
    rig_drop_gateway(&rig);
    kill(rig.warden, SIGTERM);
    int status = rig_await_end(&rig);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    await_no_processes();
}

/* A gateway that was taken over says anything the contract has a word for. */
static void outlives_whatever_a_gateway_says(void **state) {
    (void)state;
    static const uint32_t kinds[] = {RPC_JAIL_CREATE, RPC_JAIL_LIMITS, RPC_JAIL_END,
                                     RPC_TREE_START,  RPC_TREE_SIGNAL, RPC_TREE_KILL};
    static uint8_t tail[RPC_TAIL_MAX];
    srandom(1);
    rig_create_jail(&rig, 1);
    int before = rig_count_fds(&rig);
    for (int i = 0; i < 3000; i++) {
        union {
            struct rpc_head head;
            struct rpc_tree_start start;
            uint8_t bytes[sizeof(struct rpc_jail_create)];
        } packet;
        /* Small numbers, so that some of it makes sense. */
        for (size_t j = 0; j < sizeof packet; j++)
            packet.bytes[j] = random() % 8 == 0 ? (uint8_t)(random() % 3) : 0;
        if (random() % 4 == 0)
            packet.bytes[8] = 1;
        packet.head.kind = kinds[random() % 6];
        size_t tail_size = 0;
        if (packet.head.kind == RPC_TREE_START && random() % 2) {
            tail_size = (size_t)random() % 300;
            packet.start.connection_size = (uint32_t)tail_size / 2;
            packet.start.environment_size = (uint32_t)(tail_size - tail_size / 2);
        }
        for (size_t j = 0; j < tail_size; j++)
            tail[j] = (uint8_t) "A=\0x"[random() % 4];
        rig_request(&rig, &packet, slice_make(tail, tail_size), NULL);
        if (i % 50 == 0)
            for (uint8_t id = 0; id < 3; id++)
                rig_end_jail(&rig, id);
    }
    for (uint8_t id = 0; id < 3; id++)
        rig_end_jail(&rig, id);
    assert_null(strstr(rig_log(&rig), "gateway"));
    rig_create_jail(&rig, 9);
    assert_true(rig_count_fds(&rig) < before + 300);
    int status = rig_stop(&rig);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(rig_count_processes(&rig), 0);
}

/* One that asks and never reads its answers stops being asked, and is not waited for. */
static void does_not_wait_for_a_gateway_that_does_not_read(void **state) {
    (void)state;
    struct rpc_jail_end end = {.head = {RPC_JAIL_END, 1}};
    struct err err;
    int sent = 0, flags = fcntl(rig.link, F_GETFL);
    assert_int_equal(fcntl(rig.link, F_SETFL, flags | O_NONBLOCK), 0);
    for (int idle = 0; idle < 20; sent++) {
        int result = rpc_send(rig.link, &end, nothing, NULL, 0, &err);
        struct pollfd polled = {rig.link, POLLOUT, 0};
        idle = result == -EAGAIN && poll(&polled, 1, 50) == 0 ? idle + 1 : 0;
        assert_true(sent < 1000000);
    }
    int status = rig_stop(&rig);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void changes_the_limits_of_a_jail(void **state) {
    (void)state;
    struct rpc_jail_create limits = {
        .head.kind = RPC_JAIL_CREATE, .jail = {1}, .limits.workspace_bytes = 2 << 20};
    assert_int_equal(rig_request(&rig, &limits, nothing, NULL), 0);
    int kib;
    assert_int_equal(sscanf(rig_probe(&rig, 1, "fill|/home/user"), "%d", &kib), 1);
    assert_in_range(kib, 1024, 2048);
    rig_end_jail(&rig, 1);
    assert_int_equal(rig_request(&rig, &limits, nothing, NULL), 0);
    limits.head.kind = RPC_JAIL_LIMITS;
    limits.limits.workspace_bytes = 6 << 20;
    assert_int_equal(rig_request(&rig, &limits, nothing, NULL), 0);
    assert_int_equal(sscanf(rig_probe(&rig, 1, "fill|/home/user"), "%d", &kib), 1);
    assert_in_range(kib, 5 * 1024, 6 * 1024);
    limits.limits.workspace_bytes = 1ULL << 40;
    assert_int_equal(rig_request(&rig, &limits, nothing, NULL), -EINVAL);
    limits.jail[0] = 7;
    limits.limits.workspace_bytes = 0;
    assert_int_equal(rig_request(&rig, &limits, nothing, NULL), -ENOENT);
    rig_stop(&rig);
}

static void says_that_it_needs_root(void **state) {
    (void)state;
    char command[256], line[256] = "";
    snprintf(command, sizeof command,
             "setpriv --reuid 54321 --regid 54321 --clear-groups %s/cellblock-warden 2>&1; echo $?",
             rig.folder);
    FILE *pipe = popen(command, "re");
    assert_non_null(fgets(line, sizeof line, pipe));
    assert_string_equal(line,
                        "cellblock serve: root is needed: jails without it are not there yet\n");
    assert_non_null(fgets(line, sizeof line, pipe));
    assert_string_equal(line, "1\n");
    assert_null(fgets(line, sizeof line, pipe));
    pclose(pipe);
    rig_stop(&rig);
}

static void links_little(void **state) {
    (void)state;
    char line[256];
    FILE *pipe = popen("readelf -d " TEST_PROGRAMS "/cellblock-warden", "re");
    int libraries = 0;
    while (fgets(line, sizeof line, pipe)) {
        if (!strstr(line, "(NEEDED)"))
            continue;
        libraries++;
        static const char *const refused[] = {"zmq", "event", "ssl", "crypto", "http"};
        for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
            if (strstr(line, refused[i]))
                fail_msg("%s", line);
    }
    assert_true(libraries > 1);
    assert_int_equal(pclose(pipe), 0);
    rig_stop(&rig);
}

int main(void) {
    if (geteuid() != 0)
        return 77;
    /* As on a host of systemd: what is mounted anywhere shows up everywhere, unless one prevents
     * it. */
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_SHARED, NULL) < 0)
        return 1;
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(gives_the_gateway_nothing_more_than_it_needs),
        TEST(passes_parameters_that_nobody_can_change),
        TEST(leaves_nothing_behind),
        TEST(ends_all_when_the_warden_is_killed),
        TEST(obeys_an_interrupt_as_it_obeys_sigterm),
        TEST(ends_while_a_gateway_is_on_its_way),
        TEST(outlives_whatever_a_gateway_says),
        TEST(does_not_wait_for_a_gateway_that_does_not_read),
        TEST(changes_the_limits_of_a_jail),
        TEST(says_that_it_needs_root),
        TEST(links_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
