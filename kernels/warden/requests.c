/* requests - one row per kind of request. */
#include <errno.h>

#include "warden/greet.h"
#include "warden/say.h"
#include "warden/warden.h"

/* Done at once: 0, or a negative errno and a sentence. LATER: somebody calls reply_later. */
enum { LATER = 1 };

static int ready(struct warden *warden, struct err *err) {
    warden->gateway.is_ready = true;
    if (warden->is_announced)
        return 0;
    int result = greet(warden, err);
    warden->is_announced = result == 0;
    if (result < 0) {
        say("%s", err->text);
        warden_end(warden, 1);
    }
    return result;
}

static int create_jail(struct warden *warden, struct err *err) {
    return jail_create(warden, &warden->packet.jail_create, err);
}

static int change_limits(struct warden *warden, struct err *err) {
    return jail_change_limits(warden, &warden->packet.jail_create, err);
}

static int end_jail(struct warden *warden, struct err *err) {
    struct jail *jail = jail_find(warden, warden->packet.jail_end.jail);
    if (!jail)
        return err_set(err, ENOENT, "there is no such jail");
    jail_end(jail, warden->packet.head.number);
    return LATER;
}

static int start_tree(struct warden *warden, struct err *err) {
    return tree_start(warden, &warden->packet, err);
}

static int signal_tree(struct warden *warden, struct err *err) {
    return tree_signal(warden, &warden->packet.tree_signal, err);
}

static int kill_tree(struct warden *warden, struct err *err) {
    return tree_kill(warden, &warden->packet.tree_kill, err);
}

static int (*const answers[])(struct warden *warden, struct err *err) = {
    [RPC_READY] = ready,         [RPC_JAIL_CREATE] = create_jail, [RPC_JAIL_LIMITS] = change_limits,
    [RPC_JAIL_END] = end_jail,   [RPC_TREE_START] = start_tree,   [RPC_TREE_SIGNAL] = signal_tree,
    [RPC_TREE_KILL] = kill_tree,
};

void reply_later(struct warden *warden, uint32_t number, const struct err *err) {
    struct rpc_reply reply = {.head = {RPC_REPLY, number}};
    if (err)
        reply.err = *err;
    outbox_put_take(&warden->gateway.outbox, &reply, (struct slice){0}, NULL, 0);
    gateway_flush(warden);
}

int request_answer(struct warden *warden, struct err *err) {
    struct rpc_head head = warden->packet.head;
    if (head.kind >= sizeof answers / sizeof answers[0] || head.number == 0)
        return err_set(err, EPROTO, "packet %u with number %u is no request", head.kind,
                       head.number);
    struct err problem = {0};
    int result = answers[head.kind](warden, &problem);
    if (result != LATER)
        reply_later(warden, head.number, &problem);
    return 0;
}
