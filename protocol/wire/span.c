#include "wire/span.h"

#include <assert.h>
#include <errno.h>

/* Where the scan stands, and what it met. at never passes end. */
struct scan {
    const uint8_t *begin, *at, *end;
    const char *problem; /* NULL while all is well */
};

static bool fail(struct scan *scan, const char *problem) {
    scan->problem = problem;
    return false;
}

/* The byte here; 0, which begins nothing, at the end. */
static uint8_t peek(const struct scan *scan) {
    return scan->at < scan->end ? *scan->at : 0;
}

static uint8_t peek_behind_blanks(struct scan *scan) {
    uint8_t c = peek(scan);
    while (c == ' ' || c == '\n' || c == '\r' || c == '\t') {
        scan->at++;
        c = peek(scan);
    }
    return c;
}

/* True in the high bit of each byte of word that ends a plain run of a string: below 0x20, '"' or
 * '\\'. The lowest such byte is exact; bits above it may be false alarms (Hacker's Delight 6-1). */
static uint64_t find_special(uint64_t word) {
    const uint64_t ones = 0x0101010101010101, highs = 0x8080808080808080;
    uint64_t quote = word ^ ones * '"', backslash = word ^ ones * '\\';
    return (((word - ones * 0x20) & ~word) | ((quote - ones) & ~quote) |
            ((backslash - ones) & ~backslash)) &
           highs;
}

/* To the first byte that is a quote, a backslash or a control character, or to the end. */
static void skip_plain(struct scan *scan) {
    const uint8_t *at = scan->at, *end = scan->end;
    uint64_t word;
    while (end - at >= 8) {
        memcpy(&word, at, 8);
        if (find_special(word))
            break;
        at += 8;
    }
    while (at < end && *at >= 0x20 && *at != '"' && *at != '\\')
        at++;
    scan->at = at;
}

