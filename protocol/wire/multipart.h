/* multipart - a message as ZeroMQ parts: [identity...] <IDS|MSG> signature header parent_header
 * metadata content [buffer...].
 * Source: jupyter_client, "Messaging in Jupyter", section "The wire protocol". */
#pragma once

#include "base/err.h"
#include "msg/msg.h"

#define MULTIPART_DELIMITER "<IDS|MSG>"

/* The parts that come before the buffers when a DEALER sends. */
enum { MULTIPART_FIXED = 6 };

/* Reads count parts; *ret_identities is how many identities (or topics) stand before the delimiter,
 * *ret_signature borrows the signature, ret_msg's buffers point into parts. The channel is the
 * caller's to set. -EINVAL where there is no delimiter within the first 16 parts, fewer than five
 * parts behind it, or more than MSG_BUFFERS_MAX buffers. */
int multipart_read(const struct slice *parts, size_t count, size_t *ret_identities,
                   struct slice *ret_signature, struct msg *ret_msg, struct err *err);
