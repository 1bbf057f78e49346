/* mem - the heap, counted: every allocation of ours passes here, so that a program which cannot run
 * a leak checker (behind a system call filter) can still say at its end what it forgot.
 * Running out of memory aborts with a line: sizes that a stranger chose are checked against a
 * limit before they come here. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* size may be 0 (a unique pointer comes back). */
__attribute__((malloc, returns_nonnull)) void *mem_alloc(size_t size);
/* Zeroed; count * size must not overflow, which aborts. */
__attribute__((malloc, returns_nonnull)) void *mem_zalloc(size_t count, size_t size);
/* old may be NULL. */
__attribute__((returns_nonnull)) void *mem_realloc(void *old, size_t size);
/* NULL is fine. */
void mem_free(void *pointer);

/* A NUL-terminated copy of size bytes / of text. */
__attribute__((malloc, returns_nonnull)) char *mem_copy_text(const void *data, size_t size);
__attribute__((malloc, returns_nonnull)) char *mem_strdup(const char *text);
__attribute__((format(printf, 1, 2), malloc, returns_nonnull)) char *mem_format(const char *format,
                                                                                ...);

/* Allocations that are alive now (threads included). */
int64_t mem_live(void);
