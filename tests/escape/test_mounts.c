/* The root of a jail: what is in it, what can be written, what outlives a tree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rig/rig.h"

static struct rig rig;
static const char canary[] = "/root/cellblock-canary";

static int set_up(void **state) {
    (void)state;
    static const char *const small[] = {"--workspace-bytes",  "8MiB", "--tmp-bytes", "4MiB",
                                        "--workspace-inodes", "300",  NULL};
    int fd = open(canary, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    close(fd);
    rig_init(&rig, TEST_PROGRAMS);
    rig_start(&rig, small);
    return fd < 0 ? -1 : 0;
}

static int tear_down(void **state) {
    (void)state;
    int status = rig_stop(&rig);
    rig_finish(&rig);
    unlink(canary);
    return status == 0 ? 0 : -1;
}

static int make_jail(void **state) {
    (void)state;
    rig_create_jail(&rig, 1);
    return 0;
}

static int end_jail(void **state) {
    (void)state;
    return rig_end_jail(&rig, 1);
}

/* Where tests/run keeps the reports of a test build, which every jail shows. */
static const char *var_names(void) {
    static const char cache[] = "/var/cache/";
    bool is_shown = strncmp(CELLBLOCK_REPORT_DIR, cache, sizeof cache - 1) == 0;
    return is_shown ? "/var cache tmp\n" : "/var tmp\n";
}

static void hides_the_host(void **state) {
    (void)state;
    assert_string_equal(rig_probe(&rig, 1,
                                  "look|/root|/root/cellblock-canary|/home/user|/etc/shadow|/sys"
                                  "|/boot|/mnt|/srv|/opt|/var/lib|/run/systemd|/.dockerenv"),
                        "/root ENOENT\n/root/cellblock-canary ENOENT\n/home/user ok\n"
                        "/etc/shadow ENOENT\n/sys ok\n/boot ENOENT\n/mnt ENOENT\n"
                        "/srv ENOENT\n/opt ENOENT\n/var/lib ENOENT\n/run/systemd ENOENT\n"
                        "/.dockerenv ENOENT\n");
    assert_string_equal(rig_probe(&rig, 1, "list|/home|/run|/home/user"),
                        "/home user\n/run kernel spare\n/home/user\n");
    assert_string_equal(rig_probe(&rig, 1, "list|/var"), var_names());
    assert_string_equal(rig_probe(&rig, 1, "list|/sys|/sys/devices|/sys/devices/system"),
                        "/sys class devices\n/sys/devices system\n/sys/devices/system cpu\n");
    assert_string_equal(
        rig_probe(
            &rig, 1,
            "look|../../../../../../../../root|/proc/self/cwd/../../root|/proc/self/root/root"),
        "../../../../../../../../root ENOENT\n/proc/self/cwd/../../root ENOENT\n"
        "/proc/self/root/root ENOENT\n");
}

static void shows_a_dev_of_its_own(void **state) {
    (void)state;
    assert_string_equal(
        rig_probe(&rig, 1, "list|/dev|/dev/pts"),
        "/dev fd full null ptmx pts random shm stderr stdin stdout tty urandom zero\n"
        "/dev/pts ptmx\n");
    assert_string_equal(
        rig_probe(&rig, 1, "look|/dev/kvm|/dev/fuse|/dev/mem|/dev/net/tun|/dev/vda"),
        "/dev/kvm ENOENT\n/dev/fuse ENOENT\n/dev/mem ENOENT\n"
        "/dev/net/tun ENOENT\n/dev/vda ENOENT\n");
    assert_string_equal(
        rig_probe(&rig, 1, "read|/dev/null|/dev/zero|/dev/urandom|/etc/resolv.conf"),
        "/dev/null 0\n/dev/zero 65536\n/dev/urandom 65536\n"
        "/etc/resolv.conf 0\n");
}

