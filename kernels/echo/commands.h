/* commands - what commands.def names, each the work of one command: 0, or -1 where it raised an
 * error or the kernel stops. */
#pragma once

#include "echo/command.h"

#define COMMAND(name, kind, maximum, usage, help)                                                  \
    int command_##name(struct run *run, const struct arguments *arguments);
#include "echo/commands.def"
#undef COMMAND
