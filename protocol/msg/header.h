/* header - the one part of a message that the relay parses: a header object. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/slice.h"

/* NUL-terminated strings owned by the struct; empty where the member is absent or no string.
 * Kernels send parent_header as {} or null: then every string is empty. */
struct msg_header {
    char *msg_id, *msg_type, *session, *username, *version;
    char *date;          /* as sent, where it is a string */
    bool date_is_number; /* GatewayKernelClient sends seconds since 1970 as a float */
    double date_s;
};

/* A header longer than this is refused (bytes). */
enum { MSG_HEADER_MAX = 64 * 1024 };

/* Parses a header or parent_header; null counts as {}. -EINVAL with a sentence for anything but a
 * JSON object, -EMSGSIZE above MSG_HEADER_MAX. ret_header is untouched on failure. */
int msg_header_parse(struct slice json, struct msg_header *ret_header, struct err *err);
void msg_header_finish(struct msg_header *header);
