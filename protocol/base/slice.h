/* slice - borrowed bytes: a pointer and a count. Never NUL-terminated by promise, never owned. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct slice {
    const uint8_t *data; /* NULL only where "absent" differs from "empty" */
    size_t size;
};

#define SLICE_LITERAL(text) ((struct slice){(const uint8_t *)(text), sizeof(text) - 1})

static inline struct slice slice_make(const void *data, size_t size) {
    return (struct slice){data, size};
}

static inline struct slice slice_from_text(const char *text) {
    return (struct slice){(const uint8_t *)text, strlen(text)};
}

static inline bool slice_equal(struct slice a, struct slice b) {
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static inline bool slice_equal_text(struct slice a, const char *text) {
    return slice_equal(a, slice_from_text(text));
}

static inline bool slice_starts_with(struct slice a, struct slice prefix) {
    return a.size >= prefix.size &&
           (prefix.size == 0 || memcmp(a.data, prefix.data, prefix.size) == 0);
}

/* The bytes from offset on; offset must not exceed the size. */
static inline struct slice slice_from(struct slice a, size_t offset) {
    return (struct slice){a.data + offset, a.size - offset};
}

/* ASCII letters compared without case. */
static inline bool slice_equal_nocase(struct slice a, struct slice b) {
    if (a.size != b.size)
        return false;
    for (size_t i = 0; i < a.size; i++) {
        uint8_t x = a.data[i], y = b.data[i];
        if (x >= 'A' && x <= 'Z')
            x |= 0x20;
        if (y >= 'A' && y <= 'Z')
            y |= 0x20;
        if (x != y)
            return false;
    }
    return true;
}
