/* Unix sockets in folders that somebody else may write to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "warden/listen.h"

static char folder[] = "/tmp/test_listen.XXXXXX";
static char path[64], word[80];

static int set_up(void **state) {
    (void)state;
    if (!mkdtemp(strcpy(folder, "/tmp/test_listen.XXXXXX")))
        return -1;
    snprintf(path, sizeof path, "%s/socket", folder);
    snprintf(word, sizeof word, "unix:%s", path);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    char command[80];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static int bind_one(struct listeners *listeners, struct err *err) {
    char *items[] = {word};
    const struct params params = {
        .listen = {items, 1}, .socket_group = "4244", .socket_mode = 0666, .certfile = ""};
    return listeners_bind(listeners, &params, err);
}

static void makes_it_with_its_group_and_mode(void **state) {
    (void)state;
    struct listeners listeners = {0};
    struct stat info;
    struct err err;
    assert_int_equal(bind_one(&listeners, &err), 0);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode, S_IFSOCK | 0666);
    assert_int_equal(info.st_gid, 4244);
    listeners_finish(&listeners);
    assert_int_equal(access(path, F_OK), -1);
}

/* Two servers that start at the same time: clients of the first would find nobody. */
static void leaves_a_server_that_comes_up(void **state) {
    (void)state;
    struct listeners first = {0}, second = {0};
    struct stat before, after;
    struct err err;
    assert_int_equal(bind_one(&first, &err), 0);
    assert_int_equal(stat(path, &before), 0);
    assert_int_equal(bind_one(&second, &err), -EADDRINUSE);
    listeners_finish(&second);
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    listeners_finish(&first);
}

static void takes_away_what_nobody_holds(void **state) {
    (void)state;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct listeners listeners = {0};
    struct err err;
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    close(fd);
    assert_int_equal(bind_one(&listeners, &err), 0);
    listeners_finish(&listeners);
}

/* -- the folder's owner */

static char victim[64], bait[64];
static atomic_bool is_over;

/* Puts a link to the victim wherever the server has just made its socket. */
static void *swap(void *nothing) {
    struct stat info;
    while (!is_over)
        if (lstat(path, &info) == 0 && S_ISSOCK(info.st_mode) && symlink(victim, bait) == 0 &&
            rename(bait, path) < 0)
            unlink(bait);
    return nothing;
}

static void changes_no_file_but_its_own(void **state) {
    (void)state;
    enum { TRIES = 300 };
    struct stat before, after;
    pthread_t attacker;
    snprintf(victim, sizeof victim, "%s/victim", folder);
    snprintf(bait, sizeof bait, "%s/bait", folder);
    fclose(fopen(victim, "we"));
    assert_int_equal(chmod(victim, 0600), 0);
    assert_int_equal(stat(victim, &before), 0);
    is_over = false;
    assert_int_equal(pthread_create(&attacker, NULL, swap, NULL), 0);
    for (int i = 0; i < TRIES; i++) {
        struct listeners listeners = {0};
        struct err err;
        bind_one(&listeners, &err);
        listeners_finish(&listeners);
        unlink(path);
    }
    is_over = true;
    pthread_join(attacker, NULL);
    assert_int_equal(stat(victim, &after), 0);
    assert_int_equal(after.st_mode, before.st_mode);
    assert_int_equal(after.st_gid, before.st_gid);
}

int main(void) {
    if (geteuid() != 0)
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(makes_it_with_its_group_and_mode, set_up, tear_down),
        cmocka_unit_test_setup_teardown(leaves_a_server_that_comes_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(takes_away_what_nobody_holds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(changes_no_file_but_its_own, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
