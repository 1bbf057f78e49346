/* Who a process in a jail is, and what it was given. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rig/rig.h"

static struct rig rig;

static int set_up(void **state) {
    (void)state;
    rig_init(&rig, TEST_PROGRAMS);
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

static void is_a_user_without_capabilities(void **state) {
    (void)state;
    unsigned ids[8];
    const char *ids_text = rig_probe(&rig, 1, "status|Uid|Gid");
    assert_int_equal(sscanf(ids_text, "Uid %u %u %u %u Gid %u %u %u %u", &ids[0], &ids[1], &ids[2],
                            &ids[3], &ids[4], &ids[5], &ids[6], &ids[7]),
                     8);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(ids[i], ids[0]);
        assert_in_range(ids[i], rig.uid_base + 1, rig.uid_base + 899);
    }
    assert_string_equal(
        rig_probe(&rig, 1, "status|Groups|CapInh|CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs"),
        "Groups \nCapInh 0000000000000000\nCapPrm 0000000000000000\n"
        "CapEff 0000000000000000\nCapBnd 0000000000000000\nCapAmb 0000000000000000\n"
        "NoNewPrivs 1\n");
}

static void has_a_user_of_its_own(void **state) {
    (void)state;
    unsigned first, second;
    rig_create_jail(&rig, 2);
    assert_int_equal(sscanf(rig_probe(&rig, 1, "status|Uid"), "Uid %u", &first), 1);
    assert_int_equal(sscanf(rig_probe(&rig, 2, "status|Uid"), "Uid %u", &second), 1);
    assert_int_not_equal(first, second);
    assert_int_equal(rig_end_jail(&rig, 2), 0);
}

static void has_three_descriptors(void **state) {
    (void)state;
    assert_string_equal(rig_probe(&rig, 1, "fds"), "0 /dev/null\n1 pipe:\n2 pipe:\n");
}

static void has_an_environment_from_nothing(void **state) {
    (void)state;
    assert_string_equal(rig_probe(&rig, 1, "env"),
                        "PATH=/usr/local/bin:/usr/bin:/bin\nHOME=/home/user\nUSER=user\n"
                        "LOGNAME=user\nLANG=C.UTF-8\nTMPDIR=/tmp\nTEMP=/run/spare\n"
                        "CELLBLOCK_MEMORY_BYTES=536870912\n");
    rig_add_spec(&rig, "env", TEST_PROGRAMS "/probe|env",
                 ", \"env\": {\"A\": \"spec\", \"LANG\": \"x\"}");
    kill(rig.warden, SIGHUP);
    struct err err;
    static const char asked[] = "A=asked\0B=two words\0HOME=/tmp";
    assert_int_equal(rig_start_tree(&rig, 1, 5, "env", "{}", slice_make(asked, sizeof asked), &err),
                     0);
    rig_await(&rig, RPC_TREE_ENDED);
    assert_string_equal(rig_output(&rig),
                        "PATH=/usr/local/bin:/usr/bin:/bin\nHOME=/tmp\nUSER=user\nLOGNAME=user\n"
                        "LANG=x\nTMPDIR=/tmp\nTEMP=/run/spare\n"
                        "CELLBLOCK_MEMORY_BYTES=536870912\nA=asked\nB=two words\n");
}

static void leads_a_session_without_terminal(void **state) {
    (void)state;
    assert_string_equal(rig_probe(&rig, 1, "self"),
                        "umask 007\nleader yes\nterminal no\nhost cellblock\nparent 1\noom 800\n");
}

static void does_not_rename_the_host(void **state) {
    (void)state;
    char name[64] = "";
    rig_probe(&rig, 1, "self");
    gethostname(name, sizeof name);
    assert_string_equal(name, "outside");
}

/* What a user sees of keys: the session keyring of a process of its own. */
static int has_session_keyring(uid_t user) {
    pid_t pid = fork();
    int status;
    if (pid == 0) {
        char text[4096] = "";
        if (setresuid(user, user, user) < 0)
            _exit(2);
        int fd = open("/proc/keys", O_RDONLY | O_CLOEXEC);
        ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
        _exit(size < 0 ? 3 : strstr(text, " _ses: ") ? 1 : 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WEXITSTATUS(status);
}

static void has_a_keyring_of_its_own(void **state) {
    (void)state;
    unsigned user;
    assert_int_equal(sscanf(rig_probe(&rig, 1, "status|Uid"), "Uid %u", &user), 1);
    struct err err;
    rig_add_spec(&rig, "bind",
                 TEST_PROGRAMS "/probe|bind|/run/kernel/k-1|/run/kernel/k-2|/run/kernel/k-3|"
                               "/run/kernel/k-4|/run/kernel/k-5",
                 NULL);
    kill(rig.warden, SIGHUP);
    assert_int_equal(rig_start_tree(&rig, 1, 6, "bind", "{}", (struct slice){0}, &err), 0);
    rig_await(&rig, RPC_TREE_SOCKETS);
    rpc_packet_close(rig.packet);
    assert_int_equal(has_session_keyring(user), 1);
    assert_int_equal(has_session_keyring(rig.uid_base + 900), 0);
}

int main(void) {
    if (geteuid() != 0)
        return 77;
    /* What is no part of a jail here is not the machine's either. */
    if (unshare(CLONE_NEWUTS) < 0 || sethostname("outside", 7) < 0)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_a_user_without_capabilities),
        cmocka_unit_test(has_a_user_of_its_own),
        cmocka_unit_test(has_three_descriptors),
        cmocka_unit_test(has_an_environment_from_nothing),
        cmocka_unit_test(leads_a_session_without_terminal),
        cmocka_unit_test(does_not_rename_the_host),
        cmocka_unit_test(has_a_keyring_of_its_own),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
