/* data_names - the data folders that the warden told of: names and numbers, never where they lie.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "config/params.h"
#include "rpc/rpc.h"

struct data_names {
    char names[PARAMS_DATA_MAX][RPC_NAME_MAX]; /* by number; "": none */
};

/* Takes in one RPC_DATA. */
void data_names_add(struct data_names *data, const struct rpc_data *packet);
/* The number of a name, or -1. */
int data_names_find(const struct data_names *data, const char *name);