static void says_little_in_proc(void **state) {
    (void)state;
    /* pid 1 is not to be seen, and nobody but the probe. */
    const char *names = rig_probe(&rig, 1, "list|/proc");
    int pid = 0, digits = 0;
    assert_int_equal(sscanf(names, "/proc %d %*s", &pid), 1);
    for (const char *at = names; (at = strchr(at, ' ')); at++)
        digits += at[1] >= '0' && at[1] <= '9';
    assert_int_equal(digits, 1);
    assert_int_equal(pid, 2);
    const char *read = rig_probe(&rig, 1,
                                 "read|/proc/1/environ|/proc/kallsyms|/proc/keys|/proc/kcore"
                                 "|/proc/kmsg|/proc/sysrq-trigger|/proc/timer_list"
                                 "|/proc/sys/kernel/core_pattern|/proc/sched_debug");
    int lines = 0;
    for (const char *at = read; *at; at = strchr(at, '\n') + 1, lines++) {
        char path[64], outcome[64];
        assert_int_equal(sscanf(at, "%63s %63s", path, outcome), 2);
        if (strcmp(outcome, "0") != 0 && strcmp(outcome, "ENOENT") != 0 &&
            strcmp(outcome, "EACCES") != 0)
            fail_msg("%s %s", path, outcome);
    }
    assert_int_equal(lines, 9);
    assert_string_equal(
        rig_probe(&rig, 1, "write|/proc/sys/kernel/hostname|/proc/sys/vm/drop_caches"),
        "/proc/sys/kernel/hostname EACCES\n"
        "/proc/sys/vm/drop_caches EACCES\n");
}

static void is_read_only_but_for_its_own(void **state) {
    (void)state;
    char words[256], expected[256];
    snprintf(words, sizeof words, "write|/x|/usr/x|/etc/x|/dev/x|/home/x|/run/x|/var/x|/lib/x|%s",
             "/tmp/x|/home/user/x|/dev/shm/x|/run/kernel/x|/var/tmp/y");
    snprintf(expected, sizeof expected,
             "/x EROFS\n/usr/x EROFS\n/etc/x EROFS\n/dev/x EROFS\n/home/x EROFS\n/run/x EROFS\n"
             "/var/x EROFS\n/lib/x EROFS\n/tmp/x ok\n/home/user/x ok\n/dev/shm/x ok\n"
             "/run/kernel/x ok\n/var/tmp/y ok\n");
    assert_string_equal(rig_probe(&rig, 1, words), expected);
    snprintf(words, sizeof words, "write|%s/x|%s/probe", rig.folder, rig.folder);
    const char *written = rig_probe(&rig, 1, words);
    assert_non_null(strstr(written, "/probe EACCES\n"));
}

/* Every mount is nosuid; nodev but for devices and terminals; read-only but for what is meant to be
 * written and for /proc, whose files guard themselves. */
static void restricts_every_mount(void **state) {
    (void)state;
    static const char *const writable[] = {"/tmp",        "/home/user", "/dev/shm", "/var/tmp",
                                           "/run/kernel", "/run/spare", "/dev/pts", "/proc"};
    static const char *const with_devices[] = {"/dev", "/dev/pts"};
    const char *report = CELLBLOCK_REPORT_DIR;
    int count = 0;
    for (const char *at = rig_probe(&rig, 1, "mounts"); *at; at = strchr(at, '\n') + 1, count++) {
        char point[256], options[256];
        assert_int_equal(sscanf(at, "%255s %255s", point, options), 2);
        bool may_write = strcmp(point, report) == 0;
        bool may_have_devices = strncmp(point, "/proc/", 6) == 0; /* /dev/null over files */
        for (size_t i = 0; i < sizeof writable / sizeof writable[0]; i++)
            may_write |= strcmp(point, writable[i]) == 0;
        for (size_t i = 0; i < sizeof with_devices / sizeof with_devices[0]; i++)
            may_have_devices |= strcmp(point, with_devices[i]) == 0;
        if (!strstr(options, "nosuid") || (!may_have_devices && !strstr(options, "nodev")) ||
            (!may_write && strncmp(options, "ro,", 3) != 0))
            fail_msg("%s %s", point, options);
    }
    assert_true(count > 15);
}

