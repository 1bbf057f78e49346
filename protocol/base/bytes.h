/* bytes - counted, immutable bytes: one allocation that several queues hold at once.
 * Filled by its maker before it is shared, never changed after. Not shared between threads, but the
 * count is atomic, because libzmq drops its references on a thread of its own. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

struct bytes {
    atomic_uint references;
    size_t size;
    uint8_t data[];
};

/* One reference, held by the caller; data is not initialised. */
struct bytes *bytes_create(size_t size);
struct bytes *bytes_copy(struct slice from);
/* Another reference; returns its argument. */
struct bytes *bytes_ref(struct bytes *bytes);
/* Drops one reference; NULL is fine. */
void bytes_unref(struct bytes *bytes);

static inline struct slice bytes_slice(const struct bytes *bytes) {
    return (struct slice){bytes->data, bytes->size};
}
