/* map - linear probing with backward-shift deletion; never more than three quarters full. */
#include "base/map.h"

#include "base/mem.h"

/* FNV-1a with the seed mixed in, then a finaliser, since slots use the low bits. */
static uint64_t hash_of(const struct map *map, struct slice key) {
    uint64_t hash = 0xcbf29ce484222325 ^ map->seed;
    for (size_t i = 0; i < key.size; i++)
        hash = (hash ^ key.data[i]) * 0x100000001b3;
    hash ^= hash >> 32;
    hash *= 0x9e3779b97f4a7c15;
    return hash ^ hash >> 29;
}

void map_init(struct map *map, uint64_t seed) {
    *map = (struct map){.seed = seed};
}

void map_finish(struct map *map) {
    for (size_t i = 0; i < map->capacity; i++)
        mem_free(map->slots[i].key);
    mem_free(map->slots);
    *map = (struct map){.seed = map->seed};
}

/* The slot that holds key, or the empty one where it belongs. */
static struct map_slot *find(const struct map *map, struct slice key, uint64_t hash) {
    for (size_t i = hash;; i++) {
        struct map_slot *slot = &map->slots[i & (map->capacity - 1)];
        if (!slot->key ||
            (slot->hash == hash && slice_equal(slice_make(slot->key, slot->key_size), key)))
            return slot;
    }
}

static void grow(struct map *map) {
    struct map old = *map;
    map->capacity = old.capacity ? old.capacity * 2 : 16;
    map->slots = mem_zalloc(map->capacity, sizeof *map->slots);
    for (size_t i = 0; i < old.capacity; i++) {
        struct map_slot *slot = &old.slots[i];
        if (slot->key)
            *find(map, slice_make(slot->key, slot->key_size), slot->hash) = *slot;
    }
    mem_free(old.slots);
}

void *map_get(const struct map *map, struct slice key) {
    return map->capacity ? find(map, key, hash_of(map, key))->value : NULL;
}

void *map_put(struct map *map, struct slice key, void *value) {
    if (map->count + 1 > map->capacity / 4 * 3)
        grow(map);
    uint64_t hash = hash_of(map, key);
    struct map_slot *slot = find(map, key, hash);
    void *previous = slot->value;
    if (!slot->key) {
        *slot = (struct map_slot){mem_copy_text(key.data, key.size), key.size, hash, NULL};
        map->count++;
    }
    slot->value = value;
    return previous;
}

void *map_remove(struct map *map, struct slice key) {
    if (!map->capacity)
        return NULL;
    struct map_slot *slot = find(map, key, hash_of(map, key));
    if (!slot->key)
        return NULL;
    void *value = slot->value;
    mem_free(slot->key);
    map->count--;
    /* Move back whoever would no longer be found across the hole. */
    size_t mask = map->capacity - 1, hole = (size_t)(slot - map->slots);
    for (size_t i = (hole + 1) & mask; map->slots[i].key; i = (i + 1) & mask) {
        size_t home = map->slots[i].hash & mask;
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            map->slots[hole] = map->slots[i];
            hole = i;
        }
    }
    map->slots[hole] = (struct map_slot){0};
    return value;
}

bool map_next(const struct map *map, size_t *at, struct slice *ret_key, void **ret_value) {
    for (; *at < map->capacity; (*at)++) {
        struct map_slot *slot = &map->slots[*at];
        if (!slot->key)
            continue;
        *ret_key = slice_make(slot->key, slot->key_size);
        *ret_value = slot->value;
        (*at)++;
        return true;
    }
    return false;
}
