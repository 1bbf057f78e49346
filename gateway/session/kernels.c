#include "session/kernels.h"

#include <errno.h>

#include "base/map.h"
#include "base/mem.h"
#include "session/cull.h"
#include "session/flood.h"
#include "session/kernel_parts.h"

struct kernels {
    struct kernels_context context;
    struct flood *flood;
    struct culler *culler;
    struct list all;    /* of struct kernel, oldest first */
    struct map by_id;   /* those that clients may see */
    struct map by_tree; /* key: the eight bytes of a tree's number */
    size_t count;
    uint64_t last_tree;
};

struct kernels *kernels_create(const struct kernels_context *context) {
    struct kernels *kernels = mem_zalloc(1, sizeof *kernels);
    kernels->context = *context;
    list_init(&kernels->all);
    map_init(&kernels->by_id, id_seed());
    map_init(&kernels->by_tree, 0);
    kernels->flood = flood_create(kernels, &kernels->context);
    kernels->culler = culler_create(kernels, &kernels->context);
    return kernels;
}

void kernels_destroy(struct kernels *kernels) {
    if (!kernels)
        return;
    struct kernel *kernel;
    list_for_each (kernel, &kernels->all, link)
        kernels_remove(kernels, kernel);
    flood_destroy(kernels->flood);
    culler_destroy(kernels->culler);
    map_finish(&kernels->by_id);
    map_finish(&kernels->by_tree);
    mem_free(kernels);
}

static bool is_taken(const struct kernels *kernels, const uint8_t id[ID_BYTES]) {
    const struct kernel *kernel;
    list_for_each (kernel, &kernels->all, link) {
        if (memcmp(kernel->uuid, id, ID_BYTES) == 0)
            return true;
    }
    return false;
}

void kernels_note_traffic(struct kernels *kernels) {
    flood_watch(kernels->flood);
}

int kernels_start(struct kernels *kernels, const struct kernel_start *start,
                  struct kernel **ret_kernel, struct err *err) {
    if (kernels->count >= kernels->context.params->max_kernels)
        return err_set(err, EDQUOT, "there are %zu kernels, which is all that max_kernels allows",
                       kernels->count);
    if (start->id && is_taken(kernels, start->id))
        return err_set(err, EEXIST, "there is a kernel of this id");
    struct kernel *kernel = kernel_create(kernels, &kernels->context, start);
    list_append(&kernels->all, &kernel->link);
    map_put(&kernels->by_id, slice_from_text(kernel->id), kernel);
    kernels->count++;
    flood_watch(kernels->flood);
    culler_watch(kernels->culler);
    *ret_kernel = kernel;
    return 0;
}

struct kernel *kernels_find(const struct kernels *kernels, const char *id) {
    return map_get(&kernels->by_id, slice_from_text(id));
}

void kernels_each(const struct kernels *kernels, void (*visit)(void *context, struct kernel *),
                  void *context) {
    struct kernel *kernel;
    list_for_each (kernel, &kernels->all, link) {
        if (kernel->life != LIFE_ENDING)
            visit(context, kernel);
    }
}

size_t kernels_count(const struct kernels *kernels) {
    return kernels->count;
}

uint64_t kernels_next_tree(struct kernels *kernels, struct kernel *kernel) {
    uint64_t tree = ++kernels->last_tree;
    map_put(&kernels->by_tree, slice_make(&tree, sizeof tree), kernel);
    return tree;
}

void kernels_forget_tree(struct kernels *kernels, uint64_t tree) {
    map_remove(&kernels->by_tree, slice_make(&tree, sizeof tree));
}

void kernels_hide(struct kernels *kernels, struct kernel *kernel) {
    map_remove(&kernels->by_id, slice_from_text(kernel->id));
}

void kernels_remove(struct kernels *kernels, struct kernel *kernel) {
    kernels_hide(kernels, kernel);
    if (kernel->tree)
        kernels_forget_tree(kernels, kernel->tree);
    list_remove(&kernel->link);
    kernels->count--;
    kernel_destroy(kernel);
}

void kernels_on_event(struct kernels *kernels, struct rpc_packet *packet) {
    uint64_t tree =
        packet->head.kind == RPC_TREE_SOCKETS ? packet->tree_sockets.tree : packet->tree_ended.tree;
    /* An event may cross a request of ours: then the tree is no longer known, and nothing is lost.
     */
    struct kernel *kernel = map_get(&kernels->by_tree, slice_make(&tree, sizeof tree));
    if (!kernel)
        return;
    if (packet->head.kind == RPC_TREE_SOCKETS)
        kernel_on_sockets(kernel, packet);
    else if (packet->head.kind == RPC_TREE_ENDED)
        kernel_on_tree_ended(kernel, packet);
}
