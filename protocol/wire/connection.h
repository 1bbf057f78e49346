/* connection - a kernel's connection file, written and read.
 * Source: jupyter_client, "Making kernels for Jupyter", section "Connection files". */
#pragma once

#include "base/bytes.h"
#include "base/err.h"

enum connection_port {
    CONNECTION_SHELL,
    CONNECTION_IOPUB,
    CONNECTION_STDIN,
    CONNECTION_CONTROL,
    CONNECTION_HB,
    CONNECTION_PORT_COUNT
};

/* Strings are NUL-terminated and owned when read, borrowed when written. */
struct connection {
    char *transport; /* "ipc" or "tcp" */
    char *ip;        /* an address, or for ipc the path before "-PORT" */
    char *key;
    char *signature_scheme; /* "hmac-sha256" */
    char *kernel_name;
    int ports[CONNECTION_PORT_COUNT];
};

/* The file's text: one JSON object. One reference. */
struct bytes *connection_write(const struct connection *connection);
/* -EINVAL with a sentence that names the member. ret_connection is untouched on failure. */
int connection_read(struct slice json, struct connection *ret_connection, struct err *err);
void connection_finish(struct connection *connection);
