/* filter - the gateway's own system call filter: it faces strangers and needs no process, no mount,
 * no other program. filter.def is the table. Behind it LeakSanitizer cannot run (it wants ptrace):
 * the gateway counts its allocations instead. */
#pragma once

#include <stdio.h>

#include "base/err.h"

/* For every thread of now and later, and for good; sets no_new_privs. Calls of another architecture
 * (32-bit, x32) kill the process. */
int filter_install(struct err *err);

#ifdef CELLBLOCK_TESTS
/* Tries what an intruder would and writes a line each: "execve EPERM", or "execve allowed". */
void filter_probe(FILE *out);
/* The same to stderr, where the environment variable CELLBLOCK_PROBE asks for it. */
void filter_probe_if_asked(void);
#else
static inline void filter_probe_if_asked(void) {
}
#endif
