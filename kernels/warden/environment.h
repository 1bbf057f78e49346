/* environment - a kernel's environment, built from nothing. */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "warden/spec.h"
#include "warden/strings.h"

/* Bytes of all variables together, above which a kernel's environment is refused: exec would not
 * carry more (execve(2), "Limits on size of arguments and environment"). */
enum { ENVIRONMENT_MAX = 1024 * 1024 };

/* The jail's own variables (among them how many threads are worth while, and
 * CELLBLOCK_MEMORY_BYTES, the limit, where there is one), then the kernelspec's, then asked:
 * "NAME=value\0" strings. Later wins. In the kernelspec's, $NAME and
 * ${NAME} stand for what is set before it and $$ for $; a name that is not set stays as it stands
 * (as in jupyter_client). -EINVAL where asked is malformed, -E2BIG above ENVIRONMENT_MAX;
 * ret_environment is untouched then. */
int environment_build(const struct spec *spec, const struct rpc_limits *limits, struct slice asked,
                      struct strings *ret_environment, struct err *err);
