/* process - what becomes of processes. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe/probe.h"

/* daemon: leaves a process behind that has a session of its own, ignores what it can, and holds
 * stdout. */
int probe_daemon(char **argv) {
    (void)argv;
    int ready[2];
    char byte;
    if (pipe(ready) < 0 || fork() != 0)
        return read(ready[0], &byte, 1) == 1 ? 0 : 1;
    setsid();
    if (fork() != 0)
        _exit(0);
    for (int number = 1; number < 65; number++)
        signal(number, SIG_IGN);
    if (write(ready[1], "x", 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

/* attack1: every way to end, stop or hinder pid 1; says who still lives. */
int probe_attack1(char **argv) {
    (void)argv;
    for (int number = 1; number < 65; number++)
        if (number != SIGCHLD)
            kill(1, number);
    /* A descriptor's owner gets its signal from the kernel, not from the setter. */
    static const int signals[] = {SIGKILL, SIGSTOP, SIGTERM, SIGIO};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        int ends[2];
        if (pipe(ends) < 0 || fcntl(ends[0], F_SETOWN, 1) < 0 ||
            fcntl(ends[0], F_SETSIG, signals[i]) < 0 || fcntl(ends[0], F_SETFL, O_ASYNC) < 0 ||
            write(ends[1], "x", 1) != 1)
            printf("owner %s\n", strerrorname_np(errno));
    }
    struct rlimit none = {0, 0};
    static const int limits[] = {RLIMIT_CPU, RLIMIT_NOFILE, RLIMIT_AS, RLIMIT_DATA, RLIMIT_NPROC};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        printf("limit %s\n",
               prlimit(1, limits[i], &none, NULL) < 0 ? strerrorname_np(errno) : "ok");
    struct rlimit own;
    printf("own limit %s\n", prlimit(0, RLIMIT_NOFILE, NULL, &own) < 0 ? "no" : "ok");
    printf("alive %s\n", kill(1, 0) == 0 ? "yes" : strerrorname_np(errno));
    return 0;
}

/* fork COUNT: so many children at once; says how many there could be. */
int probe_fork(char **argv) {
    int wanted = atoi(argv[1]), made = 0;
    pid_t pid = 1;
    for (; made < wanted && (pid = fork()) > 0; made++)
        ;
    if (pid == 0) {
        pause();
        _exit(0);
    }
    printf("%d %s\n", made, pid < 0 ? strerrorname_np(errno) : "ok");
    return 0;
}

/* open COUNT: so many descriptors at once. */
int probe_open(char **argv) {
    int wanted = atoi(argv[1]), made = 0;
    while (made < wanted && open("/dev/null", O_RDONLY) >= 0)
        made++;
    printf("%s\n", made < wanted ? strerrorname_np(errno) : "ok");
    return 0;
}

/* shm KEY: makes a System V segment of that key, or finds one that is there. */
int probe_shm(char **argv) {
    key_t key = (key_t)atoi(argv[1]);
    printf("%s\n", shmget(key, 4096, 0) >= 0 ? "found" : strerrorname_np(errno));
    printf("%s\n", shmget(key, 4096, IPC_CREAT | 0666) >= 0 ? "made" : strerrorname_np(errno));
    return 0;
}
