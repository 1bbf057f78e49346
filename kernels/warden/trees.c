/* trees - start, signal, kill, and the end of trees. Its one complication: a tree's end is told by
 * two descriptors, pid 1's link (how it came about) and its pidfd (that nothing is left); the event
 * goes out with the second. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "init/init.h"
#include "warden/environment.h"
#include "warden/say.h"
#include "warden/sockets.h"
#include "warden/spawn.h"
#include "warden/tree.h"
#include "warden/uuid_text.h"

_Static_assert((int)INIT_OUTPUT_MAX <= (int)RPC_OUTPUT_MAX, "a report's output fits an event");

/* -- start */

/* The folder of the kernel's sockets: small, and the gateway's group reaches what is in it. */
static int make_run(const struct jail *jail, int *ret_fd, struct err *err) {
    const struct jail_tmpfs run = {.size_bytes = 256 * 1024,
                                   .inodes = 64,
                                   .mode = 02770,
                                   .user = jail->user,
                                   .group = (gid_t)jail->warden->params.uid_base};
    int result = jail_make_tmpfs(&run, ret_fd, err);
    return result < 0 ? err_wrap(err, "make /run/kernel") : 0;
}

/* Nobody else has seen the folder yet. */
static int write_connection_file(const struct jail *jail, int run_fd, struct slice content,
                                 struct err *err) {
    const char *name = strrchr(RPC_CONNECTION_FILE, '/') + 1;
    cleanup_fd int fd = openat(run_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || fchown(fd, jail->user, jail->user) < 0 ||
        write(fd, content.data, content.size) != (ssize_t)content.size)
        return err_errno(err, errno ? errno : EIO, "write the connection file");
    return 0;
}

/* What goes into one spawn, beside what the jail has: all ended when the tree runs. */
struct launch {
    int workspace_fd, temporary_fd, link;
    struct strings argv, environment;
};

static void launch_finish(struct launch *launch) {
    const int fds[] = {launch->workspace_fd, launch->temporary_fd, launch->link};
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    strings_finish(&launch->argv);
    strings_finish(&launch->environment);
}

static int clone_mounts(const struct jail *jail, struct launch *launch, struct err *err) {
    struct jail_prepared *prepared = jail->warden->prepared;
    int result = jail_clone_kept(prepared, &jail->workspace, &launch->workspace_fd, err);
    if (result == 0)
        result = jail_clone_kept(prepared, &jail->temporary, &launch->temporary_fd, err);
    return result;
}

static int make_link(int *ret_own, int *ret_other, struct err *err) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return err_errno(err, errno, "socketpair");
    *ret_own = ends[0];
    *ret_other = ends[1];
    return 0;
}

static void name_init(const struct jail *jail, const struct spec *spec, struct strings *ret_argv) {
    char id[UUID_TEXT_SIZE];
    uuid_text(jail->id, id);
    strings_add(ret_argv, "init");
    strings_add(ret_argv, id);
    spec_fill_argv(spec, ret_argv);
}

static int prepare(struct tree *tree, const struct spec *spec, const struct rpc_packet *request,
                   struct launch *launch, struct err *err) {
    const struct rpc_tree_start *start = &request->tree_start;
    struct slice connection = slice_make(request->tail, start->connection_size);
    struct slice asked =
        slice_make(request->tail + start->connection_size, start->environment_size);
    int result = environment_build(spec, asked, &launch->environment, err);
    if (result == 0)
        result = make_run(tree->jail, &tree->run_fd, err);
    if (result == 0)
        result = write_connection_file(tree->jail, tree->run_fd, connection, err);
    if (result == 0)
        result = clone_mounts(tree->jail, launch, err);
    if (result == 0)
        result = make_link(&tree->link_source.fd, &launch->link, err);
    if (result == 0)
        name_init(tree->jail, spec, &launch->argv);
    return result;
}

static int spawn(struct tree *tree, const struct spec *spec, const struct launch *launch,
                 struct err *err) {
    const struct jail *jail = tree->jail;
    struct spawn_tree parts = {
        .plan = {.prepared = jail->warden->prepared,
                 .user = jail->user,
                 .group = jail->user,
                 .net_fd = jail->net_fd,
                 .ipc_fd = jail->ipc_fd,
                 .workspace_fd = launch->workspace_fd,
                 .temporary_fd = launch->temporary_fd,
                 .run_fd = tree->run_fd,
                 .trees = (const char *const *)spec->trees.paths.items,
                 .tree_sources = (const char *const *)spec->trees.sources.items,
                 .tree_count = spec->trees.paths.count,
                 .shared_memory_bytes = jail->warden->params.tmp_bytes,
                 .pids = jail->limits.pids,
                 .open_files = jail->limits.open_files},
        .link = launch->link,
        .init_fd = jail->warden->init_fd,
        .argv = launch->argv.items,
        .environment = launch->environment.items};
    return spawn_tree(&parts, &tree->process.fd, err);
}

static void on_link(struct source *source, uint32_t events);
static void on_process(struct source *source, uint32_t events);

static int watch(struct tree *tree, struct err *err) {
    const struct events *events = &tree->jail->warden->events;
    int result = events_add(events, &tree->link_source, EPOLLIN, err);
    if (result < 0)
        return result;
    tree->is_link_watched = true;
    return sockets_watch(tree, err);
}

