/* report - what makes unclean ends visible: in a test build every process leaves a file that says
 * when it started and how it ended, and every sanitizer report lies beside it. Anywhere else these
 * calls are nothing. The files' format is in report_static.h, their reader is check_reports.
 *
 * Usage in a main():
 *   report_begin("gateway", "-");
 *   return report_end(serve(argc, argv)); */
#pragma once

#ifdef CELLBLOCK_TESTS

/* First thing in main. program is the word that check_reports knows (gateway, warden, echo, ...);
 * tag is the session's id where the process belongs to one, else "-". With the environment variable
 * CELLBLOCK_PLANT=PROGRAM:FAULT it commits a fault (overflow, leak, undefined): a test of the
 * reports themselves. Ends the process where the report cannot be written. */
void report_begin(const char *program, const char *tag);

/* Last thing in main, after everything is freed: the exit line, and in programs that can run no
 * leak checker (gateway, echo) how many allocations of base/mem.h are alive. Returns status. */
int report_end(int status);

/* Right before execve of another program takes this process over. */
void report_exec(void);

/* Right before the process raises a signal that ends it, where that is what it was asked to do. */
void report_signal(int number);

#else

static inline void report_begin(const char *program, const char *tag) {
    (void)program, (void)tag;
}
static inline int report_end(int status) {
    return status;
}
static inline void report_exec(void) {
}
static inline void report_signal(int number) {
    (void)number;
}

#endif
