/* The folder of a kernel's sockets, in which everything is the session's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "rig/rig.h"

static struct rig rig;
static const struct slice nothing;
static const char *const kinds[] = {"socket", "link", "passwd", "file", "fifo", "folder"};

static int set_up(void **state) {
    (void)state;
    rig_init(&rig, TEST_PROGRAMS);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        char argv[256];
        snprintf(argv, sizeof argv, "%s/probe|odd|%s", TEST_PROGRAMS, kinds[i]);
        rig_add_spec(&rig, kinds[i], argv, NULL);
    }
    rig_add_spec(&rig, "rename", TEST_PROGRAMS "/probe|rename", NULL);
    rig_add_spec(&rig, "busy", TEST_PROGRAMS "/probe|busy|100", NULL);
    rig_add_spec(&rig, "too-busy", TEST_PROGRAMS "/probe|busy|2000|hog", NULL);
    rig_add_spec(&rig, "storm", TEST_PROGRAMS "/probe|told|20000|storm", NULL);
    rig_add_spec(&rig, "calm", TEST_PROGRAMS "/probe|told|0|calm", NULL);
    rig_start(&rig, NULL);
    rig_create_jail(&rig, 1);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    int status = rig_stop(&rig);
    rig_finish(&rig);
    return status == 0 ? 0 : -1;
}

static void start(uint64_t tree, const char *spec) {
    struct err err;
    assert_int_equal(rig_start_tree(&rig, 1, tree, spec, "{}", nothing, &err), 0);
}

static void kill_tree(uint64_t tree) {
    struct rpc_tree_kill request = {.head.kind = RPC_TREE_KILL, .tree = tree};
    assert_int_equal(rig_request(&rig, &request, nothing, NULL), 0);
    rig_await(&rig, RPC_TREE_ENDED);
    assert_int_equal(rig.packet->tree_ended.tree, tree);
    assert_int_equal(rig.packet->tree_ended.cause, RPC_CAUSE_KILLED);
}

/* Five different sockets, told once. */
static void await_sockets(uint64_t tree) {
    rig_await(&rig, RPC_TREE_SOCKETS);
    assert_int_equal(rig.packet->tree_sockets.tree, tree);
    ino_t seen[5];
    for (size_t i = 0; i < 5; i++) {
        struct stat info;
        assert_int_equal(fstat(rig.packet->fds[i], &info), 0);
        assert_true(S_ISSOCK(info.st_mode));
        for (size_t j = 0; j < i; j++)
            assert_true(info.st_ino != seen[j]);
        seen[i] = info.st_ino;
    }
    rpc_packet_close(rig.packet);
}

/* The folder changed before the program ended, so the warden has looked when it tells the end. */
static void await_end(uint64_t tree) {
    rig_await(&rig, RPC_TREE_ENDED);
    assert_int_equal(rig.packet->tree_ended.tree, tree);
    if (rig.packet->tree_ended.cause != RPC_CAUSE_EXIT || rig.packet->tree_ended.status != 0)
        fail_msg("%s", rig_output(&rig));
}

static void takes_nothing_but_sockets(void **state) {
    (void)state;
    start(10, kinds[0]);
    await_sockets(10);
    await_end(10);
    for (uint64_t i = 1; i < sizeof kinds / sizeof kinds[0]; i++) {
        start(10 + i, kinds[i]);
        await_end(10 + i);
        if (rig_count_kept(&rig, RPC_TREE_SOCKETS) > 0)
            fail_msg("%s", kinds[i]);
    }
}

static void takes_sockets_that_were_moved(void **state) {
    (void)state;
    start(20, "rename");
    await_sockets(20);
    kill_tree(20);
}

static void hands_over_once(void **state) {
    (void)state;
    start(30, "busy");
    await_sockets(30);
    await_end(30);
    assert_int_equal(rig_count_kept(&rig, RPC_TREE_SOCKETS), 0);
}

