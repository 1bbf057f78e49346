#include "wire/span.h"

#include <assert.h>
#include <ctype.h>
#include <endian.h>
#include <errno.h>

/* What is scanned, and what was wrong. Every skip_ function takes where it stands and returns where
 * it came to, or NULL where problem says what was wrong at place: so the place stays in a register.
 */
struct scan {
    const uint8_t *begin, *end;
    const char *problem;
    const uint8_t *place;
};

static const uint8_t *fail(struct scan *scan, const uint8_t *at, const char *problem) {
    scan->problem = problem;
    scan->place = at;
    return NULL;
}

/* The byte here; 0, which begins nothing, at the end. */
static inline uint8_t peek(const struct scan *scan, const uint8_t *at) {
    return at < scan->end ? *at : 0;
}

static inline const uint8_t *skip_blanks(const struct scan *scan, const uint8_t *at) {
    while (at < scan->end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
        at++;
    return at;
}

/* The high bit of each byte of word that ends a plain run of a string: below 0x20, '"' or '\\'.
 * The lowest such bit is exact; those above it may be false alarms (Hacker's Delight 6-1). */
static inline uint64_t find_special(uint64_t word) {
    const uint64_t ones = 0x0101010101010101, highs = 0x8080808080808080;
    uint64_t quote = word ^ ones * '"', backslash = word ^ ones * '\\';
    return (((word - ones * 0x20) & ~word) | ((quote - ones) & ~quote) |
            ((backslash - ones) & ~backslash)) &
           highs;
}

/* To the first byte that is a quote, a backslash or a control character, or to the end. */
static inline const uint8_t *skip_plain(const struct scan *scan, const uint8_t *at) {
    uint64_t word;
    for (; scan->end - at >= 8; at += 8) {
        memcpy(&word, at, 8);
        uint64_t special = find_special(le64toh(word)); /* the first byte is the lowest */
        if (special)
            return at + __builtin_ctzll(special) / 8;
    }
    while (at < scan->end && *at >= 0x20 && *at != '"' && *at != '\\')
        at++;
    return at;
}

/* What may stand behind a backslash, but for u. */
static const bool is_simple[256] = {['"'] = true, ['\\'] = true, ['/'] = true, ['b'] = true,
                                    ['f'] = true, ['n'] = true,  ['r'] = true, ['t'] = true};

/* From a backslash to behind its escape. */
static inline const uint8_t *skip_escape(struct scan *scan, const uint8_t *at) {
    uint8_t c = peek(scan, ++at);
    if (is_simple[c])
        return at + 1;
    if (c != 'u')
        return fail(scan, at, "unknown escape");
    at++;
    for (int i = 0; i < 4; i++, at++)
        if (!isxdigit(peek(scan, at)))
            return fail(scan, at, "\\u without four hex digits");
    return at;
}

/* From a quote to behind its partner. */
static const uint8_t *skip_string(struct scan *scan, const uint8_t *at) {
    if (peek(scan, at) != '"')
        return fail(scan, at, "expected a string");
    at++;
    for (;;) {
        at = skip_plain(scan, at);
        if (at == scan->end)
            return fail(scan, at, "string without end");
        if (*at == '"')
            return at + 1;
        if (*at != '\\')
            return fail(scan, at, "control character in a string");
        at = skip_escape(scan, at);
        if (!at)
            return NULL;
    }
}

static const uint8_t *skip_word(struct scan *scan, const uint8_t *at, struct slice word) {
    if ((size_t)(scan->end - at) < word.size || memcmp(at, word.data, word.size) != 0)
        return fail(scan, at, "expected a value");
    return at + word.size;
}

static inline bool is_digit(uint8_t c) {
    return c >= '0' && c <= '9';
}

static inline const uint8_t *skip_digits(struct scan *scan, const uint8_t *at) {
    if (!is_digit(peek(scan, at)))
        return fail(scan, at, "expected a digit");
    do
        at++;
    while (at < scan->end && is_digit(*at));
    return at;
}

/* What may follow the digits of a number: a fraction and an exponent. */
static const uint8_t *skip_fraction(struct scan *scan, const uint8_t *at) {
    if (peek(scan, at) == '.') {
        at = skip_digits(scan, at + 1);
        if (!at)
            return NULL;
    }
    uint8_t c = peek(scan, at);
    if (c != 'e' && c != 'E')
        return at;
    c = peek(scan, ++at);
    return skip_digits(scan, c == '+' || c == '-' ? at + 1 : at);
}

/* RFC 8259 section 6, and -Infinity. */
static inline const uint8_t *skip_number(struct scan *scan, const uint8_t *at) {
    if (*at == '-' && peek(scan, ++at) == 'I')
        return skip_word(scan, at, SLICE_LITERAL("Infinity"));
    const uint8_t *digits = at;
    at = peek(scan, at) == '0' ? at + 1 : skip_digits(scan, at);
    if (!at)
        return NULL;
    const uint8_t *end = skip_fraction(scan, at);
    if (end == at && at - digits > SPAN_DIGITS_MAX)
        return fail(scan, digits, "integer of more than 4300 digits");
    return end;
}

static inline const uint8_t *skip_scalar(struct scan *scan, const uint8_t *at) {
    switch (peek(scan, at)) {
    case '"':
        return skip_string(scan, at);
    case '-':
    case '0' ... '9':
        return skip_number(scan, at);
    case 't':
        return skip_word(scan, at, SLICE_LITERAL("true"));
    case 'f':
        return skip_word(scan, at, SLICE_LITERAL("false"));
    case 'n':
        return skip_word(scan, at, SLICE_LITERAL("null"));
    case 'N':
        return skip_word(scan, at, SLICE_LITERAL("NaN"));
    case 'I':
        return skip_word(scan, at, SLICE_LITERAL("Infinity"));
    default:
        return fail(scan, at, "expected a value");
    }
}

/* A key and its colon, and the blanks around the key; *ret_key has the quotes. */
static const uint8_t *skip_key(struct scan *scan, const uint8_t *at, struct slice *ret_key) {
    at = skip_blanks(scan, at);
    const uint8_t *begin = at;
    at = skip_string(scan, at);
    if (!at)
        return NULL;
    *ret_key = slice_make(begin, (size_t)(at - begin));
    at = skip_blanks(scan, at);
    return peek(scan, at) == ':' ? at + 1 : fail(scan, at, "expected a colon behind a key");
}

/* The brackets that are open around a value: one bit each, 1 for an object. */
struct nest {
    uint64_t is_object[SPAN_DEPTH_MAX / 64];
    unsigned depth;
    bool in_object; /* the innermost one */
};

/* False where it is too deep: one level is the object around all. */
static bool nest_open(struct nest *nest, bool is_object) {
    if (nest->depth == SPAN_DEPTH_MAX - 1)
        return false;
    uint64_t bit = (uint64_t)1 << nest->depth % 64, *word = &nest->is_object[nest->depth / 64];
    *word = is_object ? *word | bit : *word & ~bit;
    nest->depth++;
    nest->in_object = is_object;
    return true;
}

static void nest_close(struct nest *nest) {
    unsigned around = --nest->depth - 1; /* unused where that was the outermost */
    nest->in_object = nest->depth && nest->is_object[around / 64] >> around % 64 & 1;
}

/* Opens brackets and skips keys until a value is skipped: a scalar, or an empty bracket. */
static const uint8_t *skip_innermost(struct scan *scan, const uint8_t *at, struct nest *nest) {
    for (;;) {
        at = skip_blanks(scan, at);
        uint8_t c = peek(scan, at);
        if (c != '{' && c != '[')
            return skip_scalar(scan, at);
        if (!nest_open(nest, c == '{'))
            return fail(scan, at, "nested too deeply");
        at = skip_blanks(scan, at + 1);
        if (peek(scan, at) == (c == '{' ? '}' : ']')) {
            nest_close(nest);
            return at + 1;
        }
        struct slice key;
        if (c == '{' && !(at = skip_key(scan, at, &key)))
            return NULL;
    }
}

/* Closes brackets until none is open, or goes to where the next value of one begins. */
static const uint8_t *skip_closers(struct scan *scan, const uint8_t *at, struct nest *nest) {
    while (nest->depth) {
        at = skip_blanks(scan, at);
        uint8_t c = peek(scan, at);
        struct slice key;
        if (c == ',')
            return nest->in_object ? skip_key(scan, at + 1, &key) : at + 1;
        if (c != (nest->in_object ? '}' : ']'))
            return fail(scan, at, nest->in_object ? "expected , or }" : "expected , or ]");
        nest_close(nest);
        at++;
    }
    return at;
}

static const uint8_t *skip_value(struct scan *scan, const uint8_t *at) {
    struct nest nest;
    nest.depth = 0, nest.in_object = false;
    do {
        at = skip_innermost(scan, at, &nest);
        if (at)
            at = skip_closers(scan, at, &nest);
    } while (at && nest.depth);
    return at;
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

static const uint8_t *scan_member(struct scan *scan, const uint8_t *at, const char *const *names,
                                  size_t count, struct slice *values) {
    struct slice key;
    at = skip_key(scan, at, &key);
    if (!at)
        return NULL;
    const uint8_t *begin = skip_blanks(scan, at);
    at = skip_value(scan, begin);
    if (!at)
        return NULL;
    note_member(key, slice_make(begin, (size_t)(at - begin)), names, count, values);
    return skip_blanks(scan, at);
}

/* From the brace of an object to behind its partner. */
static const uint8_t *scan_object(struct scan *scan, const uint8_t *at, const char *const *names,
                                  size_t count, struct slice *values) {
    if (peek(scan, at) != '{')
        return fail(scan, at, "expected an object");
    at = skip_blanks(scan, at + 1);
    if (peek(scan, at) == '}')
        return at + 1;
    while ((at = scan_member(scan, at, names, count, values)) && peek(scan, at) == ',')
        at++;
    if (!at)
        return NULL;
    return peek(scan, at) == '}' ? at + 1 : fail(scan, at, "expected , or }");
}

int span_members(struct slice json, const char *const *names, size_t count,
                 struct slice *ret_values, struct err *err) {
    assert(count <= SPAN_NAMES_MAX);
    struct slice values[SPAN_NAMES_MAX] = {0};
    struct scan scan = {.begin = json.data, .end = json.data};
    if (json.size)
        scan.end += json.size;
    const uint8_t *at = scan_object(&scan, skip_blanks(&scan, json.data), names, count, values);
    if (at && (at = skip_blanks(&scan, at)) < scan.end)
        at = fail(&scan, at, "something behind the object");
    if (!at)
        return err_set(err, EINVAL, "not a JSON object: %s at byte %zu", scan.problem,
                       (size_t)(scan.place - scan.begin));
    if (count)
        memcpy(ret_values, values, count * sizeof *values);
    return 0;
}

bool span_string_means(struct slice value, const char *text) {
    return value.size >= 2 && value.data[0] == '"' && string_means(value, text);
}
