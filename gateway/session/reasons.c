#include "session/reasons.h"

#include <assert.h>

static const struct reason_entry entries[REASON_COUNT] = {
#define REASON(word, ename, sentence) [REASON_##word] = {#word, ename, sentence},
#include "session/reasons.def"
#undef REASON
};

const struct reason_entry *reason_entry(enum reason reason) {
    assert(reason > REASON_NONE && reason < REASON_COUNT);
    return &entries[reason];
}
