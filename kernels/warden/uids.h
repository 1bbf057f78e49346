/* uids - user ids of sessions, from a range that nobody else uses. The one that was free longest is
 * given next, and none sooner than a while after its last use: what the kernel keeps per user
 * (keyrings, counts) is gone by then. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

enum { UIDS_QUARANTINE_MS = 10 * 1000 };

struct uids {
    uid_t first;
    uint32_t count;
    uint32_t next;
    int64_t *free_from_ms; /* when each may be given; INT64_MAX while it is in use */
};

void uids_init(struct uids *uids, uid_t first, uint32_t count);
void uids_finish(struct uids *uids);
/* -EAGAIN where none is free. */
int uids_take(struct uids *uids, int64_t now_ms, uid_t *ret_uid, struct err *err);
void uids_give_back(struct uids *uids, uid_t uid, int64_t now_ms);
