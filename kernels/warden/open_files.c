#include "warden/open_files.h"

#include <errno.h>

#include "warden/say.h"

/* Descriptors of the gateway, which has more of them than the warden. */
enum {
    A_KERNEL = 8,   /* ZeroMQ's; its WebSocket is a connection */
    RESERVED = 160, /* the process's own, kernels that just start, and connections that are only
                     * told that there are too many */
    LEAST = 256,
};

static uint64_t smaller(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

int open_files_fit(struct params *params, uint64_t limit, struct err *err) {
    if (limit < LEAST)
        return err_set(err, EMFILE, "the limit of open files is %llu, at least %d are needed",
                       (unsigned long long)limit, LEAST);
    uint64_t room = limit - RESERVED;
    if (params->max_kernels * A_KERNEL + params->http_connections <= room)
        return 0;
    /* Half of the room for either, and what the other does not use. */
    uint64_t others = smaller(params->http_connections, room / 2);
    uint64_t kernels = smaller(params->max_kernels, (room - others) / A_KERNEL);
    uint64_t connections = smaller(params->http_connections, room - kernels * A_KERNEL);
    say("the limit of open files, %llu, is too low for max_kernels = %llu and http_connections = "
        "%llu: they are %llu and %llu",
        (unsigned long long)limit, (unsigned long long)params->max_kernels,
        (unsigned long long)params->http_connections, (unsigned long long)kernels,
        (unsigned long long)connections);
    params->max_kernels = kernels;
    params->http_connections = connections;
    return 0;
}
