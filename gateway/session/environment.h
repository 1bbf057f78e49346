/* environment - the variables that a kernel is started with, beside those of its kernelspec's
 * `env`: from its kernelspec's session parameters and from its client. Of a client's, KERNEL_* and
 * what allowed_envs names are allowed. */
#pragma once

#include <jansson.h>

#include "base/err.h"
#include "base/text.h"
#include "config/params.h"

enum environment_rule {
    ENVIRONMENT_PICK,  /* a client's: what is not allowed is left out, as Jupyter's gateways do */
    ENVIRONMENT_CHECK, /* a client's: what is not allowed is refused */
    ENVIRONMENT_TRUST, /* the operator's: all names are allowed */
};

/* Puts the variables of env, which is {NAME: text}, over those of into. KERNEL_ID, KERNEL_GATEWAY
 * and KERNEL_CELLBLOCK are left out of what is picked and refused elsewhere. KERNEL_LAUNCH_TIMEOUT
 * may be a number. -EINVAL with a sentence that begins with a JSON pointer, /env/NAME. */
int environment_merge(const struct params *params, const json_t *env, enum environment_rule rule,
                      json_t *into, struct err *err);

/* Appends "NAME=value\0" strings. KERNEL_LAUNCH_TIMEOUT (seconds) is also written to
 * *ret_launch_timeout_ms, which stays as it is without it. -EINVAL where that is no time, or where
 * all together are more than kernel_env_bytes. */
int environment_write(const struct params *params, const json_t *env, struct text *ret_environment,
                      int64_t *ret_launch_timeout_ms, struct err *err);
