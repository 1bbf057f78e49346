/* identity - what a process is and what it was given. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe/probe.h"

/* status NAME...: these lines of /proc/self/status, blanks as one. */
int probe_status(char **argv) {
    FILE *file = fopen("/proc/self/status", "re");
    char line[512], name[64];
    while (file && fgets(line, sizeof line, file))
        for (char **wanted = argv + 1; *wanted; wanted++) {
            char value[256] = "";
            if (sscanf(line, "%63[^:]: %255[^\n]", name, value) >= 1 && !strcmp(name, *wanted)) {
                for (char *at = value; (at = strchr(at, '\t'));)
                    *at = ' ';
                printf("%s %s\n", name, value);
            }
        }
    return file ? 0 : 1;
}

/* env: the environment in its order. */
int probe_env(char **argv) {
    (void)argv;
    for (char **at = environ; *at; at++)
        printf("%s\n", *at);
    return 0;
}

/* fds: every descriptor and what it is. */
int probe_fds(char **argv) {
    (void)argv;
    DIR *folder = opendir("/proc/self/fd");
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char target[256] = "";
        if (entry->d_name[0] == '.' || atoi(entry->d_name) == dirfd(folder))
            continue;
        ssize_t size = readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1);
        char *inode = size > 0 ? strchr(target, '[') : NULL;
        if (inode)
            *inode = 0;
        printf("%s %s\n", entry->d_name, target);
    }
    return 0;
}

/* self: umask, session, terminal, host name, parent, and how soon it dies where memory runs out. */
int probe_self(char **argv) {
    (void)argv;
    mode_t mask = umask(0);
    char host[64] = "", score[16] = "";
    gethostname(host, sizeof host);
    int terminal = open("/dev/tty", O_RDWR);
    FILE *file = fopen("/proc/self/oom_score_adj", "re");
    if (!file || !fgets(score, sizeof score, file))
        return 1;
    printf("umask %03o\nleader %s\nterminal %s\nhost %s\nparent %d\noom %s", (unsigned)mask,
           getsid(0) == getpid() && getpgrp() == getpid() ? "yes" : "no",
           terminal < 0 ? "no" : "yes", host, getppid(), score);
    return 0;
}

/* limits: name, soft and hard of each that is set. */
int probe_limits(char **argv) {
    (void)argv;
    static const struct {
        const char *name;
        int which;
    } limits[] = {
        {"core", RLIMIT_CORE},       {"fsize", RLIMIT_FSIZE},
        {"memlock", RLIMIT_MEMLOCK}, {"msgqueue", RLIMIT_MSGQUEUE},
        {"nice", RLIMIT_NICE},       {"nofile", RLIMIT_NOFILE},
        {"nproc", RLIMIT_NPROC},     {"rtprio", RLIMIT_RTPRIO},
        {"stack", RLIMIT_STACK},     {"sigpending", RLIMIT_SIGPENDING},
    };
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        struct rlimit limit;
        getrlimit(limits[i].which, &limit);
        printf("%s %lld %lld\n", limits[i].name, (long long)limit.rlim_cur,
               (long long)limit.rlim_max);
    }
    return 0;
}
