/* Sessions in their control groups: held by them, told what these ended, and nothing stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "jail/control.h"
#include "jail/places.h"
#include "rig/rig.h"

enum { MEMORY = 64 << 20, PIDS = 100 };

static struct rig rig;
static const struct slice nothing;

#define PROBE TEST_PROGRAMS "/probe"

static void begin(void) {
    rig_init(&rig, TEST_PROGRAMS);
    rig_add_spec(&rig, "wait", PROBE "|wait", NULL);
    rig_add_spec(&rig, "missing", "/usr/bin/no-such-program", NULL);
    rig_add_spec(&rig, "memory", PROBE "|memory|100", NULL);
    rig_add_spec(&rig, "half", PROBE "|memory|40|/home/user/half", NULL);
    rig_add_spec(&rig, "fill", PROBE "|fill|/home/user", NULL);
    rig_add_spec(&rig, "bomb", PROBE "|bomb", NULL);
    rig_start(&rig, (const char *const[]){"--memory-bytes", "64MiB", "--pids", "100", NULL});
}

static int set_up(void **state) {
    (void)state;
    begin();
    rig_create_jail(&rig, 1);
    return 0;
}

/* -- groups, seen from outside */

static size_t own_places(struct place places[PLACES_MAX]) {
    static char cgroup[65536], mountinfo[262144];
    assert_int_equal(control_read(AT_FDCWD, "/proc/self/cgroup", cgroup, sizeof cgroup), 0);
    assert_int_equal(control_read(AT_FDCWD, "/proc/self/mountinfo", mountinfo, sizeof mountinfo),
                     0);
    return places_find(cgroup, mountinfo, places);
}

/* The folders of the warden: every hierarchy's, or the one that has the controller. */
static size_t find_folders(unsigned controller, char paths[PLACES_MAX][PATH_MAX]) {
    struct place places[PLACES_MAX];
    char prefix[64];
    size_t found = 0, count = own_places(places);
    snprintf(prefix, sizeof prefix, "cellblock-%d-", rig.warden);
    for (size_t i = 0; i < count; i++) {
        DIR *folder = opendir(places[i].path);
        for (struct dirent *entry; folder && (entry = readdir(folder));)
            if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 &&
                (!controller || (places[i].controllers & controller)))
                snprintf(paths[found++], PATH_MAX, "%.2000s/%s", places[i].path, entry->d_name);
        closedir(folder);
    }
    return found;
}

/* Groups that are folders in the warden's own, or deeper. */
static int count_groups(const char *path) {
    DIR *folder = opendir(path);
    int count = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.') {
            char inner[PATH_MAX];
            snprintf(inner, sizeof inner, "%.2000s/%s", path, entry->d_name);
            count += 1 + count_groups(inner);
        }
    if (folder)
        closedir(folder);
    return count;
}

static int count_all_groups(void) {
    char paths[PLACES_MAX][PATH_MAX];
    size_t count = find_folders(0, paths);
    int groups = 0;
    for (size_t i = 0; i < count; i++)
        groups += count_groups(paths[i]);
    return groups;
}

static const char *read_limit(unsigned controller, const char *file) {
    static char text[64];
    char paths[PLACES_MAX][PATH_MAX], path[PATH_MAX];
    assert_int_equal(find_folders(controller, paths), 1);
    snprintf(path, sizeof path, "%.3000s/01000000-0000-0000-0000-000000000000/%s", paths[0], file);
    assert_int_equal(control_read(AT_FDCWD, path, text, sizeof text), 0);
    text[strlen(text) - 1] = 0; /* its end of line */
    return text;
}

/* Whatever it did, the warden is where it was started: where this test is. */
static void check_warden_is_home(void) {
    char path[64], own[8192], others[8192];
    snprintf(path, sizeof path, "/proc/%d/cgroup", rig.warden);
    assert_int_equal(control_read(AT_FDCWD, "/proc/self/cgroup", own, sizeof own), 0);
    assert_int_equal(control_read(AT_FDCWD, path, others, sizeof others), 0);
    assert_string_equal(own, others);
}

