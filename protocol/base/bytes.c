#include "base/bytes.h"

#include "base/mem.h"

struct bytes *bytes_create(size_t size) {
    struct bytes *bytes = mem_alloc(sizeof *bytes + size);
    atomic_init(&bytes->references, 1);
    bytes->size = size;
    return bytes;
}

struct bytes *bytes_copy(struct slice from) {
    struct bytes *bytes = bytes_create(from.size);
    if (from.size)
        memcpy(bytes->data, from.data, from.size);
    return bytes;
}

struct bytes *bytes_ref(struct bytes *bytes) {
    atomic_fetch_add_explicit(&bytes->references, 1, memory_order_relaxed);
    return bytes;
}

void bytes_unref(struct bytes *bytes) {
    if (bytes && atomic_fetch_sub_explicit(&bytes->references, 1, memory_order_acq_rel) == 1)
        mem_free(bytes);
}
