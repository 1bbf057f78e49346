#include "warden/uids.h"

#include <assert.h>
#include <errno.h>

#include "base/mem.h"

void uids_init(struct uids *uids, uid_t first, uint32_t count) {
    *uids = (struct uids){.first = first,
                          .count = count,
                          .free_from_ms = mem_zalloc(count, sizeof *uids->free_from_ms)};
}

void uids_finish(struct uids *uids) {
    mem_free(uids->free_from_ms);
    *uids = (struct uids){0};
}

int uids_take(struct uids *uids, int64_t now_ms, uid_t *ret_uid, struct err *err) {
    for (uint32_t i = 0; i < uids->count; i++) {
        uint32_t at = (uids->next + i) % uids->count;
        if (uids->free_from_ms[at] > now_ms)
            continue;
        uids->free_from_ms[at] = INT64_MAX;
        uids->next = (at + 1) % uids->count;
        *ret_uid = uids->first + at;
        return 0;
    }
    return err_set(err, EAGAIN, "all %u user ids are in use or were a moment ago", uids->count);
}

void uids_give_back(struct uids *uids, uid_t uid, int64_t now_ms) {
    assert(uid >= uids->first && uid - uids->first < uids->count);
    assert(uids->free_from_ms[uid - uids->first] == INT64_MAX);
    uids->free_from_ms[uid - uids->first] = now_ms + UIDS_QUARANTINE_MS;
}