static int tear_down(void **state) {
    (void)state;
    char paths[PLACES_MAX][PATH_MAX];
    int status = rig_stop(&rig);
    size_t left = find_folders(0, paths);
    rig_finish(&rig);
    return status == 0 && left == 0 ? 0 : -1;
}

static void await_end(uint64_t tree, struct rpc_tree_ended *ret_ended) {
    do
        rig_await(&rig, RPC_TREE_ENDED);
    while (rig.packet->tree_ended.tree != tree);
    *ret_ended = rig.packet->tree_ended;
}

static void start(uint64_t tree, const char *spec) {
    struct err err;
    assert_int_equal(rig_start_tree(&rig, 1, tree, spec, "{}", nothing, &err), 0);
}

/* -- */

static void check_out_of_memory(const struct rpc_tree_ended *ended) {
    assert_int_equal(ended->cause, RPC_CAUSE_OOM);
    assert_int_equal(ended->status, SIGKILL);
    assert_int_equal(ended->limit, MEMORY);
    assert_in_range(ended->peak, MEMORY / 2, MEMORY);
}

static void tells_what_the_memory_limit_ended(void **state) {
    (void)state;
    struct rpc_tree_ended ended = rig_run(&rig, 1, 1, "memory");
    check_out_of_memory(&ended);
    assert_non_null(strstr(rig_log(&rig), "warden: out of memory: a process of tree 1 jail 01000"));
    ended = rig_run(&rig, 1, 2, "memory"); /* counts begin anew with each tree */
    check_out_of_memory(&ended);
    check_warden_is_home();
}

static void counts_files_in_memory(void **state) {
    (void)state;
    struct rpc_tree_ended ended = rig_run(&rig, 1, 1, "fill");
    check_out_of_memory(&ended);
    /* The files are there still: what comes now finds no memory, and is told so. */
    ended = rig_run(&rig, 1, 2, "memory");
    check_out_of_memory(&ended);
    assert_int_equal(rig_end_jail(&rig, 1), 0);
    rig_create_jail(&rig, 1);
    assert_string_equal(rig_probe(&rig, 1, "print|0|well"), "well\n");
    check_warden_is_home();
}

/* Each is below the limit; both are not. */
static void holds_all_trees_together(void **state) {
    (void)state;
    struct rpc_tree_ended ended;
    start(1, "half");
    start(2, "half");
    rig_await(&rig, RPC_TREE_ENDED);
    ended = rig.packet->tree_ended;
    check_out_of_memory(&ended);
    assert_int_equal(rig_count_kept(&rig, RPC_TREE_ENDED), 0);
}

static void spares_a_program_whose_child_was_ended(void **state) {
    (void)state;
    assert_string_equal(rig_probe(&rig, 1, "child|100"), "KILL\n");
    assert_non_null(strstr(rig_log(&rig), "warden: out of memory: a process of tree "));
    assert_string_equal(rig_probe(&rig, 1, "child|1"), "ended\n");
}

/* SIGKILL by other hands is what it is. */
static void tells_a_plain_kill_as_one(void **state) {
    (void)state;
    rig_add_spec(&rig, "kills", "/bin/sh|-c|kill -9 $$", NULL);
    kill(rig.warden, SIGHUP);
    struct rpc_tree_ended ended = rig_run(&rig, 1, 1, "kills");
    assert_int_equal(ended.cause, RPC_CAUSE_SIGNAL);
    assert_int_equal(ended.status, SIGKILL);
}

static void chooses_pid_1_last(void **state) {
    (void)state;
    char pids[2][32], path[96], scores[2][16];
    start(1, "wait");
    rig_probe(&rig, 1, "print|0"); /* by then the other tree runs its program */
    const char *listed = read_limit(CONTROLLER_MEMORY, "1/tasks");
    assert_int_equal(sscanf(listed, "%31s %31s", pids[0], pids[1]), 2);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "/proc/%s/oom_score_adj", pids[i]);
        assert_int_equal(control_read(AT_FDCWD, path, scores[i], sizeof scores[i]), 0);
    }
    assert_string_equal(scores[0], "700\n");
    assert_string_equal(scores[1], "800\n");
}

