/* replay - the signatures that came lately: a ring of marks, which says what is oldest, and an open
 * table of places in it, which says what is there. Both grow with use, to 1 MiB together.
 * A mark is 64 bits of a signature: two messages in 65,536 share one by chance about once in 10^10
 * rings. Who knows the key can make such a pair, and harms nobody else. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* As many as jupyter_client remembers. */
enum { REPLAY_MAX = 65536 };

struct replay {
    uint64_t *marks; /* ring of capacity; wraps at REPLAY_MAX only */
    uint32_t *table; /* 2 * capacity; 1 + a place in marks, or 0 */
    uint32_t capacity, count, next;
    uint64_t seed; /* odd; keeps those who choose their marks from choosing collisions */
};

void replay_init(struct replay *replay);
void replay_finish(struct replay *replay);
/* Remembers mark, and forgets the oldest of REPLAY_MAX; false where mark is remembered already. */
bool replay_note(struct replay *replay, uint64_t mark);
