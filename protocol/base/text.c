#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"

void text_finish(struct text *text) {
    mem_free(text->data);
    *text = (struct text){0};
}

static void reserve(struct text *text, size_t more) {
    size_t needed = text->size + more + 1;
    if (needed <= text->capacity)
        return;
    size_t capacity = text->capacity ? text->capacity * 2 : 64;
    text->capacity = capacity < needed ? needed : capacity;
    text->data = mem_realloc(text->data, text->capacity);
}

void text_append(struct text *text, struct slice more) {
    reserve(text, more.size);
    if (more.size)
        memcpy(text->data + text->size, more.data, more.size);
    text->size += more.size;
    text->data[text->size] = 0;
}

void text_append_text(struct text *text, const char *more) {
    text_append(text, slice_from_text(more));
}

void text_append_format(struct text *text, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    reserve(text, (size_t)size);
    vsnprintf(text->data + text->size, (size_t)size + 1, format, again);
    va_end(again);
    text->size += (size_t)size;
}

void text_append_json_string(struct text *text, struct slice more) {
    reserve(text, more.size + 2);
    text_append_text(text, "\"");
    size_t begin = 0;
    for (size_t i = 0; i < more.size; i++) {
        uint8_t c = more.data[i];
        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        text_append(text, slice_make(more.data + begin, i - begin));
        if (c == '"' || c == '\\')
            text_append_format(text, "\\%c", c);
        else
            text_append_format(text, "\\u%04x", c);
        begin = i + 1;
    }
    text_append(text, slice_make(more.data + begin, more.size - begin));
    text_append_text(text, "\"");
}

/* How many continuation bytes follow lead, and the range of the first of them (RFC 3629 section 4);
 * -1 where no character begins with lead. */
static int continuation_of(uint8_t lead, uint8_t *ret_low, uint8_t *ret_high) {
    *ret_low = 0x80, *ret_high = 0xbf;
    if (lead < 0x80)
        return 0;
    if (lead >= 0xc2 && lead <= 0xdf)
        return 1;
    if (lead >= 0xe0 && lead <= 0xef) {
        if (lead == 0xe0)
            *ret_low = 0xa0;
        if (lead == 0xed)
            *ret_high = 0x9f;
        return 2;
    }
    if (lead >= 0xf0 && lead <= 0xf4) {
        if (lead == 0xf0)
            *ret_low = 0x90;
        if (lead == 0xf4)
            *ret_high = 0x8f;
        return 3;
    }
    return -1;
}

bool text_is_utf8(struct slice value) {
    for (size_t i = 0; i < value.size;) {
        /* Eight ASCII bytes at a time: most of what passes here. */
        uint64_t word;
        if (value.size - i >= 8 &&
            (memcpy(&word, value.data + i, 8), !(word & 0x8080808080808080))) {
            i += 8;
            continue;
        }
        uint8_t low, high;
        int more = continuation_of(value.data[i++], &low, &high);
        if (more < 0 || (size_t)more > value.size - i)
            return false;
        for (; more > 0; more--, low = 0x80, high = 0xbf, i++)
            if (value.data[i] < low || value.data[i] > high)
                return false;
    }
    return true;
}

bool text_equal_secret(struct slice a, struct slice b) {
    if (a.size != b.size)
        return false;
    volatile uint8_t difference = 0;
    for (size_t i = 0; i < a.size; i++)
        difference |= a.data[i] ^ b.data[i];
    return difference == 0;
}
