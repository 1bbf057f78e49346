/* commands - what `cellblock` can do: each command is a program of its own beside this one, so that
 * each links only what it may. */
#pragma once

#include <stddef.h>

struct command {
    const char *name;
    const char *program; /* its file name, in the folder of this one */
    const char *title;   /* argv[0] of it: what ps and its sentences call it */
    const char *summary;
};

extern const struct command commands[];
extern const size_t command_count;
