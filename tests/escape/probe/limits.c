/* limits - what brings a session to its limits. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe/probe.h"

static int use_memory(const char *mebibytes) {
    size_t size = strtoul(mebibytes, NULL, 10) << 20;
    char *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED)
        return 1;
    for (size_t i = 0; i < size; i += 4096)
        data[i] = 1;
    return 0;
}

/* memory MEBIBYTES [FILE]: uses so much; then says so by making the file, and stays. */
int probe_memory(char **argv) {
    if (use_memory(argv[1]) != 0)
        return 1;
    if (!argv[2])
        return 0;
    mknod(argv[2], S_IFREG | 0600, 0);
    for (;;)
        pause();
}

/* child MEBIBYTES: a child uses so much; says how it ended. */
int probe_child(char **argv) {
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(use_memory(argv[1]));
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return 1;
    printf("%s\n", WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : "ended");
    return 0;
}

/* bomb: children of children without end, none of them idle. _Fork, because TSan ends a program
 * that forks where threads are refused. */
int probe_bomb(char **argv) {
    (void)argv;
    for (;;)
        _Fork();
}
