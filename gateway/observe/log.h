/* log - one line per event on stderr: time, level, event, words key=value. For what an operator
 * needs to know; libraries return errors instead. Its one complication is who reads: values may
 * come from strangers and end in a terminal, so only printable ASCII leaves unescaped; and a reader
 * that does not read must not stop the gateway, so lines that would block are dropped and counted.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

enum log_level { LOG_LEVEL_INFO, LOG_LEVEL_WARNING, LOG_LEVEL_ERROR };

enum {
    LOG_LINE_MAX = 2048,
    LOG_VALUE_MAX = 256, /* bytes of a value that are shown, before they are escaped */
};

enum log_kind { LOG_KIND_TEXT, LOG_KIND_NUMBER, LOG_KIND_PATH };

/* Made by the macros below. */
struct log_field {
    const char *key;
    enum log_kind kind;
    struct slice text;
    int64_t number;
};

#define LOG_TEXT(key_, text_)                                                                      \
    { .key = key_, .kind = LOG_KIND_TEXT, .text = slice_from_text(text_) }
#define LOG_SLICE(key_, slice_)                                                                    \
    { .key = key_, .kind = LOG_KIND_TEXT, .text = slice_ }
#define LOG_NUMBER(key_, number_)                                                                  \
    { .key = key_, .kind = LOG_KIND_NUMBER, .number = number_ }
/* A request's target: without the query and without the token of /t/TOKEN/. */
#define LOG_PATH(key_, slice_)                                                                     \
    { .key = key_, .kind = LOG_KIND_PATH, .text = slice_ }

/* event is one of our own sentences without "=", such as "kernel died". Never give it a secret.
 *   log_event(LOG_LEVEL_INFO, "kernel died", LOG_TEXT("session", id), LOG_NUMBER("status", 9)); */
#define log_event(level, event, ...)                                                               \
    log_write(level, event, (const struct log_field[]){{0}, ##__VA_ARGS__},                        \
              sizeof((struct log_field[]){{0}, ##__VA_ARGS__}) / sizeof(struct log_field))

/* Fields without a key are skipped. */
void log_write(enum log_level level, const char *event, const struct log_field *fields,
               size_t count);
