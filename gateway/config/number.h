/* number - whole numbers with a unit behind them: "512 MiB", "40 s". */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

struct number_unit {
    const char *name; /* without regard to case */
    uint64_t size;
};

/* Units from small to large, ended by a NULL name; the first has the size 1. */
extern const struct number_unit number_plain[], number_bytes[], number_times[];

/* False where text is no number, or a unit is unknown, or it does not fit into 63 bits. Blanks may
 * stand before the unit; without one the first is meant. */
bool number_read(const char *text, const struct number_unit *units, uint64_t *ret_value);
/* In the largest unit that divides it. */
void number_print(uint64_t value, const struct number_unit *units, struct text *out);
