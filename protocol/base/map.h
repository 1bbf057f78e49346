/* map - a hash table from a byte string to a pointer. Keys are copied, values are borrowed.
 * Seeded per map, so that a stranger who picks keys cannot pick collisions. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

struct map_slot {
    char *key; /* NULL: empty */
    size_t key_size;
    uint64_t hash;
    void *value;
};

struct map {
    struct map_slot *slots; /* a power of two of them */
    size_t capacity, count;
    uint64_t seed;
};

/* seed should be random where strangers pick keys. */
void map_init(struct map *map, uint64_t seed);
/* Frees the keys and slots; values are the caller's. */
void map_finish(struct map *map);
/* NULL where key is absent. */
void *map_get(const struct map *map, struct slice key);
/* Stores a non-NULL value; returns the value that was there, or NULL. */
void *map_put(struct map *map, struct slice key, void *value);
/* Returns the value that was there, or NULL. */
void *map_remove(struct map *map, struct slice key);
/* Visits every entry: start with *at = 0; false at the end. Do not change the map between calls,
 * but for removing nothing. */
bool map_next(const struct map *map, size_t *at, struct slice *ret_key, void **ret_value);
