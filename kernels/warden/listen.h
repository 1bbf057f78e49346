/* listen - the socket that clients reach. */
#pragma once

#include "config/params.h"

/* Binds the address and says under which URL it is (owned by the caller). The socket does not
 * listen yet: clients are refused until the gateway does that. */
int listen_bind(const struct params *params, int *ret_fd, char **ret_url, struct err *err);
