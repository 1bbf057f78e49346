/* jails - what a session owns beside its trees: a user id, namespaces, mounts, limits. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "jail/jail.h"
#include "warden/home.h"
#include "warden/limits.h"
#include "warden/say.h"
#include "warden/uuid_text.h"
#include "warden/warden.h"

static struct jail *find_any(struct warden *warden, const uint8_t id[16]) {
    struct jail *jail;
    list_for_each (jail, &warden->jails, link)
        if (memcmp(jail->id, id, sizeof jail->id) == 0)
            return jail;
    return NULL;
}

struct jail *jail_find(struct warden *warden, const uint8_t id[16]) {
    struct jail *jail = find_any(warden, id);
    return jail && !jail->is_ending ? jail : NULL;
}

static struct jail_tmpfs workspace_of(const struct jail *jail, const struct rpc_limits *limits) {
    return (struct jail_tmpfs){.size_bytes = limits->workspace_bytes,
                               .inodes = limits->workspace_inodes,
                               .mode = 0700,
                               .user = jail->user,
                               .group = jail->user};
}

/* What is in /tmp and /dev/shm is memory. A quarter of it each: so whoever fills them is told that
 * they are full, and a kernel can be started beside them. */
uint64_t jail_temporary_bytes(const struct jail *jail, const struct rpc_limits *limits) {
    uint64_t most = limits->memory_bytes / 4, asked = jail->warden->params.tmp_bytes;
    return asked < most ? asked : most;
}

static struct jail_tmpfs temporary_of(const struct jail *jail, const struct rpc_limits *limits) {
    return (struct jail_tmpfs){.size_bytes = jail_temporary_bytes(jail, limits),
                               .inodes = limits->workspace_inodes,
                               .mode = 01777};
}

static struct jail_limits group_limits(const struct rpc_limits *limits) {
    return (struct jail_limits){.memory_bytes = limits->memory_bytes,
                                .pids = limits->pids,
                                .cpus_milli = limits->cpus_milli};
}

static int make_group(struct jail *jail, struct err *err) {
    char id[UUID_TEXT_SIZE];
    const struct jail_limits limits = group_limits(&jail->limits);
    uuid_text(jail->id, id);
    int result = jail_group_init(&jail->group, jail->warden->prepared, id, &limits, err);
    return result < 0 ? result : oom_watch(jail, err);
}

static int make_parts(struct jail *jail, struct err *err) {
    int result = make_group(jail, err);
    if (result == 0)
        result = jail_make_namespaces(&jail->net_fd, &jail->ipc_fd, err);
    if (result < 0)
        return result;
    const struct jail_tmpfs workspace = workspace_of(jail, &jail->limits);
    result = jail_keep_tmpfs(jail->warden->prepared, &workspace, &jail->workspace, err);
    if (result == 0)
        result = home_fill(jail->workspace.fd, jail->warden->params.python, jail->user, err);
    if (result < 0)
        return result;
    const struct jail_tmpfs temporary = temporary_of(jail, &jail->limits);
    return jail_keep_tmpfs(jail->warden->prepared, &temporary, &jail->temporary, err);
}

static void jail_destroy(struct jail *jail) {
    oom_unwatch(jail);
    jail_group_finish(&jail->group);
    if (jail->net_fd >= 0) {
        close(jail->net_fd);
        close(jail->ipc_fd);
    }
    jail_drop_kept(jail->warden->prepared, &jail->workspace);
    jail_drop_kept(jail->warden->prepared, &jail->temporary);
    uids_give_back(&jail->warden->uids, jail->user, events_now_ms());
    mem_free(jail);
}

static int make(struct warden *warden, const struct rpc_jail_create *request,
                const struct rpc_limits *limits, struct err *err) {
    uid_t user;
    int result = uids_take(&warden->uids, events_now_ms(), &user, err);
    if (result < 0)
        return result;
    struct jail *jail = mem_zalloc(1, sizeof *jail);
    *jail = (struct jail){.warden = warden,
                          .limits = *limits,
                          .data_mask = request->data_mask,
                          .user = user,
                          .net_fd = -1,
                          .ipc_fd = -1,
                          .oom.fd = -1};
    memcpy(jail->id, request->jail, sizeof jail->id);
    list_init(&jail->trees);
    result = make_parts(jail, err);
    if (result < 0) {
        jail_destroy(jail);
        return result;
    }
    list_append(&warden->jails, &jail->link);
    warden->jail_count++;
    return 0;
}