/* A process of the warden's jails by its last argument, in the host's numbers. */
static pid_t find_process(const char *last_argument) {
    glob_t found;
    pid_t result = 0;
    assert_int_equal(glob("/proc/[0-9]*/cmdline", 0, NULL, &found), 0);
    for (size_t i = 0; !result && i < found.gl_pathc; i++) {
        char words[256];
        FILE *file = fopen(found.gl_pathv[i], "re");
        size_t size = file ? fread(words, 1, sizeof words, file) : 0;
        size_t last = strlen(last_argument) + 1;
        if (size > last &&
            memcmp(words, TEST_PROGRAMS "/probe", sizeof TEST_PROGRAMS "/probe") == 0)
            if (memcmp(words + size - last, last_argument, last) == 0)
                sscanf(found.gl_pathv[i], "/proc/%d", &result);
        if (file)
            fclose(file);
    }
    globfree(&found);
    return result;
}

/* One that wants the warden to do nothing else gets no more attention, and others get theirs. */
static void is_not_kept_busy_by_one(void **state) {
    (void)state;
    enum { TREE_FDS = 3 }; /* its process, its link, and the folder until it is forgotten */
    /* The warden has finished what it did when it answers the next request. */
    assert_int_equal(rig_end_jail(&rig, 250), -ENOENT);
    int before = rig_count_fds(&rig), left_ms = RIG_WAIT_MS;
    char go[128];
    start(40, "too-busy");
    while (rig_count_fds(&rig) != before + TREE_FDS - 1 && left_ms-- > 0)
        usleep(1000);
    assert_true(left_ms > 0);
    snprintf(go, sizeof go, "/proc/%d/root/home/user/hog", find_process("hog"));
    assert_int_equal(mkdir(go, 0755), 0);
    for (uint64_t tree = 41; tree < 45; tree++) {
        start(tree, "rename");
        await_sockets(tree);
    }
    rig_await(&rig, RPC_TREE_ENDED);
    assert_int_equal(rig.packet->tree_ended.tree, 40);
    assert_int_equal(rig_count_kept(&rig, RPC_TREE_SOCKETS), 0);
    for (uint64_t tree = 41; tree < 45; tree++)
        kill_tree(tree);
}

/* Lets the program of a tree begin, and waits until it is done, without the warden's help. */
static void let_go(const char *name) {
    char go[128], done[160];
    pid_t process = 0;
    for (int left_ms = RIG_WAIT_MS; !process && left_ms > 0; left_ms--, usleep(1000))
        process = find_process(name);
    assert_true(process > 0);
    snprintf(go, sizeof go, "/proc/%d/root/home/user/%s", process, name);
    snprintf(done, sizeof done, "%s-done", go);
    assert_int_equal(mkdir(go, 0755), 0);
    int left_ms = RIG_WAIT_MS;
    for (; access(done, F_OK) < 0 && left_ms > 0; left_ms--)
        usleep(1000);
    assert_true(left_ms > 0);
}

/* More changes than inotify's queue holds (16384, inotify(7)) push out those that come after. */
static void misses_none_by_anothers_storm(void **state) {
    (void)state;
    start(50, "storm");
    start(51, "calm");
    assert_int_equal(kill(rig.warden, SIGSTOP), 0);
    let_go("storm");
    let_go("calm");
    assert_int_equal(kill(rig.warden, SIGCONT), 0);
    bool is_told = false;
    while (!is_told) {
        struct rpc_packet *packet = rig_await(&rig, RPC_TREE_SOCKETS);
        is_told = packet->tree_sockets.tree == 51;
        rpc_packet_close(packet);
    }
    kill_tree(50);
    kill_tree(51);
}

int main(void) {
    if (geteuid() != 0)
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_nothing_but_sockets),
        cmocka_unit_test(takes_sockets_that_were_moved),
        cmocka_unit_test(hands_over_once),
        cmocka_unit_test(is_not_kept_busy_by_one),
        cmocka_unit_test(misses_none_by_anothers_storm),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
