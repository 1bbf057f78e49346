/* Runs the real pid 1 in a pid namespace of its own, as the warden does, and plays the warden. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tree.h"

/* The script says on stdout how far it is; its output comes with the last report, so a script that
 * must be waited for writes to this fifo instead. */
static char fifo_path[] = "/tmp/test_init.XXXXXX";
static int fifo_fd;

static int make_fifo(void **state) {
    (void)state;
    int fd = mkstemp(fifo_path);
    close(fd);
    unlink(fifo_path);
    if (mkfifo(fifo_path, 0600) < 0)
        return -1;
    fifo_fd = open(fifo_path, O_RDWR | O_CLOEXEC);
    return fifo_fd < 0 ? -1 : setenv("FIFO", fifo_path, 1);
}

static int remove_fifo(void **state) {
    (void)state;
    close(fifo_fd);
    return unlink(fifo_path);
}

/* script with every @ replaced by the fifo's path. */
static char *with_fifo(const char *script) {
    static char text[1024];
    size_t size = 0;
    for (; *script; script++)
        size += (size_t)snprintf(text + size, sizeof text - size, "%.*s", *script == '@' ? 99 : 1,
                                 *script == '@' ? fifo_path : script);
    return text;
}

static char await_fifo(void) {
    char byte = 0;
    assert_int_equal(read(fifo_fd, &byte, 1), 1);
    return byte;
}

static void reports_exit_status_and_output(void **state) {
    (void)state;
    struct tree tree = tree_start("echo to stdout; echo to stderr >&2; exit 7");
    tree_await_start(&tree);
    size_t size = tree_await_report(&tree);
    assert_int_equal(tree_report.kind, INIT_EXITED);
    assert_int_equal(tree_report.value, 7);
    assert_int_equal(size, 20);
    assert_memory_equal(tree_report.output, "to stdout\nto stderr\n", 20);
    assert_int_equal(tree_finish(&tree), 0);
}

static void reports_signal(void **state) {
    (void)state;
    struct tree tree = tree_start("kill -SEGV $$");
    tree_await_start(&tree);
    tree_await_report(&tree);
    assert_int_equal(tree_report.kind, INIT_SIGNALED);
    assert_int_equal(tree_report.value, SIGSEGV);
    assert_int_equal(tree_finish(&tree), 0);
}

static void reports_exec_failure(void **state) {
    (void)state;
    struct tree tree = tree_start(NULL);
    assert_int_equal(tree_await_report(&tree), 0);
    assert_int_equal(tree_report.kind, INIT_FAILED);
    assert_int_equal(tree_report.value, ENOENT);
    assert_int_equal(tree_finish(&tree), 0);
}

static void keeps_the_tail_of_much_output(void **state) {
    (void)state;
    struct tree tree = tree_start("i=0; while [ $i -lt 30000 ]; do echo line $i; i=$((i+1)); done");
    tree_await_start(&tree);
    assert_int_equal(tree_await_report(&tree), INIT_OUTPUT_MAX);
    assert_memory_equal(tree_report.output + INIT_OUTPUT_MAX - 22, "line 29998\nline 29999\n", 22);
    assert_int_equal(tree_finish(&tree), 0);
}

static void does_not_wait_for_others_who_hold_the_output(void **state) {
    (void)state;
    struct tree tree = tree_start("echo begun; (setsid sleep 1000 &) ; (yes &) ; exit 0");
    tree_await_start(&tree);
    assert_true(tree_await_report(&tree) > 0);
    assert_int_equal(tree_report.kind, INIT_EXITED);
    assert_int_equal(tree_finish(&tree), 0);
}

static void ends_all_with_its_warden(void **state) {
    (void)state;
    struct tree tree =
        tree_start(with_fifo("trap '' HUP TERM; setsid sleep 1000 & echo x > @; wait"));
    tree_await_start(&tree);
    await_fifo();
    /* The last reader of this pipe is a process of the tree: it reads EOF when all are gone. */
    shutdown(tree.link, SHUT_RDWR);
    assert_int_equal(WEXITSTATUS(tree_finish(&tree)), 1);
}

/* This test program as the program of a tree: two processes of one group wait for SIGINT. */
static int wait_for_interrupt(const char *ready_path) {
    sigset_t interrupt;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    sigprocmask(SIG_BLOCK, &interrupt, NULL);
    pid_t child = fork();
    int ready = open(ready_path, O_WRONLY | O_CLOEXEC), number;
    if (ready < 0 || write(ready, "x", 1) != 1 || sigwait(&interrupt, &number) != 0)
        return 9;
    if (child == 0)
        _exit(2);
    int status;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status) + 1;
}

