#include "msg/build.h"

#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "msg/header.h"
#include "msg/utf8.h"

enum { US_PER_S = 1000000 };

void msg_format_date(int64_t us, char ret_date[MSG_DATE_SIZE]) {
    int fraction = (int)(us % US_PER_S);
    time_t seconds = us / US_PER_S;
    if (fraction < 0) {
        fraction += US_PER_S;
        seconds--;
    }
    struct tm tm;
    gmtime_r(&seconds, &tm);
    char date[96]; /* what six ints could need; the years of an int64 have at most six digits */
    int size = snprintf(date, sizeof date, "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ", tm.tm_year + 1900,
                        tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, fraction);
    assert(size < MSG_DATE_SIZE);
    memcpy(ret_date, date, (size_t)size + 1);
}

static void append_string(struct text *text, const char *value) {
    cleanup_text struct text mended = {0};
    utf8_append_mended(&mended, slice_from_text(value));
    text_append_json_string(text, text_slice(&mended));
}

static void append_member(struct text *text, const char *name, const char *value) {
    text_append_text(text, text->data[text->size - 1] == '{' ? "\"" : ",\"");
    text_append_text(text, name);
    text_append_text(text, "\":");
    append_string(text, value);
}

static void append_header(struct text *text, const char *msg_type,
                          const struct msg_origin *origin) {
    text_append_text(text, "{");
    append_member(text, "msg_id", origin->msg_id);
    append_member(text, "msg_type", msg_type);
    append_member(text, "username", origin->username);
    append_member(text, "session", origin->session);
    append_member(text, "date", origin->date);
    append_member(text, "version", "5.4");
    text_append_text(text, "}");
}

struct msg_built msg_build(enum msg_channel channel, const char *msg_type,
                           const struct msg_origin *origin, struct slice parent_header,
                           struct slice metadata, struct slice content) {
    cleanup_text struct text header = {0};
    append_header(&header, msg_type, origin);
    struct slice parts[] = {text_slice(&header), parent_header, metadata, content};
    enum { PART_COUNT = sizeof parts / sizeof *parts };

    size_t size = 0;
    for (int i = 0; i < PART_COUNT; i++) {
        if (!parts[i].size)
            parts[i] = SLICE_LITERAL("{}");
        size += parts[i].size;
    }
    struct bytes *bytes = bytes_create(size);
    uint8_t *at = bytes->data;
    for (int i = 0; i < PART_COUNT; i++) {
        memcpy(at, parts[i].data, parts[i].size);
        parts[i].data = at;
        at += parts[i].size;
    }
    return (struct msg_built){bytes, {channel, parts[0], parts[1], parts[2], parts[3], NULL, 0}};
}

void msg_built_finish(struct msg_built *built) {
    bytes_unref(built->bytes);
    *built = (struct msg_built){0};
}

struct bytes *msg_content_status(const char *execution_state) {
    cleanup_text struct text text = {0};
    text_append_text(&text, "{");
    append_member(&text, "execution_state", execution_state);
    text_append_text(&text, "}");
    return bytes_copy(text_slice(&text));
}

/* ename, evalue and a traceback of the one line "ename: evalue". */
static void append_error(struct text *text, const char *ename, const char *evalue) {
    append_member(text, "ename", ename);
    append_member(text, "evalue", evalue);
    cleanup_text struct text line = {0};
    text_append_format(&line, "%s: %s", ename, evalue);
    text_append_text(text, ",\"traceback\":[");
    append_string(text, line.data);
    text_append_text(text, "]}");
}

struct bytes *msg_content_error(const char *ename, const char *evalue) {
    cleanup_text struct text text = {0};
    text_append_text(&text, "{");
    append_error(&text, ename, evalue);
    return bytes_copy(text_slice(&text));
}

struct bytes *msg_content_stream(const char *name, const char *words) {
    cleanup_text struct text text = {0};
    text_append_text(&text, "{");
    append_member(&text, "name", name);
    append_member(&text, "text", words);
    text_append_text(&text, "}");
    return bytes_copy(text_slice(&text));
}

struct bytes *msg_content_error_reply(const char *ename, const char *evalue) {
    cleanup_text struct text text = {0};
    text_append_text(&text, "{\"status\":\"error\",\"execution_count\":0");
    append_error(&text, ename, evalue);
    return bytes_copy(text_slice(&text));
}

/* Microseconds since 1970 of a number that a client chose, kept within the years 1 to 9999. */
static int64_t us_from_seconds(double seconds) {
    const double first = -62135596800., last = 253402300799.;
    double kept = seconds < first ? first : seconds > last ? last : seconds;
    return (int64_t)(kept * US_PER_S);
}

/* True where date is "2026-11-30 08:54...": a blank in the place of the T. */
static bool has_blank(const char *date) {
    static const char shape[] = "0000-00-00 00";
    for (size_t i = 0; i < sizeof shape - 1; i++) {
        bool fits = shape[i] == '0' ? date[i] >= '0' && date[i] <= '9' : date[i] == shape[i];
        if (!fits)
            return false;
    }
    return true;
}

struct bytes *msg_header_with_iso_date(struct slice header, const struct msg_header *parsed) {
    char date[MSG_DATE_SIZE];
    if (parsed->date_is_number)
        msg_format_date(us_from_seconds(parsed->date_s), date);
    else if (!has_blank(parsed->date))
        return NULL;

    json_t *object = json_loadb((const char *)header.data, header.size, 0, NULL);
    assert(object); /* parsed came from it */
    if (parsed->date_is_number) {
        json_object_set_new(object, "date", json_string(date));
    } else {
        cleanup_mem char *mended = mem_strdup(parsed->date);
        mended[sizeof "2026-11-30" - 1] = 'T';
        json_object_set_new(object, "date", json_string(mended));
    }
    size_t size = json_dumpb(object, NULL, 0, JSON_COMPACT);
    struct bytes *bytes = bytes_create(size);
    json_dumpb(object, (char *)bytes->data, size, JSON_COMPACT);
    json_decref(object);
    return bytes;
}
