/* limits - what a session gets of what it asked for. */
#pragma once

#include "base/err.h"
#include "config/params.h"
#include "rpc/rpc.h"

/* The defaults where asked is 0. -EINVAL where it is more than the config's maximum: the gateway
 * has said so already, unless it is not to be trusted. */
int limits_resolve(const struct params *params, const struct rpc_limits *asked,
                   struct rpc_limits *ret_limits, struct err *err);
