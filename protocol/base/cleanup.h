/* cleanup - scope-bound ends: a variable marked with one of these is released when its scope is
 * left. Take what must survive with the matching take_ function. */
#pragma once

#include <unistd.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "base/text.h"

static inline void cleanup_fd_at(const int *fd) {
    if (*fd >= 0)
        close(*fd);
}
static inline void cleanup_mem_at(void *pointer) {
    mem_free(*(void **)pointer);
}
static inline void cleanup_bytes_at(struct bytes *const *bytes) {
    bytes_unref(*bytes);
}

#define cleanup_fd __attribute__((cleanup(cleanup_fd_at)))
#define cleanup_mem __attribute__((cleanup(cleanup_mem_at)))
#define cleanup_bytes __attribute__((cleanup(cleanup_bytes_at)))
#define cleanup_text __attribute__((cleanup(text_finish)))

/* The descriptor, which the variable no longer owns. */
static inline int take_fd(int *fd) {
    int taken = *fd;
    *fd = -1;
    return taken;
}

/* The pointer, which the variable no longer owns. */
#define take_pointer(variable)                                                                     \
    ({                                                                                             \
        __typeof__(variable) taken_ = (variable);                                                  \
        (variable) = NULL;                                                                         \
        taken_;                                                                                    \
    })
