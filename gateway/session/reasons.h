/* reasons - the one table of why something ended (reasons.def). */
#pragma once

enum reason {
    REASON_NONE,
#define REASON(word, ename, sentence) REASON_##word,
#include "session/reasons.def"
#undef REASON
    REASON_COUNT
};

struct reason_entry {
    const char *word, *ename, *sentence;
};

const struct reason_entry *reason_entry(enum reason reason);
