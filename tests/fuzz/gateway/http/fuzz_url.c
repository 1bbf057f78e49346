/* fuzz_url - percent escapes and queries. Input: the name of a parameter, a line end, then a path
 * or query. What is decoded is what it means when it is encoded again, and a parameter is found
 * where a reading by hand finds it. */
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text.h"
#include "http/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *decode(struct slice encoded, bool plus_is_blank) {
    static char untouched;
    char *text = &untouched;
    int result = http_percent_decode(encoded, plus_is_blank, &text);
    assert(result == 0 || (result == -EINVAL && text == &untouched));
    return result == 0 ? text : NULL;
}

static void check_round_trip(struct slice encoded, bool plus_is_blank) {
    cleanup_mem char *text = decode(encoded, plus_is_blank);
    if (!text)
        return;
    assert(strlen(text) <= encoded.size);
    cleanup_text struct text escaped = {0};
    text_append_text(&escaped, "");
    for (const char *at = text; *at; at++)
        text_append_format(&escaped, "%%%02x", (uint8_t)*at);
    cleanup_mem char *again = decode(text_slice(&escaped), plus_is_blank);
    assert(again && strcmp(again, text) == 0);
}

/* The first pair whose key is name; its value, or NULL where that cannot be decoded. */
static char *find_by_hand(struct slice query, const char *name) {
    cleanup_mem char *copy = mem_copy_text(query.data, query.size);
    for (char *pair = copy, *next; pair; pair = next) {
        next = memchr(pair, '&', query.size - (size_t)(pair - copy));
        size_t size = (size_t)((next ? next : copy + query.size) - pair);
        next = next ? next + 1 : NULL;
        const char *equals = memchr(pair, '=', size);
        size_t key_size = equals ? (size_t)(equals - pair) : size;
        cleanup_mem char *key = decode(slice_make(pair, key_size), true);
        if (!size || !key || strcmp(key, name) != 0)
            continue;
        return decode(slice_make(pair + key_size + !!equals, size - key_size - !!equals), true);
    }
    return NULL;
}

static void check_query(struct slice query, const char *name) {
    cleanup_mem char *found = http_query_get(query, name), *wanted = find_by_hand(query, name);
    assert(!found == !wanted && (!found || strcmp(found, wanted) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *end = size ? memchr(data, '\n', size) : NULL;
    if (!end)
        return 0;
    size_t name_size = (size_t)(end - data);
    /* A copy of exactly its size, so that ASan sees a read of one byte past it. */
    struct bytes *input = bytes_copy(slice_make(end + 1, size - name_size - 1));
    char *name = mem_copy_text(data, name_size);
    check_round_trip(bytes_slice(input), false);
    check_round_trip(bytes_slice(input), true);
    if (*name)
        check_query(bytes_slice(input), name);
    mem_free(name);
    bytes_unref(input);
    assert(mem_live() == 0);
    return 0;
}
