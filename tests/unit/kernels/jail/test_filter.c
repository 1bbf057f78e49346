#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <linux/audit.h>
#include <linux/nsfs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "bpf.h"
#include "jail/filter.h"

static struct filter filter;

static int set_up(void **state) {
    (void)state;
    struct err err;
    return filter_init(&filter, &err);
}

static int tear_down(void **state) {
    (void)state;
    filter_finish(&filter);
    return mem_live() == 0 ? 0 : -1;
}

enum { PASSES = 0, ENDS = -1, IGNORED = -2 };

/* The errno with which a call fails, or one of the above. */
static int judge_for(uint32_t arch, uint32_t number, const uint64_t args[6]) {
    struct seccomp_data data = {.nr = (int)number, .arch = arch};
    memcpy(data.args, args, sizeof data.args);
    uint32_t action = bpf_run(filter.code, filter.count, &data);
    if (action == SECCOMP_RET_ALLOW)
        return PASSES;
    if (action == SECCOMP_RET_KILL_PROCESS)
        return ENDS;
    assert_int_equal(action & SECCOMP_RET_ACTION_FULL, SECCOMP_RET_ERRNO);
    return action & SECCOMP_RET_DATA ? (int)(action & SECCOMP_RET_DATA) : IGNORED;
}

static const uint64_t no_args[6];

static int judge(int number, const uint64_t args[6]) {
    return judge_for(AUDIT_ARCH_X86_64, (uint32_t)number, args);
}

static int number_of(const char *name, int number) {
    return number ? number : seccomp_syscall_resolve_name(name);
}

static void expect(int number, const uint64_t args[6], int code, const char *name) {
    int judged = judge(number, args);
    if (judged != code)
        fail_msg("%s: %d instead of %d", name, judged, code);
}

/* High bits that no int argument has do not change the answer. */
static void expect_with_garbage(int number, uint64_t args[6], int code, const char *name) {
    expect(number, args, code, name);
    for (int i = 0; i < 6; i++)
        args[i] |= 0xabcd000000000000;
    expect(number, args, code, name);
}

static void check_denied(const char *name, int number, int code) {
    static const uint64_t many[6] = {~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL};
    number = number_of(name, number);
    assert_true(number >= 0);
    expect(number, no_args, code, name);
    expect(number, many, code, name);
}

static void check_argument(const char *name, int index, uint64_t value, int code) {
    uint64_t args[6] = {0};
    args[index] = value;
    expect_with_garbage(number_of(name, 0), args, code, name);
}

static void check_arguments(const char *name, int index, uint64_t value, int index2,
                            uint64_t value2, int code) {
    uint64_t args[6] = {0};
    args[index] = value;
    args[index2] = value2;
    expect_with_garbage(number_of(name, 0), args, code, name);
}

/* Both allowances of socket hold: the family is one that may have any protocol. */
static void check_allowed(const char *name, int index, uint64_t value, int code) {
    uint64_t args[6] = {AF_UNIX};
    args[index] = value;
    expect_with_garbage(number_of(name, 0), args, code, name);
}

static void check_allowance(const char *name, int index, int code, const uint32_t *values,
                            size_t count) {
    for (uint64_t value = 0; value < 300; value++) {
        bool is_allowed = false;
        for (size_t i = 0; i < count; i++)
            is_allowed |= values[i] == value;
        check_allowed(name, index, value, is_allowed ? 0 : code);
    }
    for (size_t i = 0; i < count; i++)
        check_allowed(name, index, values[i], 0);
    check_allowed(name, index, 0x0400000, code); /* READ_IMPLIES_EXEC, and no family */
}