static void writes_limits_and_changes_them(void **state) {
    (void)state;
    assert_string_equal(read_limit(CONTROLLER_MEMORY, "memory.limit_in_bytes"), "67108864");
    assert_string_equal(read_limit(CONTROLLER_PIDS, "pids.max"), "100");
    assert_string_equal(read_limit(CONTROLLER_CPU, "cpu.cfs_quota_us"), "-1");
    struct rpc_jail_create change = {
        .head.kind = RPC_JAIL_LIMITS,
        .jail = {1},
        .limits = {.memory_bytes = 32 << 20, .pids = 50, .cpus_milli = 500}};
    assert_int_equal(rig_request(&rig, &change, nothing, NULL), 0);
    assert_string_equal(read_limit(CONTROLLER_MEMORY, "memory.limit_in_bytes"), "33554432");
    assert_string_equal(read_limit(CONTROLLER_PIDS, "pids.max"), "50");
    assert_string_equal(read_limit(CONTROLLER_CPU, "cpu.cfs_quota_us"), "50000");
    change.limits = (struct rpc_limits){0};
    assert_int_equal(rig_request(&rig, &change, nothing, NULL), 0);
    assert_string_equal(read_limit(CONTROLLER_MEMORY, "memory.limit_in_bytes"), "67108864");
    assert_string_equal(read_limit(CONTROLLER_CPU, "cpu.cfs_quota_us"), "-1");
}

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void ends_a_fork_bomb(void **state) {
    (void)state;
    start(1, "bomb");
    int64_t deadline = now_ms() + RIG_WAIT_MS;
    while (rig_count_processes(&rig) < PIDS && now_ms() < deadline)
        usleep(1000);
    assert_in_range(rig_count_processes(&rig), PIDS / 2, PIDS + 1);
    int64_t before = now_ms();
    assert_int_equal(rig_end_jail(&rig, 1), 0);
    print_message("a live fork bomb of %d was gone after %lld ms\n", PIDS,
                  (long long)(now_ms() - before));
    assert_true(now_ms() - before < 5000);
    assert_int_equal(rig_count_processes(&rig), 1);
}

static void leaves_no_group_behind(void **state) {
    (void)state;
    assert_true(count_all_groups() > 0);
    for (uint64_t i = 0; i < 20; i++) {
        struct rpc_tree_ended ended;
        start(3 * i, "missing");
        await_end(3 * i, &ended);
        assert_int_equal(ended.cause, RPC_CAUSE_FAILED);
        start(3 * i + 1, "wait");
        start(3 * i + 2, "wait");
        assert_int_equal(rig_end_jail(&rig, 1), 0);
        assert_int_equal(count_all_groups(), 0);
        check_warden_is_home();
        rig_create_jail(&rig, 1);
    }
    struct rpc_jail_create refused = {.head.kind = RPC_JAIL_CREATE, .jail = {1}};
    assert_int_equal(rig_request(&rig, &refused, nothing, NULL), -EEXIST);
    assert_int_equal(rig_end_jail(&rig, 1), 0);
    assert_int_equal(count_all_groups(), 0);
}

/* What a killed one could not remove, the next one does. */
static void cleans_up_after_a_warden_that_was_killed(void **state) {
    (void)state;
    char paths[PLACES_MAX][PATH_MAX];
    start(1, "wait");
    struct rig killed = rig;
    assert_true(find_folders(0, paths) > 0);
    rig_kill(&rig, 1);
    begin();
    struct rig next = rig;
    rig = killed;
    assert_int_equal(find_folders(0, paths), 0);
    rig_finish(&rig);
    rig = next;
}

int main(void) {
    struct place places[PLACES_MAX];
    if (geteuid() != 0 || own_places(places) == 0)
        return 77;
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(tells_what_the_memory_limit_ended),
        TEST(counts_files_in_memory),
        TEST(holds_all_trees_together),
        TEST(spares_a_program_whose_child_was_ended),
        TEST(tells_a_plain_kill_as_one),
        TEST(chooses_pid_1_last),
        TEST(writes_limits_and_changes_them),
        TEST(ends_a_fork_bomb),
        TEST(leaves_no_group_behind),
        TEST(cleans_up_after_a_warden_that_was_killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
