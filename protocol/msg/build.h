/* build - messages that the gateway itself says: synthesised ends, statuses, its own requests. */
#pragma once

#include "base/bytes.h"
#include "msg/msg.h"

/* A message in one allocation of its own. */
struct msg_built {
    struct bytes *bytes; /* what the slices of msg point into */
    struct msg msg;
};

/* Who speaks, and when: header fields. Everything borrowed for the call. */
struct msg_origin {
    const char *msg_id;
    const char *session;
    const char *username;
    const char *date; /* ISO 8601, from msg_format_date */
};

enum { MSG_DATE_SIZE = 32 };

/* Writes "2026-11-30T08:54:01.123456Z" for microseconds since 1970: the fraction and the Z are
 * mandatory for Jupyter's clients. */
void msg_format_date(int64_t us, char ret_date[MSG_DATE_SIZE]);

/* Builds a message of msg_type on channel; parent_header, metadata and content are JSON objects
 * taken over as they are (an empty slice counts as {}). version is "5.4". */
struct msg_built msg_build(enum msg_channel channel, const char *msg_type,
                           const struct msg_origin *origin, struct slice parent_header,
                           struct slice metadata, struct slice content);
void msg_built_finish(struct msg_built *built);

/* The content objects of what the gateway says; each returns one reference. Text must be UTF-8;
 * what is not is replaced by U+FFFD. */
struct bytes *msg_content_status(const char *execution_state);
/* For iopub `error`: ename, evalue, traceback of one line. */
struct bytes *msg_content_error(const char *ename, const char *evalue);
/* For iopub `stream`: name is "stdout" or "stderr". */
struct bytes *msg_content_stream(const char *name, const char *words);
/* For a reply that ends a request: status "error", execution_count 0 (execute_reply demands one).
 */
struct bytes *msg_content_error_reply(const char *ename, const char *evalue);

/* A header rewritten so that a strict kernel takes it: date as ISO 8601. NULL where header needs no
 * rewriting. header is the JSON object that parsed came from. */
struct msg_header;
struct bytes *msg_header_with_iso_date(struct slice header, const struct msg_header *parsed);