int jail_create(struct warden *warden, const struct rpc_jail_create *request, struct err *err) {
    struct rpc_limits limits;
    int result = limits_resolve(&warden->params, &request->limits, &limits, err);
    if (result == 0)
        result = data_check(&warden->data, request->data_mask, err);
    if (result == 0 && find_any(warden, request->jail))
        result = err_set(err, EEXIST, "there is a jail of this id");
    if (result == 0 && warden->jail_count >= warden->params.max_kernels)
        result = err_set(err, EAGAIN, "max_kernels: there are %zu jails", warden->jail_count);
    if (result == 0)
        result = make(warden, request, &limits, err);
    return result < 0 ? err_wrap(err, "create jail") : 0;
}

int jail_change_limits(struct warden *warden, const struct rpc_jail_create *request,
                       struct err *err) {
    struct jail *jail = jail_find(warden, request->jail);
    if (!jail)
        return err_set(err, ENOENT, "there is no such jail");
    struct rpc_limits limits;
    int result = limits_resolve(&warden->params, &request->limits, &limits, err);
    if (result < 0)
        return result;
    const struct jail_tmpfs workspace = workspace_of(jail, &limits);
    const struct jail_tmpfs temporary = temporary_of(jail, &limits);
    const struct jail_limits held = group_limits(&limits);
    result = jail_group_change(&jail->group, &held, err);
    if (result == 0)
        result = jail_resize_kept(&jail->workspace, &workspace, err);
    if (result == 0)
        result = jail_resize_kept(&jail->temporary, &temporary, err);
    if (result == 0)
        jail->limits = limits;
    return result;
}

/* False where something is still in its groups, which a later try may find empty. */
static bool remove_group(struct jail *jail) {
    enum { RETRY_MS = 5, GIVE_UP_MS = 10000 };
    int64_t now = events_now_ms();
    oom_unwatch(jail);
    int result = jail_group_finish(&jail->group);
    if (result == 0)
        return true;
    if (!jail->give_up_at_ms)
        jail->give_up_at_ms = now + GIVE_UP_MS;
    jail->remove_at_ms = now + RETRY_MS;
    if (now >= jail->give_up_at_ms)
        say("cannot remove group %s: %s", jail->group.name, strerror(-result));
    return now >= jail->give_up_at_ms;
}

void jail_end_if_empty(struct jail *jail) {
    if (!jail->is_ending || !list_is_empty(&jail->trees) || !remove_group(jail))
        return;
    struct warden *warden = jail->warden;
    uint32_t number = jail->end_number;
    list_remove(&jail->link);
    jail_destroy(jail);
    if (number)
        reply_later(warden, number, NULL);
}

void jail_end(struct jail *jail, uint32_t end_number) {
    jail->warden->jail_count -= !jail->is_ending;
    jail->is_ending = true;
    jail->end_number = end_number;
    trees_kill_all(jail);
    jail_end_if_empty(jail);
}

void jails_end_all(struct warden *warden) {
    struct jail *jail;
    list_for_each (jail, &warden->jails, link)
        jail_end(jail, 0);
}

static int64_t sooner(int64_t a, int64_t b) {
    return a && (!b || a < b) ? a : b;
}

int jails_tick(struct warden *warden) {
    int64_t now = events_now_ms(), next = 0;
    struct jail *jail;
    list_for_each (jail, &warden->jails, link) {
        if (jail->look_at_ms && jail->look_at_ms <= now)
            oom_look(jail);
        next = sooner(jail->look_at_ms, sooner(jail->remove_at_ms, next));
        if (jail->remove_at_ms && jail->remove_at_ms <= now)
            jail_end_if_empty(jail);
    }
    if (!next)
        return -1;
    return next > now ? (int)(next - now) : 0;
}
