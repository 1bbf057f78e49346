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

bool oom_note(struct tree *tree) {
    struct jail_memory memory;
    char id[UUID_TEXT_SIZE];
    jail_leaf_read(&tree->jail->group, tree->number, &memory);
    if (memory.victims <= tree->victims)
        return false;
    tree->victims = memory.victims;
    tree->victims_ms = events_now_ms();
    uuid_text(tree->jail->id, id);
    say("out of memory: a process of tree %llu jail %s was ended; limit %llu, peak %llu bytes",
        (unsigned long long)tree->number, id, (unsigned long long)tree->jail->limits.memory_bytes,
        (unsigned long long)memory.peak_bytes);
    return true;
}

bool oom_explains(const struct tree *tree, struct rpc_tree_ended *ended) {
    struct jail_memory memory;
    if (!tree->victims_ms || events_now_ms() - tree->victims_ms > DEATH_MS)
        return false;
    jail_leaf_read(&tree->jail->group, tree->number, &memory);
    ended->limit = memory.is_limit_reached ? tree->jail->limits.memory_bytes : 0;
    ended->peak = memory.peak_bytes;
    return true;
}

void oom_look(struct jail *jail) {
    bool is_found = false;
    struct tree *tree;
    list_for_each (tree, &jail->trees, link)
        is_found = oom_note(tree) || is_found;
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
