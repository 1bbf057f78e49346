/* text - a growing byte string for building; always NUL-terminated behind its size. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

/* All zero is an empty text. */
struct text {
    char *data; /* NULL while empty */
    size_t size;
    size_t capacity;
};

/* Frees what it holds; it is an empty text afterwards. */
void text_finish(struct text *text);
void text_append(struct text *text, struct slice more);
void text_append_text(struct text *text, const char *more);
__attribute__((format(printf, 2, 3))) void text_append_format(struct text *text, const char *format,
                                                              ...);
/* Appends more as a JSON string with its quotes. more must be UTF-8; control characters are
 * escaped, everything else stays (RFC 8259 section 7). */
void text_append_json_string(struct text *text, struct slice more);

static inline struct slice text_slice(const struct text *text) {
    return (struct slice){(const uint8_t *)text->data, text->size};
}

/* True where value is well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms). */
bool text_is_utf8(struct slice value);
/* Equal length and bytes, in time that depends on the lengths alone: for secrets. */
bool text_equal_secret(struct slice a, struct slice b);