static void ends_at_its_sizes(void **state) {
    (void)state;
    int kib, files;
    char why[32], files_why[32];
    const char *filled = rig_probe(&rig, 1, "fill|/home/user");
    assert_int_equal(sscanf(filled, "%d %31s %d %31s", &kib, why, &files, files_why), 4);
    assert_string_equal(why, "ENOSPC");
    assert_string_equal(files_why, "ENOSPC");
    assert_in_range(kib, 7 * 1024, 8 * 1024);
    assert_in_range(files, 250, 300);
    filled = rig_probe(&rig, 1, "fill|/run/spare");
    assert_int_equal(sscanf(filled, "%d %31s %d %31s", &kib, why, &files, files_why), 4);
    assert_in_range(kib, 128, 256);
    assert_in_range(files, 50, 64);
    /* The last one: trees below /tmp are mounted in it. */
    static const char *const others[] = {"fill|/dev/shm", "fill|/tmp"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        filled = rig_probe(&rig, 1, others[i]);
        assert_int_equal(sscanf(filled, "%d %31s %d %31s", &kib, why, &files, files_why), 4);
        assert_in_range(kib, 3 * 1024, 4 * 1024);
        assert_string_equal(why, "ENOSPC");
        assert_in_range(files, 250, 20000);
        assert_string_equal(files_why, "ENOSPC");
    }
}

/* As a kernelspec's folder too. */
static void shows_trees_below_either_temporary_folder(void **state) {
    (void)state;
    static const char *const parents[] = {"/tmp", "/var/tmp"};
    for (uint64_t i = 0; i < 2; i++) {
        char command[512], spec[16], words[512];
        snprintf(spec, sizeof spec, "below%d", (int)i);
        snprintf(command, sizeof command,
                 "mkdir -p %s/cellblock-%d/tree && echo >%s/cellblock-%d/tree/file", parents[i],
                 getpid(), parents[i], getpid());
        assert_int_equal(system(command), 0);
        snprintf(command, sizeof command, "%s/probe|look|%s/cellblock-%d/tree/file", TEST_PROGRAMS,
                 parents[i], getpid());
        snprintf(words, sizeof words,
                 ", \"metadata\": {\"cellblock\": {\"trees\": [\"%s/cellblock-%d/tree\"]}}",
                 parents[i], getpid());
        rig_add_spec(&rig, spec, command, words);
        kill(rig.warden, SIGHUP);
        struct rpc_tree_ended ended = rig_run(&rig, 1, 50 + i, spec);
        snprintf(command, sizeof command, "rm -r %s/cellblock-%d", parents[i], getpid());
        assert_int_equal(system(command), 0);
        assert_int_equal(ended.cause, RPC_CAUSE_EXIT);
        assert_non_null(strstr(rig_output(&rig), "/tree/file ok\n"));
    }
    assert_string_equal(rig_probe(&rig, 1, "write|/var/tmp/one"), "/var/tmp/one ok\n");
    assert_string_equal(rig_probe(&rig, 1, "look|/tmp/one"), "/tmp/one ok\n");
}

static void keeps_the_workspace_from_tree_to_tree(void **state) {
    (void)state;
    rig_create_jail(&rig, 2);
    rig_probe(&rig, 1, "write|/home/user/kept|/tmp/kept|/dev/shm/gone|/run/kernel/gone");
    assert_string_equal(rig_probe(&rig, 1, "look|kept|/tmp/kept|/dev/shm/gone|/run/kernel/gone"),
                        "kept ok\n/tmp/kept ok\n/dev/shm/gone ENOENT\n/run/kernel/gone ENOENT\n");
    assert_string_equal(rig_probe(&rig, 2, "look|kept|/tmp/kept"),
                        "kept ENOENT\n/tmp/kept ENOENT\n");
    assert_int_equal(rig_end_jail(&rig, 1), 0);
    rig_create_jail(&rig, 1);
    assert_string_equal(rig_probe(&rig, 1, "look|kept|/tmp/kept"),
                        "kept ENOENT\n/tmp/kept ENOENT\n");
}

