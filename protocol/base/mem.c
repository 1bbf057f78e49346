#include "base/mem.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The one global of protocol/: a count, which no result depends on. */
static _Atomic int64_t live;

static void *count_in(void *pointer, size_t size) {
    if (!pointer) {
        fprintf(stderr, "out of memory: %zu bytes\n", size);
        abort();
    }
    atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
    return pointer;
}

void *mem_alloc(size_t size) {
    return count_in(malloc(size ? size : 1), size);
}

void *mem_zalloc(size_t count, size_t size) {
    return count_in(calloc(count ? count : 1, size ? size : 1), count * size);
}

void *mem_realloc(void *old, size_t size) {
    if (!old)
        return mem_alloc(size);
    void *pointer = realloc(old, size ? size : 1);
    if (!pointer) {
        fprintf(stderr, "out of memory: %zu bytes\n", size);
        abort();
    }
    return pointer;
}

void mem_free(void *pointer) {
    if (!pointer)
        return;
    atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
    free(pointer);
}

char *mem_copy_text(const void *data, size_t size) {
    char *text = mem_alloc(size + 1);
    if (size)
        memcpy(text, data, size);
    text[size] = 0;
    return text;
}

char *mem_strdup(const char *text) {
    return mem_copy_text(text, strlen(text));
}

char *mem_format(const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = mem_alloc((size_t)size + 1);
    vsnprintf(text, (size_t)size + 1, format, again);
    va_end(again);
    return text;
}

int64_t mem_live(void) {
    return atomic_load_explicit(&live, memory_order_relaxed);
}