static bool is_hex(uint8_t c) {
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* From a backslash to behind its escape. */
static bool skip_escape(struct scan *scan) {
    scan->at++;
    uint8_t c = peek(scan);
    if (c == 0 || !strchr("\"\\/bfnrtu", c))
        return fail(scan, "unknown escape");
    scan->at++;
    if (c != 'u')
        return true;
    for (int i = 0; i < 4; i++, scan->at++)
        if (!is_hex(peek(scan)))
            return fail(scan, "\\u without four hex digits");
    return true;
}

/* From a quote to behind its partner. */
static bool skip_string(struct scan *scan) {
    if (peek(scan) != '"')
        return fail(scan, "expected a string");
    scan->at++;
    for (;;) {
        skip_plain(scan);
        if (scan->at == scan->end)
            return fail(scan, "string without end");
        if (*scan->at == '"') {
            scan->at++;
            return true;
        }
        if (*scan->at != '\\')
            return fail(scan, "control character in a string");
        if (!skip_escape(scan))
            return false;
    }
}

static bool skip_word(struct scan *scan, const char *word) {
    size_t size = strlen(word);
    if ((size_t)(scan->end - scan->at) < size || memcmp(scan->at, word, size) != 0)
        return fail(scan, "expected a value");
    scan->at += size;
    return true;
}

static bool skip_digits(struct scan *scan) {
    const uint8_t *first = scan->at;
    while (scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9')
        scan->at++;
    return scan->at > first || fail(scan, "expected a digit");
}

/* RFC 8259 section 6, of any length, and -Infinity. */
static bool skip_number(struct scan *scan) {
    if (peek(scan) == '-') {
        scan->at++;
        if (peek(scan) == 'I')
            return skip_word(scan, "Infinity");
    }
    if (peek(scan) == '0')
        scan->at++;
    else if (!skip_digits(scan))
        return false;
    if (peek(scan) == '.') {
        scan->at++;
        if (!skip_digits(scan))
            return false;
    }
    if ((peek(scan) | 0x20) == 'e') {
        scan->at++;
        if (peek(scan) == '+' || peek(scan) == '-')
            scan->at++;
        return skip_digits(scan);
    }
    return true;
}

static bool skip_scalar(struct scan *scan) {
    switch (peek(scan)) {
    case '"':
        return skip_string(scan);
    case 't':
        return skip_word(scan, "true");
    case 'f':
        return skip_word(scan, "false");
    case 'n':
        return skip_word(scan, "null");
    case 'N':
        return skip_word(scan, "NaN");
    case 'I':
        return skip_word(scan, "Infinity");
    case '-':
    case '0' ... '9':
        return skip_number(scan);
    default:
        return fail(scan, "expected a value");
    }
}

/* A key, its colon, and the blanks around them; *ret_key has the quotes. */
static bool skip_key(struct scan *scan, struct slice *ret_key) {
    peek_behind_blanks(scan);
    const uint8_t *begin = scan->at;
    if (!skip_string(scan))
        return false;
    *ret_key = slice_make(begin, (size_t)(scan->at - begin));
    if (peek_behind_blanks(scan) != ':')
        return fail(scan, "expected a colon behind a key");
    scan->at++;
    return true;
}

/* The brackets that are open around a value: one bit each, 1 for an object. */
struct nest {
    uint64_t is_object[SPAN_DEPTH_MAX / 64];
    unsigned depth;
};

static bool nest_is_object(const struct nest *nest) {
    return nest->is_object[(nest->depth - 1) / 64] >> (nest->depth - 1) % 64 & 1;
}

static bool nest_open(struct scan *scan, struct nest *nest, bool is_object) {
    if (nest->depth == SPAN_DEPTH_MAX - 1) /* one is the object around all */
        return fail(scan, "nested too deeply");
    uint64_t bit = (uint64_t)1 << nest->depth % 64, *word = &nest->is_object[nest->depth / 64];
    *word = is_object ? *word | bit : *word & ~bit;
    nest->depth++;
    scan->at++;
    return true;
}

/* Opens brackets and skips keys until a value is skipped: a scalar, or an empty bracket. */
static bool skip_innermost(struct scan *scan, struct nest *nest) {
    for (;;) {
        uint8_t c = peek_behind_blanks(scan);
        if (c != '{' && c != '[')
            return skip_scalar(scan);
        if (!nest_open(scan, nest, c == '{'))
            return false;
        if (peek_behind_blanks(scan) == (c == '{' ? '}' : ']')) {
            scan->at++;
            nest->depth--;
            return true;
        }
        struct slice key;
        if (c == '{' && !skip_key(scan, &key))
            return false;
    }
}

/* Closes brackets until another value follows (true) or none is open. */
static bool follow_value(struct scan *scan, struct nest *nest) {
    while (nest->depth) {
        uint8_t c = peek_behind_blanks(scan);
        bool is_object = nest_is_object(nest);
        if (c == ',') {
            scan->at++;
            struct slice key;
            return !is_object || skip_key(scan, &key);
        }
        if (c != (is_object ? '}' : ']'))
            return fail(scan, is_object ? "expected , or }" : "expected , or ]");
        scan->at++;
        nest->depth--;
    }
    return false;
}

static bool skip_value(struct scan *scan) {
    struct nest nest;
    nest.depth = 0;
    do {
        if (!skip_innermost(scan, &nest))
            return false;
    } while (follow_value(scan, &nest));
    return !scan->problem;
}

/* The character that the escape behind a backslash at *at stands for; *at ends on its last byte.
 * -1 where it is none of ASCII. */
static int decode_escape(const uint8_t **at) {
    static const char escapes[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    uint8_t c = *++*at;
    if (c != 'u')
        return meanings[strchr(escapes, c) - escapes];
    int value = 0;
    for (int i = 0; i < 4; i++) {
        uint8_t digit = *++*at;
        value = value * 16 + (digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10);
    }
    return value < 0x80 ? value : -1;
}

/* True where the string, whose form has been checked, with its quotes, means name. */
static bool string_means(struct slice string, const char *name) {
    const uint8_t *at = string.data + 1, *end = string.data + string.size - 1;
    for (; at < end; at++, name++) {
        int c = *at == '\\' ? decode_escape(&at) : *at;
        if (c <= 0 || c != (uint8_t)*name)
            return false;
    }
    return !*name;
}

static void note_member(struct slice key, struct slice value, const char *const *names,
                        size_t count, struct slice *values) {
    for (size_t i = 0; i < count; i++)
        if (string_means(key, names[i]))
            values[i] = value;
}

static bool scan_member(struct scan *scan, const char *const *names, size_t count,
                        struct slice *values) {
    struct slice key;
    if (!skip_key(scan, &key))
        return false;
    peek_behind_blanks(scan);
    const uint8_t *begin = scan->at;
    if (!skip_value(scan))
        return false;
    note_member(key, slice_make(begin, (size_t)(scan->at - begin)), names, count, values);
    return true;
}

static bool scan_object(struct scan *scan, const char *const *names, size_t count,
                        struct slice *values) {
    if (peek_behind_blanks(scan) != '{')
        return fail(scan, "expected an object");
    scan->at++;
    if (peek_behind_blanks(scan) != '}') {
        while (scan_member(scan, names, count, values) && peek_behind_blanks(scan) == ',')
            scan->at++;
        if (scan->problem)
            return false;
        if (peek(scan) != '}')
            return fail(scan, "expected , or }");
    }
    scan->at++;
    peek_behind_blanks(scan);
    return scan->at == scan->end || fail(scan, "something behind the object");
}

int span_members(struct slice json, const char *const *names, size_t count,
                 struct slice *ret_values, struct err *err) {
    assert(count <= SPAN_NAMES_MAX);
    struct slice values[SPAN_NAMES_MAX] = {0};
    struct scan scan = {json.data, json.data, json.data, NULL};
    if (json.size)
        scan.end += json.size;
    if (!scan_object(&scan, names, count, values))
        return err_set(err, EINVAL, "not a JSON object: %s at byte %zu", scan.problem,
                       (size_t)(scan.at - scan.begin));
    if (count)
        memcpy(ret_values, values, count * sizeof *values);
    return 0;
}

bool span_string_means(struct slice value, const char *text) {
    return value.size >= 2 && value.data[0] == '"' && string_means(value, text);
}
