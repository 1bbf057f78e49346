/* specs - all kernelspecs of this machine, each with a number that stays its own while the warden
 * lives. */
#pragma once

#include <stddef.h>

#include "config/params.h"
#include "warden/outbox.h"
#include "warden/spec.h"

struct specs {
    struct spec *items; /* by number: the one of number n is items[n - 1] */
    size_t count;
    uint32_t generation;
};

/* Reads the folders, again on SIGHUP; the first of a name wins. What is broken is said once and
 * left out. */
void specs_read(struct specs *specs, const struct params *params);
void specs_finish(struct specs *specs);
/* NULL where there is none of that number now. */
const struct spec *specs_find(const struct specs *specs, uint32_t number);
/* Tells the gateway all of them. */
void specs_tell(const struct specs *specs, struct outbox *outbox);
