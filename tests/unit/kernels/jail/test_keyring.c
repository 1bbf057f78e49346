/* What the filter hides from a probe in a jail: the keyring a tree's processes have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <linux/keyctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jail/steps.h"

static long session_keyring(void) {
    return syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0);
}

/* A key that this test has, and a process in a jail must not. */
static void shares_no_session_keyring(void **state) {
    (void)state;
    pid_t pid = fork();
    int status;
    if (pid == 0) {
        struct jail_build build = {.root_fd = -1};
        struct err err;
        syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
        long key = syscall(SYS_add_key, "user", "canary", "x", 1, KEY_SPEC_SESSION_KEYRING);
        long outside = session_keyring();
        long found =
            syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user", "canary", 0);
        if (key < 0 || found != key)
            _exit(2);
        if (step_keyring.enter(&build, &err) < 0)
            _exit(3);
        found = syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user", "canary", 0);
        _exit(session_keyring() != outside && found < 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(shares_no_session_keyring)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