static void starts_in_the_workspace(void **state) {
    (void)state;
    assert_string_equal(rig_probe(&rig, 1, "link|/etc/passwd|home"), "home ok\ncwd /home/user\n");
}

/* A tree may lie below /tmp, so it is mounted into the session's own: a link that an earlier tree
 * of the session left in the way leads nowhere. */
static void follows_no_link_that_a_session_left(void **state) {
    (void)state;
    char words[512], tree[128], target[128];
    snprintf(tree, sizeof tree, "%s-tree", rig.folder);
    snprintf(target, sizeof target, "%s-target", rig.folder);
    assert_int_equal(mkdir(tree, 0755), 0);
    assert_int_equal(mkdir(target, 0777), 0);
    snprintf(words, sizeof words, "link|%s|%s", target, tree);
    assert_non_null(strstr(rig_probe(&rig, 1, words), "-tree ok\n"));

    snprintf(words, sizeof words, ", \"metadata\": {\"cellblock\": {\"trees\": [\"%s\"]}}", tree);
    rig_add_spec(&rig, "victim", TEST_PROGRAMS "/probe|look|/", words);
    kill(rig.warden, SIGHUP);
    struct rpc_tree_ended ended = rig_run(&rig, 1, 8, "victim");
    assert_int_equal(ended.cause, RPC_CAUSE_FAILED);
    snprintf(words, sizeof words, "start kernel victim: trees: make %s: ", tree);
    assert_non_null(strstr(rig_output(&rig), words));
    assert_int_equal(rmdir(target), 0); /* nothing was made in it */
    assert_int_equal(rmdir(tree), 0);
}

/* Where a tree's owner puts a link in its place after it was judged. */
static void shows_what_was_judged(void **state) {
    (void)state;
    char more[256], tree[128], sentence[256];
    snprintf(tree, sizeof tree, "%s-judged", rig.folder);
    assert_int_equal(mkdir(tree, 0755), 0);
    snprintf(more, sizeof more, ", \"metadata\": {\"cellblock\": {\"trees\": [\"%s\"]}}", tree);
    rig_add_spec(&rig, "judged", TEST_PROGRAMS "/probe|look|/", more);
    kill(rig.warden, SIGHUP);
    assert_int_equal(rig_run(&rig, 1, 8, "judged").cause, RPC_CAUSE_EXIT);
    assert_int_equal(rmdir(tree), 0);
    assert_int_equal(symlink("/root", tree), 0);
    struct rpc_tree_ended ended = rig_run(&rig, 1, 9, "judged");
    assert_int_equal(unlink(tree), 0);
    assert_int_equal(ended.cause, RPC_CAUSE_FAILED);
    snprintf(sentence, sizeof sentence, "start kernel judged: trees: show %s: ", tree);
    assert_non_null(strstr(rig_output(&rig), sentence));
}

int main(void) {
    if (geteuid() != 0)
        return 77;
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_jail, end_jail)
    const struct CMUnitTest tests[] = {
        TEST(hides_the_host),
        TEST(shows_a_dev_of_its_own),
        TEST(says_little_in_proc),
        TEST(is_read_only_but_for_its_own),
        TEST(restricts_every_mount),
        TEST(ends_at_its_sizes),
        TEST(shows_trees_below_either_temporary_folder),
        TEST(keeps_the_workspace_from_tree_to_tree),
        TEST(starts_in_the_workspace),
        TEST(follows_no_link_that_a_session_left),
        TEST(shows_what_was_judged),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
