/* Processes of a jail: who they see, whom they can hinder, what is left of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <unistd.h>

#include "rig/rig.h"

static struct rig rig;
static int host_segment = -1;

static int set_up(void **state) {
    (void)state;
    static const char *const limits[] = {"--pids", "40", "--open-files", "100", NULL};
    rig_init(&rig, TEST_PROGRAMS);
    rig_start(&rig, limits);
    rig_create_jail(&rig, 1);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    if (host_segment >= 0)
        shmctl(host_segment, IPC_RMID, NULL);
    int status = rig_stop(&rig);
    rig_finish(&rig);
    return status == 0 ? 0 : -1;
}

static void leaves_no_process_behind(void **state) {
    (void)state;
    rig_probe(&rig, 1, "daemon");
    assert_int_equal(rig_count_processes(&rig), 1); /* the gateway */
}

static void cannot_hinder_pid_1(void **state) {
    (void)state;
    assert_string_equal(rig_probe(&rig, 1, "attack1"),
                        "limit EPERM\nlimit EPERM\nlimit EPERM\nlimit EPERM\nlimit EPERM\n"
                        "own limit ok\nalive yes\n");
}

static void shares_ipc_with_its_own_trees_only(void **state) {
    (void)state;
    char words[32];
    key_t key = 424200000 + getpid();
    snprintf(words, sizeof words, "shm|%d", (int)key);
    host_segment = shmget(key, 4096, IPC_CREAT | IPC_EXCL | 0666);
    assert_true(host_segment >= 0);
    rig_create_jail(&rig, 2);
    assert_string_equal(rig_probe(&rig, 1, words), "ENOENT\nmade\n");
    assert_string_equal(rig_probe(&rig, 1, words), "found\nmade\n");
    assert_string_equal(rig_probe(&rig, 2, words), "ENOENT\nmade\n");
    assert_int_equal(rig_end_jail(&rig, 2), 0);
}

static void has_limits(void **state) {
    (void)state;
    /* Held by a control group, where there is one, and then as the host has it. */
    bool is_held = !strstr(rig_log(&rig), "without control groups");
    struct rlimit own;
    assert_int_equal(getrlimit(RLIMIT_NPROC, &own), 0);
    long long most = is_held ? (long long)own.rlim_max : 40;
    char expected[512];
    snprintf(expected, sizeof expected,
             "core 1 1\nfsize 4294967296 4294967296\nmemlock 65536 65536\n"
             "msgqueue 0 0\nnice 0 0\nnofile 100 100\nnproc %lld %lld\nrtprio 0 0\n"
             "stack 8388608 8388608\nsigpending 1024 1024\n",
             most, most);
    assert_string_equal(rig_probe(&rig, 1, "limits"), expected);
    int made;
    char why[16];
    assert_int_equal(sscanf(rig_probe(&rig, 1, "fork|100"), "%d %15s", &made, why), 2);
    assert_string_equal(why, "EAGAIN");
    assert_in_range(made, 30, 40);
    assert_int_equal(rig_count_processes(&rig), 1);
    assert_string_equal(rig_probe(&rig, 1, "open|200"), "EMFILE\n");
}

int main(void) {
    if (geteuid() != 0)
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_no_process_behind),
        cmocka_unit_test(cannot_hinder_pid_1),
        cmocka_unit_test(shares_ipc_with_its_own_trees_only),
        cmocka_unit_test(has_limits),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
