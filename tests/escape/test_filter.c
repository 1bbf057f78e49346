/* What the kernel refuses to processes of a jail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
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

static void wears_a_filter(void **state) {
    (void)state;
    assert_string_equal(rig_probe(&rig, 1, "status|NoNewPrivs|Seccomp"),
                        "NoNewPrivs 1\nSeccomp 2\n");
}

static void refuses_what_leads_out(void **state) {
    (void)state;
    static const char expected[] =
        "mount EPERM\numount EPERM\nchroot EPERM\npivot_root EPERM\nopen_tree EPERM\n"
        "fsopen EPERM\nunshare EPERM\nclone EPERM\nclone3 ENOSYS\nsetns EPERM\nptrace EPERM\n"
        "process_vm_readv EPERM\nkcmp EPERM\nkeyctl EPERM\nadd_key EPERM\nbpf EPERM\n"
        "perf_event_open EPERM\nuserfaultfd EPERM\nio_uring_setup EPERM\nmemfd_secret EPERM\n"
        "name_to_handle_at EPERM\ncore_limit ok\ncore_limit_is 1\nother_limit ok\n"
        "personality EPERM\nsethostname EPERM\nsetuid EPERM\n"
        "setgroups EPERM\ncapset EPERM\nmknod EPERM\nmkfifo ok\nmerge EPERM\nsti EPERM\n"
        "sti_high EPERM\naf_alg EAFNOSUPPORT\naf_vsock EAFNOSUPPORT\naf_packet EAFNOSUPPORT\n"
        "netlink_generic EPROTONOSUPPORT\nnetlink_route ok\nraw EPERM\nunknown ENOSYS\n";
    assert_string_equal(rig_probe(&rig, 1, "calls"), expected);
}

static void lets_programs_work(void **state) {
    (void)state;
    assert_string_equal(rig_probe(&rig, 1, "work"), "thread 1\nshell 3\nterminal ok\n");
}

/* As a user without privileges, but outside of a jail, the same calls do something. */
static void the_probe_itself_works(void **state) {
    (void)state;
    char command[256], line[64];
    snprintf(command, sizeof command,
             "cd /tmp && setpriv --reuid 54321 --regid 54321 --clear-groups %s/probe calls; "
             "rm -f /tmp/fifo",
             rig.folder);
    FILE *pipe = popen(command, "re");
    assert_non_null(pipe);
    static const char *const works[] = {
        "open_tree ok\n",        "unshare ok\n",     "ptrace ok\n",
        "process_vm_readv ok\n", "kcmp ok\n",        "keyctl ok\n",
        "add_key ok\n",          "personality ok\n", "name_to_handle_at ok\n",
        "netlink_generic ok\n"};
    size_t found = 0, count = sizeof works / sizeof works[0];
    while (fgets(line, sizeof line, pipe))
        for (size_t i = 0; i < count; i++)
            found += strcmp(line, works[i]) == 0;
    pclose(pipe);
    assert_int_equal(found, count);
}

int main(void) {
    if (geteuid() != 0)
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wears_a_filter),
        cmocka_unit_test(refuses_what_leads_out),
        cmocka_unit_test(lets_programs_work),
        cmocka_unit_test(the_probe_itself_works),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
