#include "cli/commands.h"

const struct command commands[] = {
    {"serve", "cellblock-warden", "cellblock serve",
     "Serve jailed kernels over HTTP and WebSocket"},
};
const size_t command_count = sizeof commands / sizeof *commands;