static void tree_destroy(struct tree *tree) {
    struct warden *warden = tree->jail->warden;
    sockets_forget(tree);
    if (tree->is_link_watched)
        events_remove(&warden->events, &tree->link_source);
    if (tree->link_source.fd >= 0)
        close(tree->link_source.fd);
    if (tree->process.fd >= 0) {
        close(tree->process.fd);
    }
    list_remove(&tree->link);
    tree->jail->tree_count--;
    mem_free(tree->name);
    mem_free(tree);
}

static struct tree *tree_create(struct jail *jail, uint64_t number, const char *name) {
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

/* The descriptor of the process is watched last: once it exists the tree ends by its event. */
static int launch_tree(struct tree *tree, const struct spec *spec, const struct rpc_packet *request,
                       struct err *err) {
    struct launch launch = {-1, -1, -1, {0}, {0}};
    int result = prepare(tree, spec, request, &launch, err);
    if (result == 0)
        result = watch(tree, err);
    if (result == 0)
        result = spawn(tree, spec, &launch, err);
    launch_finish(&launch);
    if (result < 0)
        return result;
    result = events_add(&tree->jail->warden->events, &tree->process, EPOLLIN, err);
    if (result < 0) {
        pidfd_send_signal(tree->process.fd, SIGKILL, NULL, 0);
        spawn_reap(tree->process.fd);
    }
    return result;
}

static struct tree *find_in(const struct jail *jail, uint64_t number) {
    struct tree *tree;
    list_for_each (tree, &jail->trees, link) {
        if (tree->number == number)
            return tree;
    }
    return NULL;
}

static struct tree *find_tree(const struct warden *warden, uint64_t number) {
    struct jail *jail;
    list_for_each (jail, &warden->jails, link) {
        struct tree *tree = find_in(jail, number);
        if (tree)
            return tree;
    }
    return NULL;
}

static int check_start(struct warden *warden, const struct rpc_packet *request, struct err *err) {
    const struct rpc_tree_start *start = &request->tree_start;
    if ((uint64_t)start->connection_size + start->environment_size != request->tail_size)
        return err_set(err, EINVAL, "sizes do not add up to the tail's");
    if (start->kind != RPC_TREE_KERNEL)
        return err_set(err, ENOTSUP, "trees of kind %u are not there yet", start->kind);
    if (find_tree(warden, start->tree))
        return err_set(err, EEXIST, "there is a tree of this number");
    return 0;
}

int tree_start(struct warden *warden, const struct rpc_packet *request, struct err *err) {
    const struct rpc_tree_start *start = &request->tree_start;
    int result = check_start(warden, request, err);
    if (result < 0)
        return err_wrap(err, "start tree");
    struct jail *jail = jail_find(warden, start->jail);
    if (!jail)
        return err_set(err, ENOENT, "start tree: there is no such jail");
    if (jail->tree_count >= TREES_MAX)
        return err_set(err, EAGAIN, "start tree: the jail has %d trees", TREES_MAX);
    const struct spec *spec = specs_find(&warden->specs, start->spec);
    if (!spec)
        return err_set(err, ENOENT, "start tree: there is no such kernelspec");
    struct tree *tree = tree_create(jail, start->tree, spec->name);
    result = launch_tree(tree, spec, request, err);
    if (result < 0) {
        tree_destroy(tree);
        return err_wrap(err, "start kernel %s", spec->name);
    }
    return 0;
}

/* -- signal and kill */

int tree_signal(struct warden *warden, const struct rpc_tree_signal *request, struct err *err) {
    const struct tree *tree = find_tree(warden, request->tree);
    if (!tree)
        return err_set(err, ENOENT, "signal: there is no such tree");
    if (request->signal < 1 || request->signal > SIGRTMAX)
        return err_set(err, EINVAL, "signal: there is no signal %d", request->signal);
    const struct init_signal order = {request->signal};
    if (send(tree->link_source.fd, &order, sizeof order, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        return err_errno(err, errno, "signal");
    return 0;
}

/* SIGKILL to pid 1 ends every process of its namespace before pid 1 itself is reaped. */
static void kill_now(struct tree *tree) {
    char id[UUID_TEXT_SIZE];
    if (tree->is_killed)
        return;
    tree->is_killed = true;
    uuid_text(tree->jail->id, id);
    say("killed tree %llu jail %s", (unsigned long long)tree->number, id);
    pidfd_send_signal(tree->process.fd, SIGKILL, NULL, 0);
}

int tree_kill(struct warden *warden, const struct rpc_tree_kill *request, struct err *err) {
    struct tree *tree = find_tree(warden, request->tree);
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

/* Causes by the last report, where there was one that tells. */
static void fill_cause(const struct tree *tree, int status, struct rpc_tree_ended *ended) {
    static const enum rpc_cause causes[] = {[INIT_EXITED] = RPC_CAUSE_EXIT,
                                            [INIT_SIGNALED] = RPC_CAUSE_SIGNAL,
                                            [INIT_FAILED] = RPC_CAUSE_FAILED};
    uint32_t kind = tree->last.kind;
    if (kind > INIT_STARTED && kind <= INIT_FAILED) {
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

static void tell_end(const struct tree *tree, int status) {
    struct rpc_tree_ended ended = {.head.kind = RPC_TREE_ENDED, .tree = tree->number};
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
