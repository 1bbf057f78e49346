#include "session/data_names.h"

#include <string.h>

void data_names_add(struct data_names *data, const struct rpc_data *packet) {
    if (packet->data < PARAMS_DATA_MAX)
        memcpy(data->names[packet->data], packet->name, RPC_NAME_MAX);
}

int data_names_find(const struct data_names *data, const char *name) {
    for (int i = 0; *name && i < PARAMS_DATA_MAX; i++)
        if (strcmp(data->names[i], name) == 0)
            return i;
    return -1;
}
