/* tree_start - what one tree is started with, put together and handed to its process. */
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
#include "warden/environment.h"
#include "warden/sockets.h"
#include "warden/spawn.h"
#include "warden/tree.h"
#include "warden/uuid_text.h"

/* The folder of the kernel's sockets: small, and the gateway's group reaches what is in it. */
static int make_run(const struct jail *jail, int *ret_fd, struct err *err) {
    const struct jail_tmpfs run = {.size_bytes = 256ULL << 10,
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
    if (fd < 0 || fchown(fd, jail->user, jail->user) < 0)
        return err_errno(err, errno, "make the connection file");
    ssize_t size = write(fd, content.data, content.size);
    if (size != (ssize_t)content.size)
        return err_errno(err, size < 0 ? errno : ENOSPC, "write the connection file");
    return 0;
}

/* What goes into one spawn, beside what the jail has: all ended when the tree runs. */
struct launch {
    int workspace_fd, temporary_fd, link;
    struct strings argv, environment;
    struct trees_shown trees;
};

static void launch_finish(struct launch *launch) {
    const int fds[] = {launch->workspace_fd, launch->temporary_fd, launch->link};
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    strings_finish(&launch->argv);
    strings_finish(&launch->environment);
    trees_shown_finish(&launch->trees);
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

static void name_init(const struct tree *tree, struct slice directory, const struct spec *spec,
                      struct strings *ret_argv) {
    char id[UUID_TEXT_SIZE];
    uuid_text(tree->jail->id, id);
    int port = spec->transport == RPC_TRANSPORT_TCP ? rpc_tcp_port(tree->number, 0) : 0;
    strings_add(ret_argv, "init");
    strings_add(ret_argv, id);
    strings_add_take(ret_argv, mem_format("%d", port));
    strings_add(ret_argv, RPC_KERNEL_SOCKETS);
    strings_add_take(ret_argv, mem_copy_text(directory.data, directory.size));
    spec_fill_argv(spec, ret_argv);
}

static int prepare(struct tree *tree, const struct spec *spec, const struct rpc_packet *request,
                   struct launch *launch, struct err *err) {
    const struct rpc_tree_start *start = &request->tree_start;
    struct slice connection = slice_make(request->tail, start->connection_size);
    struct slice asked =
        slice_make(request->tail + start->connection_size, start->environment_size);
    struct slice directory = slice_make(asked.data + asked.size, start->directory_size);
    int result = jail_leaf_make(&tree->jail->group, tree->number, err);
    if (result == 0)
        result = environment_build(spec, &tree->jail->limits, asked, &launch->environment, err);
    if (result == 0)
        result = make_run(tree->jail, &tree->run_fd, err);
    if (result == 0)
        result = write_connection_file(tree->jail, tree->run_fd, connection, err);
    if (result == 0)
        result = clone_mounts(tree->jail, launch, err);
    if (result == 0)
        result = make_link(&tree->link_source.fd, &launch->link, err);
    if (result < 0)
        return result;
    name_init(tree, directory, spec, &launch->argv);
    trees_shown_add_all(&launch->trees, &spec->trees);
    data_add_trees(&tree->jail->warden->data, tree->jail->data_mask, &launch->trees);
    return 0;
}

static int spawn(struct tree *tree, const struct launch *launch, struct err *err) {
    const struct jail *jail = tree->jail;
    struct spawn_tree parts = {
        .plan = {.prepared = jail->warden->prepared,
                 .session = &jail->group,
                 .tree = tree->number,
                 .user = jail->user,
                 .group = jail->user,
                 .net_fd = jail->net_fd,
                 .ipc_fd = jail->ipc_fd,
                 .workspace_fd = launch->workspace_fd,
                 .temporary_fd = launch->temporary_fd,
                 .run_fd = tree->run_fd,
                 .trees = (const char *const *)launch->trees.paths.items,
                 .tree_sources = (const char *const *)launch->trees.sources.items,
                 .tree_count = launch->trees.paths.count,
                 .shared_memory_bytes = jail_temporary_bytes(jail, &jail->limits),
                 .pids = jail->limits.pids,
                 .memory_bytes = jail->limits.memory_bytes,
                 .cpus_milli = jail->limits.cpus_milli,
                 .open_files = jail->limits.open_files},
        .link = launch->link,
        .init_fd = jail->warden->init_fd,
        .argv = launch->argv.items,
        .environment = launch->environment.items};
    return spawn_tree(&parts, &tree->process.fd, err);
}

static int watch(struct tree *tree, struct err *err) {
    const struct events *events = &tree->jail->warden->events;
    int result = events_add(events, &tree->link_source, EPOLLIN, err);
    if (result < 0)
        return result;
    tree->is_link_watched = true;
    return sockets_watch(tree, err);
}

/* The descriptor of the process is watched last: once it exists the tree ends by its event. */
static int launch_tree(struct tree *tree, const struct spec *spec, const struct rpc_packet *request,
                       struct err *err) {
    struct launch launch = {-1, -1, -1, {0}, {0}, {{0}, {0}}};
    int result = prepare(tree, spec, request, &launch, err);
    if (result == 0)
        result = watch(tree, err);
    if (result == 0)
        result = spawn(tree, &launch, err);
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

static int check_start(struct warden *warden, const struct rpc_packet *request, struct err *err) {
    const struct rpc_tree_start *start = &request->tree_start;
    uint64_t size = (uint64_t)start->connection_size + start->environment_size;
    if (size + start->directory_size != request->tail_size)
        return err_set(err, EINVAL, "sizes do not add up to the tail's");
    if (start->directory_size >= RPC_DIRECTORY_MAX ||
        memchr(request->tail + size, 0, start->directory_size))
        return err_set(err, EINVAL, "the directory is too long, or holds a NUL");
    if (start->kind != RPC_TREE_KERNEL)
        return err_set(err, ENOTSUP, "trees of kind %u are not there yet", start->kind);
    if (tree_find(warden, start->tree))
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
