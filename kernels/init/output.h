/* output - the last bytes that a program wrote to stdout and stderr. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "init/init.h"

struct output {
    int fd; /* non-blocking; -1 once nobody can write to it any more */
    size_t size;
    uint8_t data[2 * INIT_OUTPUT_MAX];
};

/* Reads once; false where there was nothing to read. */
bool output_read(struct output *output);
/* The last bytes, INIT_OUTPUT_MAX at most. */
const uint8_t *output_tail(const struct output *output, size_t *ret_size);
