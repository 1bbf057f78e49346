#include "echo/history.h"

#include "base/mem.h"
#include "echo/answer.h"
#include "echo/json.h"
#include "echo/kernel.h"

enum {
    SESSION = 1
}; /* this kernel's number among the sessions of its history: there is no other */

/* Cut at the start of a character, so that it stays UTF-8. */
static char *copy_cut(struct slice text) {
    size_t size = text.size;
    if (size > HISTORY_TEXT_MAX)
        for (size = HISTORY_TEXT_MAX; size > 0 && (text.data[size] & 0xc0) == 0x80;)
            size--;
    return mem_copy_text(text.data, size);
}

static void forget(struct history_entry *entry) {
    mem_free(entry->input);
    mem_free(entry->output);
}

void history_note(struct history *history, int line, struct slice input, struct slice output) {
    if (!history->entries)
        history->entries = mem_zalloc(HISTORY_MAX, sizeof *history->entries);
    if (history->count == HISTORY_MAX) {
        forget(&history->entries[0]);
        memmove(history->entries, history->entries + 1,
                (HISTORY_MAX - 1) * sizeof *history->entries);
        history->count--;
    }
    history->entries[history->count++] =
        (struct history_entry){line, copy_cut(input), output.data ? copy_cut(output) : NULL};
}

void history_finish(struct history *history) {
    for (size_t i = 0; i < history->count; i++)
        forget(&history->entries[i]);
    mem_free(history->entries);
    *history = (struct history){0};
}

/* Remembers the last star alone: a later one makes an earlier one's other readings needless. */
bool history_match(const char *pattern, const char *text) {
    const char *star = NULL, *resume = NULL;
    while (*text) {
        if (*pattern == '*') {
            star = pattern++;
            resume = text;
        } else if (*pattern == '?' || *pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star + 1;
            text = ++resume;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

/* What a history_request asks for. */
struct query {
    const struct history *history;
    bool with_output;
    json_t *found; /* newest last */
};

static void take(struct query *query, const struct history_entry *entry) {
    json_t *said = json_string(entry->input);
    if (query->with_output)
        said = json_pack("[o, s?]", said, entry->output);
    json_array_append_new(query->found, json_pack("[i, i, o]", SESSION, entry->line, said));
}

/* The last n entries; n < 0: all. */
static void take_tail(struct query *query, const json_t *content) {
    int64_t n = json_member_number(content, "n", -1);
    size_t count = query->history->count;
    size_t first = n >= 0 && (uint64_t)n < count ? count - (size_t)n : 0;
    for (size_t i = first; i < count; i++)
        take(query, &query->history->entries[i]);
}

/* Lines start <= line < stop of this session, negative ones counted from the end as IPython does;
 * session 0 is this one. */
static void take_range(struct query *query, const json_t *content) {
    int64_t session = json_member_number(content, "session", 0);
    if (session != 0 && session != SESSION)
        return;
    size_t count = query->history->count;
    int64_t end = count ? query->history->entries[count - 1].line + 1 : 0;
    int64_t start = json_member_number(content, "start", 0);
    int64_t stop = json_member_number(content, "stop", end);
    start = start < 0 ? start + end : start;
    stop = stop < 0 ? stop + end : stop;
    for (size_t i = 0; i < count; i++) {
        const struct history_entry *entry = &query->history->entries[i];
        if (entry->line >= start && entry->line < stop)
            take(query, entry);
    }
}

static bool has_later(const struct history *history, size_t at) {
    for (size_t i = at + 1; i < history->count; i++)
        if (strcmp(history->entries[i].input, history->entries[at].input) == 0)
            return true;
    return false;
}

/* The last n entries that fit the pattern; with unique, of equal ones the last. */
static void take_search(struct query *query, const json_t *content) {
    struct slice pattern = json_member_text(content, "pattern");
    bool unique = json_member_flag(content, "unique", false);
    int64_t n = json_member_number(content, "n", -1);
    for (size_t i = 0; i < query->history->count; i++) {
        const struct history_entry *entry = &query->history->entries[i];
        if (history_match(pattern.data ? (const char *)pattern.data : "*", entry->input) &&
            !(unique && has_later(query->history, i)))
            take(query, entry);
    }
    while (n >= 0 && json_array_size(query->found) > (uint64_t)n)
        json_array_remove(query->found, 0);
}

static const struct {
    const char *name;
    void (*take)(struct query *query, const json_t *content);
} access_types[] = {{"tail", take_tail}, {"range", take_range}, {"search", take_search}};

json_t *answer_history(struct kernel *kernel, const struct request *request,
                       const json_t *content) {
    (void)request;
    struct query query = {&kernel->history, json_member_flag(content, "output", false),
                          json_array()};
    struct slice type = json_member_text(content, "hist_access_type");
    for (size_t i = 0; i < sizeof access_types / sizeof *access_types; i++)
        if (slice_equal_text(type, access_types[i].name))
            access_types[i].take(&query, content);
    return json_pack("{s:s, s:o}", "status", "ok", "history", query.found);
}
