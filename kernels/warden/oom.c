/* oom - what want of memory ends in a jail. Its one complication: the kernel counts victims, tree
 * by tree, and says neither who they were nor when. A SIGKILL of a tree's main process is taken for
 * one where the count has grown since it was last read, or grew a moment ago: between the signal
 * and the news of the death lies the freeing of all that memory. */
#include <sys/epoll.h>

#include "warden/say.h"
#include "warden/tree.h"
#include "warden/uuid_text.h"

enum {
    DEATH_MS = 10000, /* what a victim may take from the signal to its death's being told */
    LOOK_MS = 20,     /* version 1 tells before it chooses: looks again, and each time later */
    LOOK_MAX_MS = 3000,
};

/* True where there are victims that nobody had noticed. */
static bool notice(struct tree *tree, struct jail_memory *ret_memory) {
    jail_leaf_read(&tree->jail->group, tree->number, ret_memory);
    if (ret_memory->victims <= tree->victims)
        return false;
    tree->victims = ret_memory->victims;
    tree->victims_ms = events_now_ms();
    return true;
}

bool oom_explains(struct tree *tree, struct rpc_tree_ended *ended) {
    struct jail_memory memory;
    notice(tree, &memory);
    if (!tree->victims_ms || events_now_ms() - tree->victims_ms > DEATH_MS)
        return false;
    ended->limit = memory.is_limit_reached ? tree->jail->limits.memory_bytes : 0;
    ended->peak = memory.peak_bytes;
    return true;
}

/* The operator hears of every one; whether it was the main process is told by the tree's end. */
static bool look_at(struct tree *tree) {
    struct jail_memory memory;
    char id[UUID_TEXT_SIZE];
    if (!notice(tree, &memory))
        return false;
    uuid_text(tree->jail->id, id);
    say("out of memory: a process of tree %llu jail %s was ended; limit %llu, peak %llu bytes",
        (unsigned long long)tree->number, id, (unsigned long long)tree->jail->limits.memory_bytes,
        (unsigned long long)memory.peak_bytes);
    return true;
}

void oom_look(struct jail *jail) {
    bool is_found = false;
    struct tree *tree;
    list_for_each (tree, &jail->trees, link)
        is_found = look_at(tree) || is_found;
    jail->look_at_ms = 0;
    if (is_found || jail->look_again_ms > LOOK_MAX_MS)
        return;
    jail->look_at_ms = events_now_ms() + jail->look_again_ms;
    jail->look_again_ms *= 2;
}

static void on_oom(struct source *source, uint32_t events) {
    (void)events;
    struct jail *jail = LIST_ENTRY(source, struct jail, oom);
    jail_group_hear(&jail->group);
    jail->look_again_ms = LOOK_MS;
    oom_look(jail);
}

int oom_watch(struct jail *jail, struct err *err) {
    if (jail->group.oom_fd < 0)
        return 0;
    jail->oom = (struct source){jail->group.oom_fd, on_oom};
    int result = events_add(&jail->warden->events, &jail->oom, EPOLLIN | EPOLLPRI, err);
    if (result < 0)
        jail->oom.fd = -1;
    return result;
}

void oom_unwatch(struct jail *jail) {
    if (jail->oom.fd >= 0)
        events_remove(&jail->warden->events, &jail->oom);
    jail->oom.fd = -1;
}
