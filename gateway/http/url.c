/* url - percent escapes and query parameters (RFC 3986 section 2.1, WHATWG URL section 5.1). */
#include <errno.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "http/http.h"

static int digit_of(uint8_t c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte of "%xy"; -1 where it is not one. */
static int byte_of_escape(struct slice rest) {
    if (rest.size < 3)
        return -1;
    int high = digit_of(rest.data[1]), low = digit_of(rest.data[2]);
    return high < 0 || low < 0 ? -1 : high << 4 | low;
}

int http_percent_decode(struct slice encoded, bool plus_is_blank, char **ret_text) {
    cleanup_mem char *text = mem_alloc(encoded.size + 1);
    size_t size = 0;
    for (size_t i = 0; i < encoded.size; i++) {
        int byte = encoded.data[i];
        if (byte == '%') {
            byte = byte_of_escape(slice_from(encoded, i));
            i += 2;
        } else if (byte == '+' && plus_is_blank) {
            byte = ' ';
        }
        if (byte <= 0)
            return -EINVAL;
        text[size++] = (char)byte;
    }
    text[size] = 0;
    *ret_text = take_pointer(text);
    return 0;
}

static struct slice until(struct slice text, char stop) {
    const uint8_t *at = text.size ? memchr(text.data, stop, text.size) : NULL;
    return slice_make(text.data, at ? (size_t)(at - text.data) : text.size);
}

char *http_query_get(struct slice query, const char *name) {
    while (query.size) {
        struct slice pair = until(query, '&'), key = until(pair, '=');
        query = slice_from(query, pair.size + (pair.size < query.size));
        cleanup_mem char *decoded = NULL;
        if (http_percent_decode(key, true, &decoded) < 0 || strcmp(decoded, name) != 0)
            continue;
        char *value = NULL;
        http_percent_decode(slice_from(pair, key.size + (key.size < pair.size)), true, &value);
        return value;
    }
    return NULL;
}
