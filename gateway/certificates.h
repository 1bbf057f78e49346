/* certificates - from the files that the warden opened to the TLS of the server. */
#pragma once

#include "base/err.h"

struct http_server;
struct params;
struct rpc_packet;

/* packet is an RPC_TLS. -EINVAL where they are no use: the server stays as it was. */
int certificates_use(struct http_server *server, const struct params *params,
                     const struct rpc_packet *packet, struct err *err);
