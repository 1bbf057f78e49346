/* filter - see filter.h. Its one complication: libseccomp compiles the deny rules, but cannot say
 * "any number above", "any other architecture ends the process, -1 is just no call", or "only these
 * values". A few instructions of ours come before its own; they end in an answer or fall through.
 */
#include "jail/filter.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/nsfs.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "the filter was not judged for this architecture"
#endif

/* Numbers from here on are x32's, on a kernel that has it. */
enum { X32_BIT = 0x40000000, PROLOGUE_MAX = 64, VALUES_MAX = 4 };

/* -- the tables */

struct rule {
    const char *name;
    int number; /* where the library may not know the name; 0: it does */
    int code;
    unsigned count; /* of conditions */
    struct scmp_arg_cmp conditions[2];
};

#define CONDITION(index, mask, value)                                                              \
    { index, SCMP_CMP_MASKED_EQ, (mask), (value) }
static const struct rule rules[] = {
#define DENY(name, number, code) {#name, number, code, 0, {{0}}},
#define DENY_ARG(name, index, mask, value, code)                                                   \
    {#name, 0, code, 1, {CONDITION(index, mask, value)}},
#define DENY_ARGS(name, index, mask, value, index2, mask2, value2, code)                           \
    {#name, 0, code, 2, {CONDITION(index, mask, value), CONDITION(index2, mask2, value2)}},
#define DENY_SET(name, index, mask, value, pointer, code)                                          \
    {#name, 0, code, 2, {CONDITION(index, mask, value), {pointer, SCMP_CMP_NE, 0, 0}}},
#define ALLOW_ONLY(...)
#include "jail/seccomp.def"
};

struct allowance {
    int number;
    unsigned index;
    int code;
    unsigned count;
    uint32_t values[VALUES_MAX];
};

#define COUNT_VALUES(...) (sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))
static const struct allowance allowances[] = {
#define DENY(...)
#define DENY_ARG(...)
#define DENY_ARGS(...)
#define DENY_SET(...)
#define ALLOW_ONLY(name, index, code, ...)                                                         \
    {SYS_##name, index, code, COUNT_VALUES(__VA_ARGS__), {__VA_ARGS__}},
#include "jail/seccomp.def"
};

/* -- libseccomp's part */

static int number_of(const struct rule *rule) {
    if (rule->number)
        return rule->number;
    return seccomp_syscall_resolve_name(rule->name);
}

static int add_rule(scmp_filter_ctx context, const struct rule *rule, struct err *err) {
    int number = number_of(rule);
    if (number < 0)
        return 0; /* this architecture has no such call (negative: a pseudo number) */
    int result = seccomp_rule_add_array(context, SCMP_ACT_ERRNO((unsigned)rule->code), number,
                                        rule->count, rule->conditions);
    return result < 0 ? err_errno(err, -result, "filter rule of %s", rule->name) : 0;
}

static int add_rules(scmp_filter_ctx context, struct err *err) {
    int result = seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    if (result < 0)
        return err_errno(err, -result, "filter");
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        result = add_rule(context, &rules[i], err);
        if (result < 0)
            return result;
    }
    return 0;
}

/* What the library made of the rules, as a memfd. */
static int compile(int fd, struct err *err) {
    scmp_filter_ctx context = seccomp_init(SCMP_ACT_ALLOW);
    if (!context)
        return err_set(err, ENOMEM, "seccomp_init");
    int result = add_rules(context, err);
    if (result == 0 && (result = seccomp_export_bpf(context, fd)) < 0)
        result = err_errno(err, -result, "compile the filter");
    seccomp_release(context);
    return result;
}

/* -- ours */

#define LOAD(member)                                                                               \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, member))
#define ANSWER(action) BPF_STMT(BPF_RET | BPF_K, (action))
#define FAIL(code) ANSWER(SECCOMP_RET_ERRNO | ((code)&SECCOMP_RET_DATA))
/* Runs the next instruction where the test holds, skips it where not. */
#define WHERE_EQUAL(value) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, 1)
#define WHERE_GREATER(value) BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, (value), 0, 1)
#define WHERE_LEAST(value) BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (value), 0, 1)
#define UNLESS_EQUAL(value) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 1, 0)

struct prologue {
    struct sock_filter code[PROLOGUE_MAX];
    unsigned short count;
};

static void append(struct prologue *prologue, const struct sock_filter *code, unsigned count) {
    assert(prologue->count + count <= PROLOGUE_MAX);
    memcpy(prologue->code + prologue->count, code, count * sizeof *code);
    prologue->count += (unsigned short)count;
}

static void append_ranges(struct prologue *prologue) {
    const struct sock_filter code[] = {
        LOAD(arch),
        UNLESS_EQUAL(OWN_ARCHITECTURE),
        ANSWER(SECCOMP_RET_KILL_PROCESS),
        LOAD(nr),
        WHERE_EQUAL(UINT32_MAX),
        FAIL(ENOSYS),
#ifdef __x86_64__
        WHERE_LEAST(X32_BIT),
        ANSWER(SECCOMP_RET_KILL_PROCESS),
#endif
        WHERE_GREATER(FILTER_HIGHEST),
        FAIL(ENOSYS),
    };
    append(prologue, code, sizeof code / sizeof code[0]);
}

/* The number is in the accumulator before and after. */
static void append_allowance(struct prologue *prologue, const struct allowance *allowance) {
    unsigned count = allowance->count;
    /* Another call: over the load, the values, the answer and the last load. */
    const struct sock_filter begin[] = {
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)allowance->number, 0, (uint8_t)(count + 3)),
        LOAD(args[0]),
    };
    append(prologue, begin, 2);
    prologue->code[prologue->count - 1].k += allowance->index * 8; /* the low half: little endian */
    for (unsigned i = 0; i < count; i++) {
        const struct sock_filter equal =
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowance->values[i], (uint8_t)(count - i), 0);
        append(prologue, &equal, 1);
    }
    const struct sock_filter end[] = {FAIL((unsigned)allowance->code), LOAD(nr)};
    append(prologue, end, 2);
}

static void write_prologue(struct prologue *prologue) {
    append_ranges(prologue);
    for (size_t i = 0; i < sizeof allowances / sizeof allowances[0]; i++)
        append_allowance(prologue, &allowances[i]);
}

int filter_init(struct filter *filter, struct err *err) {
    cleanup_fd int fd = memfd_create("filter", MFD_CLOEXEC);
    if (fd < 0)
        return err_errno(err, errno, "memfd_create");
    struct stat info;
    int result = compile(fd, err);
    if (result < 0)
        return result;
    if (fstat(fd, &info) < 0)
        return err_errno(err, errno, "stat the filter");
    struct prologue prologue = {.count = 0};
    write_prologue(&prologue);
    size_t own = prologue.count * sizeof prologue.code[0], size = (size_t)info.st_size;
    filter->code = mem_alloc(own + size);
    memcpy(filter->code, prologue.code, own);
    filter->count = (unsigned short)((own + size) / sizeof *filter->code);
    if (pread(fd, (uint8_t *)filter->code + own, size, 0) != (ssize_t)size) {
        filter_finish(filter);
        return err_set(err, EIO, "read the filter");
    }
    return 0;
}

void filter_finish(struct filter *filter) {
    mem_free(filter->code);
    *filter = (struct filter){0};
}

int filter_load(const struct filter *filter, struct err *err) {
    const struct sock_fprog program = {filter->count, filter->code};
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
        return err_errno(err, errno, "load the filter");
    return 0;
}
