/* parcel - a message on its way into ZeroMQ: one allocation, counted until ZeroMQ has written it,
 * so that a kernel which does not read cannot make the gateway hold more than it may. */
#pragma once

#include <stddef.h>

#include "base/slice.h"
#include "msg/msg.h"

/* What is under way in one direction of one link. ZeroMQ's thread counts down. */
struct flow;

struct flow *flow_create(void);
void flow_unref(struct flow *flow);
size_t flow_bytes(const struct flow *flow);

/* Sends msg with its signature on a DEALER without a high-water mark, which never blocks. */
void parcel_send(struct flow *flow, void *socket, struct slice signature, const struct msg *msg);
