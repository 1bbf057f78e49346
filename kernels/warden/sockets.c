#include "warden/sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

enum {
    SOCKET_COUNT = 5,
    /* A kernel binds five sockets; one that goes on changing its folder is not looked at any more,
     * and never becomes ready. */
    CHANGES_MAX = 1000,
};

/* Kernels name a socket ip-port, a few ip:port; ip is the path RPC_KERNEL_SOCKETS. */
static const char separators[] = "-:";

static const char *base_name(void) {
    return strrchr(RPC_KERNEL_SOCKETS, '/') + 1;
}

static int open_socket(int folder_fd, char separator, int port) {
    char name[32];
    snprintf(name, sizeof name, "%s%c%d", base_name(), separator, port);
    cleanup_fd int fd = openat(folder_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat info;
    return fd >= 0 && fstat(fd, &info) == 0 && S_ISSOCK(info.st_mode) ? take_fd(&fd) : -1;
}

/* How many of them are there, opened in order. */
static size_t open_sockets(int folder_fd, int fds[SOCKET_COUNT]) {
    for (size_t i = 0; i < SOCKET_COUNT; i++) {
        fds[i] = -1;
        for (const char *separator = separators; *separator && fds[i] < 0; separator++)
            fds[i] = open_socket(folder_fd, *separator, (int)i + 1);
        if (fds[i] < 0)
            return i;
    }
    return SOCKET_COUNT;
}

static void tell_if_complete(struct tree *tree) {
    int fds[SOCKET_COUNT];
    size_t count = open_sockets(tree->run_fd, fds);
    if (count < SOCKET_COUNT) {
        while (count > 0)
            close(fds[--count]);
        return;
    }
    struct warden *warden = tree->jail->warden;
    struct rpc_tree_sockets packet = {.head.kind = RPC_TREE_SOCKETS, .tree = tree->number};
    outbox_put_take(&warden->gateway.outbox, &packet, (struct slice){0}, fds, SOCKET_COUNT);
    gateway_flush(warden);
    sockets_forget(tree);
}

static struct tree *find_in(const struct jail *jail, int watch) {
    struct tree *tree;
    list_for_each (tree, &jail->trees, link) {
        if (tree->folder_watch == watch)
            return tree;
    }
    return NULL;
}

static struct tree *find_watched(const struct warden *warden, int watch) {
    struct jail *jail;
    list_for_each (jail, &warden->jails, link) {
        struct tree *tree = find_in(jail, watch);
        if (tree)
            return tree;
    }
    return NULL;
}

static void look_at(const struct jail *jail) {
    struct tree *tree;
    list_for_each (tree, &jail->trees, link) {
        if (tree->folder_watch >= 0)
            tell_if_complete(tree);
    }
}

static void look_at_all(struct warden *warden) {
    struct jail *jail;
    list_for_each (jail, &warden->jails, link)
        look_at(jail);
}

static void on_change(struct warden *warden, const struct inotify_event *event) {
    if (event->mask & IN_Q_OVERFLOW) {
        look_at_all(warden); /* somebody's changes were lost */
        return;
    }
    struct tree *tree = event->wd >= 0 ? find_watched(warden, event->wd) : NULL;
    if (!tree)
        return;
    if (++tree->folder_changes > CHANGES_MAX)
        sockets_forget(tree);
    else
        tell_if_complete(tree);
}

static void on_folders(struct source *source, uint32_t events) {
    (void)events;
    struct warden *warden = LIST_ENTRY(source, struct warden, folders);
    _Alignas(struct inotify_event) char buffer[4096];
    ssize_t size = read(source->fd, buffer, sizeof buffer);
    for (ssize_t at = 0; at < size;) {
        const struct inotify_event *event = (const struct inotify_event *)(buffer + at);
        at += (ssize_t)(sizeof *event + event->len);
        on_change(warden, event);
    }
}

int sockets_init(struct warden *warden, struct err *err) {
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (fd < 0)
        return err_errno(err, errno, "inotify_init1");
    warden->folders = (struct source){fd, on_folders};
    return events_add(&warden->events, &warden->folders, EPOLLIN, err);
}

int sockets_watch(struct tree *tree, struct err *err) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", tree->run_fd);
    tree->folder_watch =
        inotify_add_watch(tree->jail->warden->folders.fd, path, IN_CREATE | IN_MOVED_TO);
    return tree->folder_watch < 0 ? err_errno(err, errno, "watch /run/kernel") : 0;
}

void sockets_forget(struct tree *tree) {
    if (tree->folder_watch >= 0)
        inotify_rm_watch(tree->jail->warden->folders.fd, tree->folder_watch);
    if (tree->run_fd >= 0)
        close(tree->run_fd);
    tree->folder_watch = tree->run_fd = -1;
}
