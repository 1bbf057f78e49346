#include "http/inbox.h"

#include <string.h>

#include "base/mem.h"
#include "http/transport.h"

enum { STEP_MIN = 16 * 1024, STEP_MAX = 1024 * 1024 };

/* Makes room behind the end for what is needed, by at most STEP_MAX more than there is: who
 * announces much and sends little costs little. */
static void reserve(struct inbox *inbox, size_t needed) {
    size_t size = inbox_size(inbox);
    size_t step = needed > size ? needed - size : 0;
    step = step < STEP_MIN ? STEP_MIN : step > STEP_MAX ? STEP_MAX : step;
    if (inbox->capacity - inbox->end >= step)
        return;
    if (inbox->begin)
        memmove(inbox->data, inbox_data(inbox), size);
    inbox->begin = 0;
    inbox->end = size;
    if (inbox->capacity - size >= step)
        return;
    /* Doubling, so that a long message is copied a bounded number of times. */
    size_t doubled = inbox->capacity * 2;
    if (doubled > needed)
        doubled = needed;
    inbox->capacity = size + step > doubled ? size + step : doubled;
    inbox->data = mem_realloc(inbox->data, inbox->capacity);
}

ssize_t inbox_receive(struct inbox *inbox, struct transport *transport, uint8_t *scratch,
                      size_t needed) {
    if (inbox_size(inbox) > 0) {
        reserve(inbox, needed);
    } else {
        inbox_finish(inbox);
        *inbox = (struct inbox){scratch, 0, 0, SCRATCH_SIZE, true};
    }
    ssize_t got =
        transport_receive(transport, inbox->data + inbox->end, inbox->capacity - inbox->end);
    if (got > 0)
        inbox->end += (size_t)got;
    return got;
}

void inbox_consume(struct inbox *inbox, size_t size) {
    inbox->begin += size;
}

void inbox_settle(struct inbox *inbox) {
    size_t size = inbox_size(inbox);
    if (size == 0) {
        inbox_finish(inbox);
    } else if (inbox->borrowed) {
        uint8_t *own = mem_alloc(size);
        memcpy(own, inbox_data(inbox), size);
        *inbox = (struct inbox){own, 0, size, size, false};
    }
}

void inbox_finish(struct inbox *inbox) {
    if (!inbox->borrowed)
        mem_free(inbox->data);
    *inbox = (struct inbox){0};
}
