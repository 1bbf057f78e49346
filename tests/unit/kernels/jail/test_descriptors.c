#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jail/jail.h"

/* In a child, whose descriptors may go. */
static int run(int (*body)(void)) {
    pid_t pid = fork();
    int status;
    if (pid == 0)
        _exit(body());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WEXITSTATUS(status);
}

static int is_same(int fd, ino_t inode) {
    struct stat info;
    return fstat(fd, &info) == 0 && info.st_ino == inode;
}

/* Two descriptors that stand in each other's way, and others that would pass through an exec. */
static int swap_and_close(void) {
    int first[2], second[2];
    struct stat a, b;
    struct err err;
    if (pipe(first) < 0 || pipe(second) < 0 || dup2(first[0], 4) < 0 || dup2(second[0], 3) < 0 ||
        fstat(4, &a) < 0 || fstat(3, &b) < 0 || dup2(first[1], 50) < 0 || dup2(first[1], 5) < 0)
        return 1;
    if (jail_place_descriptors((const int[]){4, 3}, 2, -1, &err) < 0)
        return 2;
    if (!is_same(3, a.st_ino) || !is_same(4, b.st_ino))
        return 3;
    for (int fd = 5; fd < 100; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            return 4;
    for (int fd = 0; fd < 5; fd++)
        if (fcntl(fd, F_GETFD) != 0) /* they stay open when the program is run */
            return 5;
    struct stat null, input;
    if (stat("/dev/null", &null) < 0 || fstat(0, &input) < 0 || input.st_rdev != null.st_rdev ||
        !is_same(1, input.st_ino) || !is_same(2, input.st_ino))
        return 6;
    return 0;
}

static int keep_output(void) {
    int ends[2];
    struct stat info;
    struct err err;
    if (pipe(ends) < 0 || fstat(ends[1], &info) < 0 ||
        jail_place_descriptors(NULL, 0, ends[1], &err) < 0)
        return 1;
    return is_same(1, info.st_ino) && is_same(2, info.st_ino) && fcntl(3, F_GETFD) < 0 ? 0 : 2;
}

static int refuse_what_is_closed(void) {
    struct err err;
    return jail_place_descriptors((const int[]){999}, 1, -1, &err) == -EBADF ? 0 : 1;
}

static void places_what_is_kept_and_nothing_else(void **state) {
    (void)state;
    assert_int_equal(run(swap_and_close), 0);
    assert_int_equal(run(keep_output), 0);
    assert_int_equal(run(refuse_what_is_closed), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(places_what_is_kept_and_nothing_else)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
