/* sign - HMAC-SHA256 signatures of the ZeroMQ wire protocol: hex over the four JSON parts in order.
 * One EVP_MAC_CTX, re-initialised per message. An empty key means empty signatures, unchecked.
 * Source: jupyter_client, "Messaging in Jupyter", section "The wire protocol". */
#pragma once

#include "base/err.h"
#include "msg/msg.h"

enum { SIGN_HEX_SIZE = 64 };

struct signer;

struct signer *signer_create(struct slice key);
void signer_destroy(struct signer *signer);

/* Writes SIGN_HEX_SIZE hex digits; returns that, or 0 with an empty key. */
size_t signer_sign(struct signer *signer, const struct msg *msg, char ret_hex[SIGN_HEX_SIZE]);

/* 0 where signature fits msg and has not been seen before (the last 65,536 are remembered, as
 * jupyter_client does); -EBADMSG for a wrong one, -EEXIST for a replay. In constant time. */
int signer_verify(struct signer *signer, const struct msg *msg, struct slice signature,
                  struct err *err);
