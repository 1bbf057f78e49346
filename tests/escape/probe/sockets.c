/* sockets - kernels that do odd things in the folder of their sockets. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "probe/probe.h"

static const char folder[] = "/run/kernel";

static void bind_port(int port) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/k-%d", folder, port);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, 8) < 0)
        perror(address.sun_path);
}

static void path_of(int port, char path[64]) {
    snprintf(path, 64, "%s/k-%d", folder, port);
}

/* odd KIND: four sockets, and in place of the fifth a "link" to the first, the "passwd" file by a
 * link, a "file", a "fifo", a "folder", or a "socket" as it should be; then it ends. */
int probe_odd(char **argv) {
    char path[64];
    path_of(5, path);
    for (int port = 1; port <= 4; port++)
        bind_port(port);
    const char *kind = argv[1];
    int result = 0;
    if (strcmp(kind, "link") == 0)
        result = symlink("k-1", path);
    else if (strcmp(kind, "passwd") == 0)
        result = symlink("/etc/passwd", path);
    else if (strcmp(kind, "file") == 0)
        result = mknod(path, S_IFREG | 0666, 0);
    else if (strcmp(kind, "fifo") == 0)
        result = mkfifo(path, 0666);
    else if (strcmp(kind, "folder") == 0)
        result = mkdir(path, 0777);
    else
        bind_port(5);
    return result < 0;
}

/* rename: binds under other names and moves them where they belong; then waits. */
int probe_rename(char **argv) {
    (void)argv;
    char path[64], other[64];
    for (int port = 1; port <= 5; port++) {
        bind_port(port + 10);
        path_of(port, path);
        path_of(port + 10, other);
        if (rename(other, path) < 0)
            return 1;
    }
    pause();
    return 0;
}

/* Two names in turns: inotify makes one event of two alike that nobody has read yet. */
static int change_folder(int count) {
    char path[64];
    for (int i = count; i > 0; i--) {
        path_of(8 + i % 2, path);
        if (mkdir(path, 0700) < 0 || rmdir(path) < 0)
            return -1;
    }
    return 0;
}

static void bind_all(void) {
    for (int port = 1; port <= 5; port++)
        bind_port(port);
}

/* busy COUNT [NAME]: changes the folder so often, then binds, then ends. Binds only once the
 * workspace has a folder NAME. */
int probe_busy(char **argv) {
    char path[128];
    if (change_folder(atoi(argv[1])) < 0)
        return 1;
    snprintf(path, sizeof path, "/home/user/%s", argv[2] ? argv[2] : "");
    while (access(path, F_OK) < 0)
        usleep(1000);
    bind_all();
    return 0;
}

/* told COUNT NAME: once the workspace has a folder NAME, changes its own folder so often, binds,
 * makes the folder NAME-done, and waits. */
int probe_told(char **argv) {
    char path[128];
    snprintf(path, sizeof path, "/home/user/%s", argv[2]);
    while (access(path, F_OK) < 0)
        usleep(1000);
    if (change_folder(atoi(argv[1])) < 0)
        return 1;
    bind_all();
    snprintf(path, sizeof path, "/home/user/%s-done", argv[2]);
    if (mkdir(path, 0700) < 0)
        return 1;
    pause();
    return 0;
}
