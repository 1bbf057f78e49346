/* report_static - the file in which one process of a test build says that it started and how it
 * ended; for pid 1, which takes no sanitizer: a violation traps, so the exit line stays away.
 *
 * One file per process, FOLDER/PROGRAM.TAG.RANDOM, a line per event (check_reports reads them):
 *   start PROGRAM TAG PID     as the process sees its own pid
 *   planted                   the fault that CELLBLOCK_PLANT asked for comes next
 *   leak COUNT                allocations alive at its end
 *   undefined FILE:LINE TEXT  what UBSan found, in this process or in a child it forked
 *   exit STATUS | exec | signal NUMBER     it ended, or is about to, of its own accord
 * The file is opened anew for each line: a process has no descriptor more than it would have.
 *
 * Include it in one .c only, it keeps its state there. Without CELLBLOCK_TESTS it is nothing;
 * without a folder (CELLBLOCK_REPORT_DIR) it writes nothing. */
#pragma once

#ifdef CELLBLOCK_TESTS

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    REPORT_TEXT_MAX = 512,
    REPORT_TAG_MAX = 64,
    REPORT_REFUSED = 98, /* exit status where the folder cannot be written */
};

/* A line or a path being put together; what does not fit is cut. */
struct report_text {
    char data[REPORT_TEXT_MAX];
    size_t size;
};

static struct report_text report_path; /* empty: no reports */
static pid_t report_pid;

static inline void report_add(struct report_text *text, const char *more) {
    while (*more && text->size + 1 < sizeof text->data)
        text->data[text->size++] = *more++;
    text->data[text->size] = 0;
}

static inline void report_add_number(struct report_text *text, long number) {
    char digits[24], *at = digits + sizeof digits;
    unsigned long rest = number < 0 ? -(unsigned long)number : (unsigned long)number;
    *--at = 0;
    do {
        *--at = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (number < 0)
        *--at = '-';
    report_add(text, at);
}

/* A tag can come from a stranger (KERNEL_ID): what is no letter, digit or "-" becomes "_". */
static inline void report_add_tag(struct report_text *text, const char *tag) {
    char clean[REPORT_TAG_MAX + 1] = "";
    for (size_t i = 0; i < REPORT_TAG_MAX && tag[i]; i++) {
        char c = tag[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        clean[i] = plain || c == '-' ? c : '_';
    }
    report_add(text, clean[0] ? clean : "-");
}

static inline void report_add_random(struct report_text *text) {
    unsigned char random[8];
    if (getrandom(random, sizeof random, 0) != sizeof random)
        _exit(REPORT_REFUSED);
    char hex[2 * sizeof random + 1] = "";
    for (size_t i = 0; i < sizeof random; i++) {
        hex[2 * i] = "0123456789abcdef"[random[i] >> 4];
        hex[2 * i + 1] = "0123456789abcdef"[random[i] & 15];
    }
    report_add(text, hex);
}

/* A process that cannot report must not pass for one that had nothing to say. */
static inline void report_refuse(void) {
    struct report_text line = {0};
    report_add(&line, "test build: cannot write ");
    report_add(&line, report_path.data);
    report_add(&line, "\n");
    ssize_t written = write(STDERR_FILENO, line.data, line.size);
    (void)written;
    _exit(REPORT_REFUSED);
}

/* Appends one line, which ends in a newline. */
static inline void report_append(const struct report_text *line) {
    int fd = open(report_path.data, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0 || write(fd, line->data, line->size) != (ssize_t)line->size)
        report_refuse();
    /* The program may change its user before its next line, whatever the umask was. */
    fchmod(fd, 0666);
    close(fd);
}

/* event and, where it is not negative, a number. A forked child does not write its parent's end. */
static inline void report_write(const char *event, long number) {
    if (!report_path.size || getpid() != report_pid)
        return;
    struct report_text line = {0};
    report_add(&line, event);
    if (number >= 0) {
        report_add(&line, " ");
        report_add_number(&line, number);
    }
    report_add(&line, "\n");
    report_append(&line);
}

/* Names the file and writes its first line. The tag tells the processes of one program apart: the
 * session's id where there is one, else "-". */
static inline void report_static_begin(const char *program, const char *tag) {
    const char *folder = CELLBLOCK_REPORT_DIR;
    if (!folder[0])
        return;
    report_pid = getpid();
    report_path.size = 0;
    report_add(&report_path, folder);
    report_add(&report_path, "/");
    report_add(&report_path, program);
    report_add(&report_path, ".");
    report_add_tag(&report_path, tag);
    report_add(&report_path, ".");
    report_add_random(&report_path);

    struct report_text start = {0};
    report_add(&start, "start ");
    report_add(&start, program);
    report_add(&start, " ");
    report_add_tag(&start, tag);
    report_write(start.data, report_pid);
}

/* Writes the exit line; returns status. */
static inline int report_static_end(int status) {
    report_write("exit", status & 0xff);
    return status;
}

/* The fault that CELLBLOCK_PLANT=PROGRAM:FAULT asks of this program, NULL for none: a test wants to
 * see the run go red. */
static inline const char *report_planted(const char *program) {
    const char *plant = getenv("CELLBLOCK_PLANT");
    size_t size = strlen(program);
    return plant && strncmp(plant, program, size) == 0 && plant[size] == ':' ? plant + size + 1
                                                                             : NULL;
}

static inline void report_plant_undefined(void) {
    volatile int most = 0x7fffffff;
    most = most + 1;
}

/* For programs built with UBSan traps, which have one kind of fault. */
static inline void report_static_plant(const char *program) {
    if (!report_planted(program))
        return;
    report_write("planted", -1);
    report_plant_undefined();
}

#else

static inline void report_static_begin(const char *program, const char *tag) {
    (void)program, (void)tag;
}
static inline void report_static_plant(const char *program) {
    (void)program;
}
static inline int report_static_end(int status) {
    return status;
}

#endif
