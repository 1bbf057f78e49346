/* trees - the life of a tree from its start on: signals, kills, its end. Its one complication: the
 * end is told by two descriptors, pid 1's link (how it came about) and its pidfd (that nothing is
 * left); the event goes out with the second. */
#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "warden/say.h"
#include "warden/sockets.h"
#include "warden/spawn.h"
#include "warden/tree.h"
#include "warden/uuid_text.h"

_Static_assert((int)INIT_OUTPUT_MAX <= (int)RPC_OUTPUT_MAX, "a report's output fits an event");

static void on_link(struct source *source, uint32_t events);
static void on_process(struct source *source, uint32_t events);

void tree_destroy(struct tree *tree) {
    struct warden *warden = tree->jail->warden;
    sockets_forget(tree);
    if (tree->is_link_watched)
        events_remove(&warden->events, &tree->link_source);
    if (tree->link_source.fd >= 0)
        close(tree->link_source.fd);
    if (tree->process.fd >= 0)
        close(tree->process.fd);
    jail_leaf_remove(&tree->jail->group, tree->number);
    list_remove(&tree->link);
    tree->jail->tree_count--;
    mem_free(tree->name);
    mem_free(tree);
}

struct tree *tree_create(struct jail *jail, uint64_t number, const char *name) {
    struct tree *tree = mem_zalloc(1, sizeof *tree);
    *tree = (struct tree){.jail = jail,
                          .number = number,
                          .name = mem_strdup(name),
                          .process = {-1, on_process},
                          .link_source = {-1, on_link},
                          .run_fd = -1,
                          .folder_watch = -1};
    list_append(&jail->trees, &tree->link);
    jail->tree_count++;
    return tree;
}

static struct tree *find_in(const struct jail *jail, uint64_t number) {
    struct tree *tree;
    list_for_each (tree, &jail->trees, link) {
        if (tree->number == number)
            return tree;
    }
    return NULL;
}

struct tree *tree_find(const struct warden *warden, uint64_t number) {
    struct jail *jail;
    list_for_each (jail, &warden->jails, link) {
        struct tree *tree = find_in(jail, number);
        if (tree)
            return tree;
    }
    return NULL;
}

/* -- signal and kill */

int tree_signal(struct warden *warden, const struct rpc_tree_signal *request, struct err *err) {
    const struct tree *tree = tree_find(warden, request->tree);
    if (!tree)
        return err_set(err, ENOENT, "signal: there is no such tree");
    if (request->signal < 1 || request->signal > SIGRTMAX)
        return err_set(err, EINVAL, "signal: there is no signal %d", request->signal);
    const struct init_signal order = {request->signal};
    if (send(tree->link_source.fd, &order, sizeof order, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        return err_errno(err, errno, "signal");
    return 0;
}

/* SIGKILL to pid 1 ends every process of its namespace before pid 1 itself is reaped; but pid 1 has
 * to have its turn on a processor first, against all the others. */
static void kill_now(struct tree *tree) {
    char id[UUID_TEXT_SIZE];
    if (tree->is_killed)
        return;
    tree->is_killed = true;
    uuid_text(tree->jail->id, id);
    say("killed tree %llu jail %s", (unsigned long long)tree->number, id);
    jail_leaf_kill(&tree->jail->group, tree->number);
    pidfd_send_signal(tree->process.fd, SIGKILL, NULL, 0);
}

int tree_kill(struct warden *warden, const struct rpc_tree_kill *request, struct err *err) {
    struct tree *tree = tree_find(warden, request->tree);
    if (!tree)
        return err_set(err, ENOENT, "kill: there is no such tree");
    kill_now(tree);
    return 0;
}

void trees_kill_all(struct jail *jail) {
    struct tree *tree;
    list_for_each (tree, &jail->trees, link)
        kill_now(tree);
}

/* -- what trees tell */

/* False where nothing more comes. */
static bool read_report(struct tree *tree) {
    struct init_report report;
    ssize_t size = recv(tree->link_source.fd, &report, sizeof report, MSG_DONTWAIT);
    if (size < INIT_REPORT_HEAD)
        return size < 0 && (errno == EAGAIN || errno == EINTR);
    tree->last = report;
    tree->last_size = (size_t)size - INIT_REPORT_HEAD;
    return true;
}

static void on_link(struct source *source, uint32_t events) {
    (void)events;
    struct tree *tree = LIST_ENTRY(source, struct tree, link_source);
    if (read_report(tree))
        return;
    events_remove(&tree->jail->warden->events, source);
    tree->is_link_watched = false;
}

/* Whether pid 1 says so, or was itself what was killed. */
static bool is_killed_by_kernel(const struct tree *tree) {
    bool is_last = tree->last.kind > INIT_STARTED;
    return is_last ? tree->last.kind == INIT_SIGNALED && tree->last.value == SIGKILL
                   : !tree->is_killed;
}

/* Causes by the last report, where there was one that tells. */
static void fill_cause(const struct tree *tree, int status, struct rpc_tree_ended *ended) {
    static const enum rpc_cause causes[] = {[INIT_EXITED] = RPC_CAUSE_EXIT,
                                            [INIT_SIGNALED] = RPC_CAUSE_SIGNAL,
                                            [INIT_FAILED] = RPC_CAUSE_FAILED};
    uint32_t kind = tree->last.kind;
    if (is_killed_by_kernel(tree) && oom_explains(tree, ended)) {
        ended->cause = RPC_CAUSE_OOM;
        ended->status = SIGKILL;
    } else if (kind > INIT_STARTED && kind <= INIT_FAILED) {
        ended->cause = causes[kind];
        ended->status = tree->last.value;
    } else if (tree->is_killed) {
        ended->cause = RPC_CAUSE_KILLED;
    } else { /* pid 1 itself was ended, from outside of the jail */
        ended->cause = RPC_CAUSE_SIGNAL;
        ended->status = status & 0x7f ? status & 0x7f : SIGKILL;
    }
}

/* The sentence of a tree that never ran. */
static void fill_sentence(const struct tree *tree, struct err *ret_err) {
    if (tree->last_size)
        err_set(ret_err, tree->last.value, "start kernel %s: %.*s", tree->name,
                (int)tree->last_size, (const char *)tree->last.output);
    else
        err_errno(ret_err, tree->last.value, "start kernel %s: run its program", tree->name);
}

static void tell_end(struct tree *tree, int status) {
    struct rpc_tree_ended ended = {.head.kind = RPC_TREE_ENDED, .tree = tree->number};
    oom_note(tree);
    fill_cause(tree, status, &ended);
    struct slice tail = slice_make(tree->last.output, tree->last_size);
    struct err sentence;
    if (ended.cause == RPC_CAUSE_FAILED) {
        fill_sentence(tree, &sentence);
        tail = slice_from_text(sentence.text);
    }
    struct warden *warden = tree->jail->warden;
    outbox_put_take(&warden->gateway.outbox, &ended, tail, NULL, 0);
    gateway_flush(warden);
}

static void on_process(struct source *source, uint32_t events) {
    (void)events;
    struct tree *tree = LIST_ENTRY(source, struct tree, process);
    struct jail *jail = tree->jail;
    int status = spawn_reap(source->fd);
    while (recv(tree->link_source.fd, &(char){0}, 1, MSG_PEEK | MSG_DONTWAIT) > 0)
        read_report(tree);
    events_remove(&jail->warden->events, source);
    tell_end(tree, status);
    tree_destroy(tree);
    jail_end_if_empty(jail);
}
