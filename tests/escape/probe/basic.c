/* basic - what a kernel does, without being one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "probe/probe.h"

static void bind_and_listen(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, 8) < 0)
        perror(path);
}

/* bind PATH...: sockets that listen; then waits. */
int probe_bind(char **argv) {
    for (char **path = argv + 1; *path; path++)
        bind_and_listen(*path);
    pause();
    return 0;
}

/* print STATUS WORD...: prints the words and exits with the status. */
int probe_print(char **argv) {
    for (char **word = argv + 2; *word; word++)
        printf("%s%s", *word, word[1] ? " " : "\n");
    return atoi(argv[1]);
}

/* wait: until a signal ends it. */
int probe_wait(char **argv) {
    (void)argv;
    pause();
    return 0;
}
