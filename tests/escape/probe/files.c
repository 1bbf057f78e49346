/* files - what can be seen and changed. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe/probe.h"

static const char *outcome(int result) {
    return result < 0 ? strerrorname_np(errno) : "ok";
}

/* look PATH...: stat of each. */
int probe_look(char **argv) {
    struct stat info;
    for (char **path = argv + 1; *path; path++)
        printf("%s %s\n", *path, outcome(stat(*path, &info)));
    return 0;
}

/* write PATH...: makes a file there. */
int probe_write(char **argv) {
    for (char **path = argv + 1; *path; path++) {
        int fd = open(*path, O_WRONLY | O_CREAT, 0600);
        printf("%s %s\n", *path, outcome(fd < 0 ? -1 : (int)write(fd, "x", 1)));
        if (fd >= 0)
            close(fd);
    }
    return 0;
}

/* read PATH...: how many bytes each has to read (64 KiB at most), or why not. */
int probe_read(char **argv) {
    for (char **path = argv + 1; *path; path++) {
        static char buffer[65536];
        int fd = open(*path, O_RDONLY | O_NONBLOCK);
        ssize_t size = fd < 0 ? -1 : read(fd, buffer, sizeof buffer);
        if (size < 0)
            printf("%s %s\n", *path, outcome(-1));
        else
            printf("%s %zd\n", *path, size);
        if (fd >= 0)
            close(fd);
    }
    return 0;
}

/* list FOLDER...: the names in each, in order. */
int probe_list(char **argv) {
    for (char **path = argv + 1; *path; path++) {
        struct dirent **entries;
        int count = scandir(*path, &entries, NULL, alphasort);
        printf("%s", *path);
        for (int i = 0; i < count; i++)
            if (entries[i]->d_name[0] != '.')
                printf(" %s", entries[i]->d_name);
        printf("%s\n", count < 0 ? " ?" : "");
    }
    return 0;
}

/* mounts: point and options of each mount that lacks nosuid; or nodev, but for devices and
 * terminals; or ro, but for the four that are meant to be written. */
int probe_mounts(char **argv) {
    (void)argv;
    FILE *file = fopen("/proc/self/mountinfo", "re");
    char line[1024];
    while (file && fgets(line, sizeof line, file)) {
        char point[256], options[256];
        sscanf(line, "%*s %*s %*s %*s %255s %255s", point, options);
        printf("%s %s\n", point, options);
    }
    return file ? 0 : 1;
}

/* fill FOLDER: writes until no more fits; says how many KiB that was and why it ended; then how
 * many empty files. */
int probe_fill(char **argv) {
    static char block[65536];
    char path[256];
    snprintf(path, sizeof path, "%s/large", argv[1]);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    size_t total = 0;
    ssize_t count;
    while ((count = write(fd, block, sizeof block)) > 0)
        total += (size_t)count;
    printf("%zu %s\n", total / 1024, strerrorname_np(errno));
    close(fd);
    unlink(path);
    int files = 0;
    do {
        snprintf(path, sizeof path, "%s/%d", argv[1], files++);
        fd = open(path, O_WRONLY | O_CREAT, 0600);
        if (fd >= 0)
            close(fd);
    } while (fd >= 0);
    printf("%d %s\n", files, strerrorname_np(errno));
    return 0;
}

/* link TARGET PATH...: makes links; then prints where it is. */
int probe_link(char **argv) {
    for (char **path = argv + 2; *path; path++)
        printf("%s %s\n", *path, outcome(symlink(argv[1], *path)));
    char cwd[256];
    printf("cwd %s\n", getcwd(cwd, sizeof cwd));
    return 0;
}