static struct tree start_waiting(void) {
    char script[4200];
    char self[4096] = "";
    assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    snprintf(script, sizeof script, "exec %s %s", self, fifo_path);
    struct tree tree = tree_start(script);
    tree_await_start(&tree);
    await_fifo();
    await_fifo();
    return tree;
}

static void forwards_signals_to_the_group(void **state) {
    (void)state;
    struct tree tree = start_waiting();
    tree_order(&tree, SIGINT);
    tree_await_report(&tree);
    assert_int_equal(tree_report.kind, INIT_EXITED);
    assert_int_equal(tree_report.value, 3);
    tree_finish(&tree);
}

static void reaps_orphans(void **state) {
    (void)state;
    struct tree tree =
        tree_start("for i in 1 2 3 4 5 6 7 8; do (sh -c 'exit 0' & ) ; done;"
                   "n=1; while [ $n -gt 0 ]; do"
                   " n=$(cat /proc/[0-9]*/stat 2>&1 | grep -c ' Z 1 '); done; echo none");
    tree_await_start(&tree);
    size_t size = tree_await_report(&tree);
    assert_int_equal(tree_report.value, 0);
    assert_int_equal(size, 5);
    assert_memory_equal(tree_report.output, "none\n", 5);
    tree_finish(&tree);
}

static void cannot_be_ended_from_inside(void **state) {
    (void)state;
    struct tree tree = tree_start("for s in KILL STOP TERM INT HUP SEGV CHLD PIPE ABRT TSTP; do"
                                  " kill -$s 1; done; echo alive; exit 5");
    tree_await_start(&tree);
    tree_await_report(&tree);
    assert_int_equal(tree_report.kind, INIT_EXITED);
    assert_int_equal(tree_report.value, 5);
    assert_memory_equal(tree_report.output, "alive\n", 6);
    tree_finish(&tree);
}

static void gives_the_program_three_descriptors(void **state) {
    (void)state;
    struct tree tree = tree_start("exec 9<&-; ls /proc/self/fd | tr '\\n' ' '");
    tree_await_start(&tree);
    size_t size = tree_await_report(&tree);
    /* 3 is ls reading the folder. */
    assert_int_equal(size, 8);
    assert_memory_equal(tree_report.output, "0 1 2 3 ", 8);
    tree_finish(&tree);
}

/* What a jail has, and this test has not, is in tests/clients/test_starts.py. */
static void starts_where_it_is_told(void **state) {
    (void)state;
    char here[4096];
    assert_non_null(getcwd(here, sizeof here));
    struct {
        char *said, *entered;
    } rows[] = {
        {"/proc", "/proc"}, {"/proc/none//at/all/", here}, {"none/at/all", here}, {".", here},
        {"", here},         {"/dev/null", here},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tree tree = tree_start_in(rows[i].said, "pwd -P | tr -d '\\n'");
        tree_await_start(&tree);
        size_t size = tree_await_report(&tree);
        assert_int_equal(size, strlen(rows[i].entered));
        assert_memory_equal(tree_report.output, rows[i].entered, size);
        tree_finish(&tree);
    }
}

static void ignores_malformed_orders(void **state) {
    (void)state;
    struct tree tree = start_waiting();
    assert_int_equal(send(tree.link, "x", 1, 0), 1);
    tree_order(&tree, 1000);
    tree_order(&tree, -1);
    tree_order(&tree, 0);
    tree_order(&tree, SIGINT);
    tree_await_report(&tree);
    assert_int_equal(tree_report.value, 3);
    tree_finish(&tree);
}

int main(int argc, char **argv) {
    if (argc == 2)
        return wait_for_interrupt(argv[1]);
    if (geteuid() != 0)
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_exit_status_and_output),
        cmocka_unit_test(reports_signal),
        cmocka_unit_test(reports_exec_failure),
        cmocka_unit_test(keeps_the_tail_of_much_output),
        cmocka_unit_test(starts_where_it_is_told),
        cmocka_unit_test(does_not_wait_for_others_who_hold_the_output),
        cmocka_unit_test(ends_all_with_its_warden),
        cmocka_unit_test(forwards_signals_to_the_group),
        cmocka_unit_test(reaps_orphans),
        cmocka_unit_test(cannot_be_ended_from_inside),
        cmocka_unit_test(gives_the_program_three_descriptors),
        cmocka_unit_test(ignores_malformed_orders),
    };
    return cmocka_run_group_tests(tests, make_fifo, remove_fifo);
}
