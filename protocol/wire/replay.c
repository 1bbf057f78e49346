#include "wire/replay.h"

#include <assert.h>
#include <openssl/rand.h>

#include "base/mem.h"

enum { CAPACITY_FIRST = 64 };

void replay_init(struct replay *replay) {
    *replay = (struct replay){0};
    int good = RAND_bytes((unsigned char *)&replay->seed, sizeof replay->seed);
    assert(good == 1);
    replay->seed |= 1;
}

void replay_finish(struct replay *replay) {
    mem_free(replay->marks);
    mem_free(replay->table);
    *replay = (struct replay){0};
}

/* Where mark's chain begins: the top bits of a product with a secret odd number, as many as number
 * the slots. */
static uint32_t home_of(const struct replay *replay, uint64_t mark) {
    return (uint32_t)(mark * replay->seed >> (63 - __builtin_ctz(replay->capacity)));
}

static uint32_t step(const struct replay *replay, uint32_t slot) {
    return (slot + 1) & (2 * replay->capacity - 1);
}

/* The slot that holds mark, else the empty one that ends its chain. */
static uint32_t find_slot(const struct replay *replay, uint64_t mark) {
    uint32_t slot = home_of(replay, mark);
    while (replay->table[slot] && replay->marks[replay->table[slot] - 1] != mark)
        slot = step(replay, slot);
    return slot;
}

static void grow(struct replay *replay) {
    replay->capacity = replay->capacity ? replay->capacity * 2 : CAPACITY_FIRST;
    replay->marks = mem_realloc(replay->marks, replay->capacity * sizeof *replay->marks);
    mem_free(replay->table);
    replay->table = mem_zalloc(2 * replay->capacity, sizeof *replay->table);
    for (uint32_t i = 0; i < replay->count; i++)
        replay->table[find_slot(replay, replay->marks[i])] = i + 1;
}

/* Empties slot, and moves back what stood behind it in the same chains (Knuth 6.4, algorithm R). */
static void empty_slot(struct replay *replay, uint32_t slot) {
    uint32_t mask = 2 * replay->capacity - 1;
    for (uint32_t other = step(replay, slot); replay->table[other]; other = step(replay, other)) {
        uint32_t home = home_of(replay, replay->marks[replay->table[other] - 1]);
        if (((other - home) & mask) >= ((other - slot) & mask)) {
            replay->table[slot] = replay->table[other];
            slot = other;
        }
    }
    replay->table[slot] = 0;
}

bool replay_note(struct replay *replay, uint64_t mark) {
    if (replay->capacity && replay->table[find_slot(replay, mark)])
        return false;
    if (replay->count == replay->capacity && replay->capacity < REPLAY_MAX) {
        grow(replay);
        replay->next = replay->count;
    }
    if (replay->count == REPLAY_MAX)
        empty_slot(replay, find_slot(replay, replay->marks[replay->next]));
    else
        replay->count++;
    replay->marks[replay->next] = mark;
    replay->table[find_slot(replay, mark)] = replay->next + 1;
    replay->next = (replay->next + 1) % replay->capacity;
    return true;
}
