#include "http/head.h"

#include <stdbool.h>
#include <string.h>

static const char allowed_methods[] = "Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n";

static const struct method {
    const char *name;
    int status; /* 0: served */
} methods[] = {
    {"GET", 0},    {"HEAD", 0},    {"POST", 0},      {"PUT", 0},     {"PATCH", 0},
    {"DELETE", 0}, {"OPTIONS", 0}, {"CONNECT", 405}, {"TRACE", 405},
};

static bool malformed(struct refusal *ret_refusal, const char *what) {
    return refuse(ret_refusal, 400, "malformed_request", "The request is malformed: %s.", what);
}

static bool is_token(struct slice text) {
    static const char others[] = "!#$%&'*+-.^_`|~";
    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = text.data[i], lower = c | 0x20;
        bool alphanumeric = (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9');
        if (!alphanumeric && !memchr(others, c, sizeof others - 1))
            return false;
    }
    return text.size > 0;
}

static bool check_method(struct slice method, struct refusal *ret_refusal) {
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (!slice_equal_text(method, methods[i].name))
            continue;
        if (methods[i].status == 0)
            return true;
        refuse(ret_refusal, methods[i].status, "method_not_allowed", "The method %s is not served.",
               methods[i].name);
        ret_refusal->header = allowed_methods;
        return false;
    }
    if (!is_token(method))
        return malformed(ret_refusal, "the method is not a word");
    return refuse(ret_refusal, 501, "method_unknown", "The method is not known.");
}

/* Only the origin form (RFC 9112 section 3.2.1). */
static bool check_target(struct slice target, struct refusal *ret_refusal) {
    if (target.size == 0 || target.data[0] != '/')
        return refuse(ret_refusal, 400, "bad_target",
                      "The request target must be a path that begins with \"/\".");
    for (size_t i = 0; i < target.size; i++)
        if (target.data[i] <= ' ' || target.data[i] >= 0x7f || target.data[i] == '#')
            return refuse(ret_refusal, 400, "bad_target",
                          "The request target holds a character that must be percent-encoded.");
    return true;
}

static bool check_version(struct slice version, struct refusal *ret_refusal) {
    if (slice_equal_text(version, "HTTP/1.1") || slice_equal_text(version, "HTTP/1.0"))
        return true;
    if (version.size == 8 && slice_starts_with(version, SLICE_LITERAL("HTTP/")))
        return refuse(ret_refusal, 505, "version_not_supported",
                      "Only HTTP/1.1 and HTTP/1.0 are spoken here.");
    return malformed(ret_refusal, "the request line does not end in HTTP/1.1 or HTTP/1.0");
}

/* line is without its CRLF and begins at offset. Exactly two single blanks (RFC 9112 section 3). */
static bool check_request_line(struct head_scan *scan, struct slice line, size_t offset,
                               struct refusal *ret_refusal) {
    const uint8_t *first = line.size ? memchr(line.data, ' ', line.size) : NULL;
    const uint8_t *last = line.size ? memrchr(line.data, ' ', line.size) : NULL;
    if (!first || first == last)
        return malformed(ret_refusal, "the request line is not a method, a target and a version");
    size_t target = (size_t)(first - line.data) + 1, version = (size_t)(last - line.data) + 1;
    scan->target = offset + target;
    scan->target_end = offset + version - 1;
    return check_version(slice_from(line, version), ret_refusal) &&
           check_method(slice_make(line.data, target - 1), ret_refusal) &&
           check_target(slice_make(line.data + target, version - 1 - target), ret_refusal);
}

/* One byte that is neither CR nor LF. */
static bool check_byte(const struct head_scan *scan, uint8_t c, struct refusal *ret_refusal) {
    if (scan->carriage_return)
        return malformed(ret_refusal, "a CR without its LF");
    if ((c < ' ' && c != '\t') || c == 0x7f)
        return malformed(ret_refusal, "a control character in the head");
    if (scan->at == scan->line && scan->lines && (c == ' ' || c == '\t'))
        return malformed(ret_refusal, "a folded header line");
    if (scan->at == scan->line && scan->lines && c == ':')
        return malformed(ret_refusal, "a header without a name");
    return true;
}

/* The line that ends before the CRLF at scan->at - 1. */
static bool end_line(struct head_scan *scan, const uint8_t *input, const struct http_limits *limits,
                     struct refusal *ret_refusal) {
    struct slice line = slice_make(input + scan->line, scan->at - 1 - scan->line);
    if (scan->lines == 0 && line.size == 0) {
        if (scan->begin)
            return malformed(ret_refusal, "empty lines before the request");
        scan->begin = 2; /* one is taken (RFC 9112 section 2.2) */
        return true;
    }
    if (scan->lines == 0 && !check_request_line(scan, line, scan->line, ret_refusal))
        return false;
    scan->lines++;
    if (line.size && scan->lines > limits->headers + 1)
        return refuse(ret_refusal, 431, "too_many_headers",
                      "The request has more headers than http_headers = %u.", limits->headers);
    return true;
}

static bool end_line_at(struct head_scan *scan, const uint8_t *input,
                        const struct http_limits *limits, struct refusal *ret_refusal,
                        bool *ret_whole) {
    if (!scan->carriage_return)
        return malformed(ret_refusal, "an LF without its CR");
    *ret_whole = scan->lines && scan->line == scan->at - 1;
    if (!*ret_whole && !end_line(scan, input, limits, ret_refusal))
        return false;
    scan->line = scan->at + 1;
    return true;
}

enum head_state head_scan(struct head_scan *scan, struct slice input,
                          const struct http_limits *limits, struct refusal *ret_refusal) {
    bool whole = false;
    for (; !whole && scan->at < input.size; scan->at++) {
        uint8_t c = input.data[scan->at];
        if (scan->at >= limits->head) {
            refuse(ret_refusal, 431, "head_too_large",
                   "The request line and headers are larger than http_head_bytes = %zu.",
                   limits->head);
            return HEAD_REFUSED;
        }
        if (c == '\n' ? !end_line_at(scan, input.data, limits, ret_refusal, &whole)
                      : (c != '\r' || scan->carriage_return) && !check_byte(scan, c, ret_refusal))
            return HEAD_REFUSED;
        scan->carriage_return = c == '\r';
    }
    return whole ? HEAD_WHOLE : HEAD_MORE;
}

struct slice head_method(const struct head_scan *scan, const uint8_t *input) {
    return slice_make(input + scan->begin, scan->target - 1 - scan->begin);
}

struct slice head_target(const struct head_scan *scan, const uint8_t *input) {
    return slice_make(input + scan->target, scan->target_end - scan->target);
}
