#include "observe/log.h"

#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* A line being put together; what does not fit is cut, but for its newline. */
struct line {
    char data[LOG_LINE_MAX];
    size_t size;
};

/* Lines that nobody read in time. */
static atomic_uint dropped;

__attribute__((format(printf, 2, 3))) static void add(struct line *line, const char *format, ...) {
    size_t room = sizeof line->data - 1 - line->size;
    va_list args;
    va_start(args, format);
    int size = vsnprintf(line->data + line->size, room, format, args);
    va_end(args);
    line->size += (size_t)size < room ? (size_t)size : room - 1;
}

static void add_time(struct line *line) {
    struct timespec now;
    struct tm parts;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    add(line, "%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ", parts.tm_year + 1900, parts.tm_mon + 1,
        parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, now.tv_nsec / 1000000);
}

static void add_escaped(struct line *line, uint8_t byte) {
    if (byte == '"' || byte == '\\')
        add(line, "\\%c", byte);
    else if (byte == '\n')
        add(line, "\\n");
    else if (byte >= ' ' && byte <= '~')
        add(line, "%c", byte);
    else
        add(line, "\\x%02x", byte);
}

static bool is_plain(struct slice text) {
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] <= ' ' || text.data[i] > '~' || strchr("\"\\=", text.data[i]))
            return false;
    return text.size > 0;
}

static void add_text(struct line *line, struct slice text) {
    bool is_cut = text.size > LOG_VALUE_MAX;
    if (is_cut)
        text.size = LOG_VALUE_MAX;
    const char *quote = is_plain(text) ? "" : "\"";
    add(line, "%s", quote);
    for (size_t i = 0; i < text.size; i++)
        add_escaped(line, text.data[i]);
    add(line, "%s%s", is_cut ? "..." : "", quote);
}

/* The size of the path prefix "/t/" and the slashes before it; 0 where it begins otherwise. */
static size_t token_prefix(struct slice path) {
    size_t at = 0;
    while (at + 1 < path.size && path.data[at + 1] == '/')
        at++;
    return slice_starts_with(slice_from(path, at), SLICE_LITERAL("/t/")) ? at + 3 : 0;
}

static void add_path(struct line *line, struct slice path) {
    const uint8_t *query = path.size ? memchr(path.data, '?', path.size) : NULL;
    if (query)
        path.size = (size_t)(query - path.data);
    size_t at = token_prefix(path);
    if (at == 0) {
        add_text(line, path);
        return;
    }
    while (at < path.size && path.data[at] != '/')
        at++;
    add(line, "/t/...");
    if (at < path.size)
        add_text(line, slice_from(path, at));
}

static void add_field(struct line *line, const struct log_field *field) {
    add(line, " %s=", field->key);
    if (field->kind == LOG_KIND_NUMBER)
        add(line, "%" PRId64, field->number);
    else if (field->kind == LOG_KIND_PATH)
        add_path(line, field->text);
    else
        add_text(line, field->text);
}

/* One write, so that lines of several processes stay whole. */
static void put(struct line *line) {
    struct pollfd standard_error = {.fd = STDERR_FILENO, .events = POLLOUT};
    line->data[line->size++] = '\n';
    bool is_writable = poll(&standard_error, 1, 0) == 1 && (standard_error.revents & POLLOUT);
    if (!is_writable || write(STDERR_FILENO, line->data, line->size) < 0)
        atomic_fetch_add(&dropped, 1);
}

void log_write(enum log_level level, const char *event, const struct log_field *fields,
               size_t count) {
    static const char *const levels[] = {"info", "warning", "error"};
    struct line line = {.size = 0};
    unsigned lost = atomic_exchange(&dropped, 0);
    add_time(&line);
    add(&line, " %s %s", levels[level], event);
    for (size_t i = 0; i < count; i++)
        if (fields[i].key)
            add_field(&line, &fields[i]);
    if (lost)
        add(&line, " lines_lost=%u", lost);
    unsigned before = atomic_load(&dropped);
    put(&line);
    if (lost && atomic_load(&dropped) != before)
        atomic_fetch_add(&dropped, lost);
}
