/* environment - the variables that a client may set for its kernel: KERNEL_* and those that
 * allowed_envs names. Others are left out, as Jupyter's gateways do. */
#pragma once

#include <jansson.h>

#include "base/err.h"
#include "base/text.h"
#include "config/params.h"

/* Appends "NAME=value\0" strings to ret_environment. env is the member of the body: NULL or null
 * count as empty. KERNEL_LAUNCH_TIMEOUT (seconds) is also written to *ret_launch_timeout_ms, which
 * stays as it is without it. -EINVAL with a sentence that names the variable. */
int environment_read(const struct params *params, const json_t *env, struct text *ret_environment,
                     int64_t *ret_launch_timeout_ms, struct err *err);
