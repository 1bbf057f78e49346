/* history - the cells that were executed, newest last; bounded in number and in the size of each.
 */
#pragma once

#include <stddef.h>

#include "base/slice.h"

enum {
    HISTORY_MAX = 1000,
    HISTORY_TEXT_MAX = 64 * 1024, /* bytes of a cell or its result; what is longer is cut */
};

struct history_entry {
    int line; /* its execution count */
    char *input;
    char *output; /* NULL: it had no result */
};

struct history {
    struct history_entry *entries; /* room for HISTORY_MAX, NULL while empty */
    size_t count;
};

/* output.data is NULL where there was none. Both are UTF-8. */
void history_note(struct history *history, int line, struct slice input, struct slice output);
void history_finish(struct history *history);

/* True where pattern, in which * stands for anything and ? for one byte, fits all of text. */
bool history_match(const char *pattern, const char *text);