static void refuses_every_row(void **state) {
    (void)state;
#define DENY(name, number, code) check_denied(#name, number, (code) ? (code) : IGNORED);
#define DENY_ARG(name, index, mask, value, code)                                                   \
    check_argument(#name, index, value, (code) ? (code) : IGNORED);
#define DENY_ARGS(name, index, mask, value, index2, mask2, value2, code)                           \
    check_arguments(#name, index, value, index2, value2, code);
#define DENY_SET(name, index, mask, value, pointer, code)                                          \
    check_arguments(#name, index, value, pointer, 0x7fff00001000, (code) ? (code) : IGNORED);
#define ALLOW_ONLY(name, index, code, ...)                                                         \
    check_allowance(#name, index, code, (const uint32_t[]){__VA_ARGS__},                           \
                    sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t));
#include "jail/seccomp.def"
}

static const struct {
    const char *name;
    int number;
} named[] = {
#define DENY(name, number, code) {#name, number},
#define DENY_ARG(name, index, mask, value, code) {#name, 0},
#define DENY_ARGS(name, index, mask, value, index2, mask2, value2, code) {#name, 0},
#define DENY_SET(name, index, mask, value, pointer, code) {#name, 0},
#define ALLOW_ONLY(name, ...) {#name, 0},
#include "jail/seccomp.def"
};

static bool is_named(int number) {
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++)
        if (number_of(named[i].name, named[i].number) == number)
            return true;
    return false;
}

static void lets_everything_else_pass(void **state) {
    (void)state;
    int passed = 0;
    for (int number = 0; number <= FILTER_HIGHEST; number++) {
        if (is_named(number))
            continue;
        passed++;
        if (judge(number, no_args) != 0)
            fail_msg("call %d is refused", number);
    }
    assert_true(passed > 300);
}

/* What interpreters and their libraries cannot do without. */
static void lets_interpreters_work(void **state) {
    (void)state;
    static const struct {
        int number;
        uint64_t args[6];
    } calls[] = {
        {SYS_clone, {0x3d0f00}},  /* a thread, as glibc makes it */
        {SYS_clone, {0x1200011}}, /* fork */
        {SYS_clone, {0x4111}},    /* vfork, as posix_spawn makes it */
        {SYS_prlimit64, {0, 7}},
        {SYS_prlimit64, {2, 7}},
        {SYS_setpriority, {PRIO_PROCESS, 0, 5}},
        {SYS_sched_setscheduler, {0}},
        {SYS_mmap, {0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS}},
        {SYS_socket, {AF_INET, SOCK_STREAM, IPPROTO_TCP}},
        {SYS_setsockopt, {3, IPPROTO_TCP, TCP_NODELAY}},
        {SYS_prlimit64, {0, RLIMIT_CORE, 0, 0x7fff00001000}},
        {SYS_prlimit64, {0, RLIMIT_STACK, 0x7fff00001000}},
        {SYS_socket, {AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC}},
        {SYS_socket, {AF_INET6, SOCK_DGRAM}},
        {SYS_socket, {AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0}},
        {SYS_socketpair, {AF_UNIX, SOCK_SEQPACKET}},
        {SYS_ioctl, {0, TIOCGWINSZ}},
        {SYS_ioctl, {0, TIOCSCTTY}},
        {SYS_ioctl, {0, FIONBIO}},
        {SYS_prctl, {PR_SET_NAME}},
        {SYS_prctl, {PR_SET_PDEATHSIG}},
        {SYS_personality, {0xffffffff}},
        {SYS_mknodat, {0, 0, S_IFIFO | 0600}},
        {SYS_mknodat, {0, 0, S_IFSOCK | 0600}},
        {SYS_mprotect, {0, 4096, 7}},
        {SYS_memfd_create, {0}},
        {SYS_execveat, {0}},
        {SYS_seccomp, {0}},
        {SYS_close_range, {3, ~0U, 0}},
        {SYS_pidfd_open, {2}},
        {SYS_inotify_add_watch, {0}},
        {SYS_sched_setaffinity, {0}},
        {SYS_membarrier, {0}},
        {SYS_rseq, {0}},
        {SYS_landlock_create_ruleset, {0}},
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (judge(calls[i].number, calls[i].args) != 0)
            fail_msg("call %zu of the list (%d) is refused", i, calls[i].number);
}

static void knows_other_architectures_and_numbers(void **state) {
    (void)state;
    assert_int_equal(judge_for(AUDIT_ARCH_I386, 20, no_args), ENDS);
    assert_int_equal(judge_for(AUDIT_ARCH_AARCH64, 20, no_args), ENDS);
    assert_int_equal(judge_for(AUDIT_ARCH_X86_64, 0x40000000 | 39, no_args), ENDS);
    assert_int_equal(judge_for(AUDIT_ARCH_X86_64, 0x7fffffff, no_args), ENDS);
    static const uint32_t unknown[] = {UINT32_MAX, FILTER_HIGHEST + 1, 1000, 100000, 0x3fffffff};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
        assert_int_equal(judge_for(AUDIT_ARCH_X86_64, unknown[i], no_args), ENOSYS);
}

/* -- the loaded filter, in a child each */

static void load(void) {
    struct err err;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || filter_load(&filter, &err) < 0)
        _exit(100);
}

static int run(void (*body)(void)) {
    pid_t pid = fork();
    int status;
    if (pid == 0) {
        load();
        body();
        _exit(101);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void call_i386(void) {
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory"); /* getpid */
}

static void call_x32(void) {
    syscall(0x40000000L | SYS_getpid);
}

static void call_refused(void) {
    static const struct {
        long number;
        long args[3];
        int code;
    } calls[] = {
        {SYS_keyctl, {0, -3, 0}, EPERM},
        {SYS_ptrace, {0}, EPERM},
        {SYS_clone3, {0}, ENOSYS},
        {SYS_personality, {0x0400000}, EPERM},
        {SYS_socket, {38 /* AF_ALG */, SOCK_SEQPACKET}, EAFNOSUPPORT},
        {SYS_socket, {AF_NETLINK, SOCK_RAW, 16}, EPROTONOSUPPORT},
        {SYS_process_vm_readv, {0}, EPERM},
        {SYS_kcmp, {0}, EPERM},
        {100000, {0}, ENOSYS},
        {-1, {0}, ENOSYS},
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        const long *args = calls[i].args;
        if (syscall(calls[i].number, args[0], args[1], args[2]) != -1 || errno != calls[i].code)
            _exit((int)i + 1);
    }
    _exit(0);
}

static void *say_hello(void *argument) {
    *(int *)argument = 1;
    return NULL;
}

static void use_threads_and_children(void) {
    pthread_t thread;
    int hello = 0;
    if (pthread_create(&thread, NULL, say_hello, &hello) != 0 || pthread_join(thread, NULL) != 0 ||
        !hello)
        _exit(1);
    int status = system("exit 3");
    _exit(WIFEXITED(status) && WEXITSTATUS(status) == 3 ? 0 : 2);
}

static void holds_in_a_process(void **state) {
    (void)state;
    int status = run(call_i386);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
    status = run(call_x32);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
    status = run(call_refused);
    if (status != 0)
        fail_msg("call %d of the list was not refused", WEXITSTATUS(status) - 1);
    assert_int_equal(run(use_threads_and_children), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_every_row),
        cmocka_unit_test(lets_everything_else_pass),
        cmocka_unit_test(lets_interpreters_work),
        cmocka_unit_test(knows_other_architectures_and_numbers),
        cmocka_unit_test(holds_in_a_process),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
