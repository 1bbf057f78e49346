/* bridge - unix sockets in the place of a kernel that speaks tcp only: each of its five ports, on
 * 127.0.0.1 of the session's own network, gets one in the folder where the warden looks for them,
 * once somebody listens on the port. */
#pragma once

#include <poll.h>

#include "init/pair.h"

enum {
    BRIDGE_PORTS = 5,
    /* Connections at once; more wait until one ends. A gateway has four, and one more for a moment.
     * No more than fit into INIT_OPEN_FILES_LEAST. */
    BRIDGE_PAIRS = 24,
    BRIDGE_POLLED = BRIDGE_PORTS + 2 * BRIDGE_PAIRS,
};

/* sockets-1 to sockets-5 stand for first_port and the four above it. sockets is borrowed for
 * ever. */
void bridge_begin(const char *sockets, int first_port);
/* What to poll for; nothing where no bridge was begun. */
void bridge_fill(struct pollfd ret_polled[BRIDGE_POLLED]);
/* How long poll may wait; -1: for ever. */
int bridge_wait_ms(void);
/* To be called whenever poll has returned. */
void bridge_serve(const struct pollfd polled[BRIDGE_POLLED]);
