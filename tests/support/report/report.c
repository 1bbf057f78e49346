/* report - the reporting half of a test build. Its complication is the sanitizers: they read their
 * options before main and, in a jail without /proc, from no environment, so the options are
 * compiled in here; and LeakSanitizer, which stops its process by ptrace, cannot run in the
 * programs that refuse ptrace, so those count their own allocations. */
#include "report/report.h"

#ifdef CELLBLOCK_TESTS

#include "base/mem.h"
#include "report_static/report_static.h"

#if defined(__has_feature)
#define HAS_FEATURE(name) __has_feature(name)
#else
#define HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || HAS_FEATURE(address_sanitizer)
#define HAS_ASAN 1
#endif
#if defined(HAS_ASAN) || defined(__SANITIZE_THREAD__) || HAS_FEATURE(thread_sanitizer)
#define HAS_SANITIZER 1
#endif

static bool counts_itself;

#ifdef HAS_SANITIZER

/* What is found before report_begin has named the file lands in FOLDER/early.san.PROGRAM.PID. An
 * empty folder leaves reports on stderr. */
#define SANITIZER_OPTIONS(more)                                                                    \
    (CELLBLOCK_REPORT_DIR[0] ? "log_path=" CELLBLOCK_REPORT_DIR                                    \
                               "/early.san:log_exe_name=1:exitcode=99" more                        \
                             : "exitcode=99" more)

/* The sanitizers' own names, looked up by their runtime. */
const char *__asan_default_options(void);
const char *__ubsan_default_options(void);
const char *__tsan_default_options(void);
const char *__tsan_default_suppressions(void);
int __lsan_is_turned_off(void);
void __sanitizer_set_report_path(const char *path);
void __ubsan_on_report(void);
/* Weak: a build may have ASan without UBSan. */
__attribute__((weak)) void __ubsan_get_current_report_data(const char **kind, const char **message,
                                                           const char **file, unsigned *line,
                                                           unsigned *column, char **address);

/* What was freed waits for bad accesses, but not for 256 MiB of it: a test that watches the size of
 * a process must see its own memory. */
const char *__asan_default_options(void) {
    return SANITIZER_OPTIONS(":quarantine_size_mb=16");
}
const char *__ubsan_default_options(void) {
    return SANITIZER_OPTIONS("");
}
const char *__tsan_default_options(void) {
    return SANITIZER_OPTIONS("");
}
/* As tests/support/tsan.supp, for where no file is found: libzmq is not built with ThreadSanitizer,
 * so how it hands memory between threads cannot be seen. */
const char *__tsan_default_suppressions(void) {
    return "called_from_lib:libzmq.so\n";
}
int __lsan_is_turned_off(void) {
    return counts_itself;
}

/* gcc's libubsan writes to stderr whatever path was set (its call to set it reaches libasan's copy
 * of the function), so each of its reports becomes a line of ours too. */
void __ubsan_on_report(void) {
    if (!report_path.size || !__ubsan_get_current_report_data)
        return;
    const char *kind, *message, *file;
    unsigned line, column;
    char *address;
    __ubsan_get_current_report_data(&kind, &message, &file, &line, &column, &address);
    struct report_text text = {0};
    report_add(&text, "undefined ");
    report_add(&text, file ? file : "?");
    report_add(&text, ":");
    report_add_number(&text, line);
    report_add(&text, " ");
    report_add(&text, message ? message : "?");
    text.size = text.size < REPORT_TEXT_MAX - 2 ? text.size : REPORT_TEXT_MAX - 2;
    report_add(&text, "\n");
    report_append(&text);
}

static void direct_sanitizer(void) {
    if (!report_path.size)
        return;
    struct report_text path = report_path;
    report_add(&path, ".san");
    __sanitizer_set_report_path(path.data);
}

#else

static void direct_sanitizer(void) {
}

#endif

/* Programs whose filter, or the jail they live in, refuses ptrace. */
static const char *const without_ptrace[] = {"gateway", "echo"};

/* LeakSanitizer finds the threads to stop in /proc. */
static bool can_trace(const char *program) {
    if (access("/proc/self", F_OK) < 0)
        return false;
    for (size_t i = 0; i < sizeof without_ptrace / sizeof without_ptrace[0]; i++)
        if (strcmp(program, without_ptrace[i]) == 0)
            return false;
    return true;
}

static void plant_overflow(void) {
    volatile size_t size = 16;
    volatile char *memory = mem_alloc(size);
    memory[size] = 1;
    mem_free((char *)memory);
}

/* Several: a leak checker takes a stale register for a reference. */
static void plant_leak(void) {
    for (int i = 0; i < 8; i++)
        *(volatile char *)mem_alloc(64) = 1;
}

static const struct {
    const char *name;
    void (*commit)(void);
} faults[] = {
    {"overflow", plant_overflow},
    {"leak", plant_leak},
    {"undefined", report_plant_undefined},
};

static void plant(const char *fault) {
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        if (strcmp(fault, faults[i].name) == 0) {
            report_write("planted", -1);
            faults[i].commit();
        }
}

void report_begin(const char *program, const char *tag) {
    counts_itself = !can_trace(program);
    report_static_begin(program, tag);
    direct_sanitizer();
    const char *fault = report_planted(program);
    if (fault)
        plant(fault);
}

int report_end(int status) {
    if (counts_itself && mem_live() != 0)
        report_write("leak", (long)mem_live());
    return report_static_end(status);
}

void report_exec(void) {
    report_write("exec", -1);
}

void report_signal(int number) {
    report_write("signal", number);
}

#endif
