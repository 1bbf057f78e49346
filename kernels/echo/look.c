/* look - the commands that show what the process sees: the probes of a jail. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "echo/commands.h"

extern char **environ;

static int raise_path(struct run *run, int error, const char *path) {
    return run_raise(run, "OSError", "%s: %s", path, strerror(error));
}

static void print_text(struct run *run, const struct text *text) {
    run_print(run, "stdout", text_slice(text));
}

int command_env(struct run *run, const struct arguments *arguments) {
    cleanup_mem char *name = mem_copy_text(arguments->text.data, arguments->text.size);
    cleanup_text struct text text = {0};
    for (char **variable = environ; !name[0] && *variable; variable++)
        text_append_format(&text, "%s\n", *variable);
    const char *value = name[0] ? getenv(name) : NULL;
    if (name[0] && !value)
        return run_raise(run, "KeyError", "%s", name);
    if (value)
        text_append_format(&text, "%s\n", value);
    print_text(run, &text);
    return 0;
}

int command_ls(struct run *run, const struct arguments *arguments) {
    cleanup_mem char *path = mem_copy_text(arguments->text.data, arguments->text.size);
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort);
    if (count < 0)
        return raise_path(run, errno, path);
    cleanup_text struct text text = {0};
    for (int i = 0; i < count; i++) {
        if (strcmp(entries[i]->d_name, ".") != 0 && strcmp(entries[i]->d_name, "..") != 0)
            text_append_format(&text, "%s\n", entries[i]->d_name);
        free(entries[i]); /* made by scandir */
    }
    free(entries); /* made by scandir */
    print_text(run, &text);
    return 0;
}

int command_cat(struct run *run, const struct arguments *arguments) {
    enum { SIZE_MAX_BYTES = 1 << 20 };
    cleanup_mem char *path = mem_copy_text(arguments->text.data, arguments->text.size);
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return raise_path(run, errno, path);
    cleanup_mem char *data = mem_alloc(SIZE_MAX_BYTES);
    size_t size = 0;
    ssize_t got;
    while ((got = read(fd, data + size, SIZE_MAX_BYTES - size)) > 0)
        size += (size_t)got;
    if (got < 0)
        return raise_path(run, errno, path);
    run_print(run, "stdout", slice_make(data, size));
    return 0;
}

int command_write(struct run *run, const struct arguments *arguments) {
    cleanup_mem char *path = mem_copy_text(arguments->word.data, arguments->word.size);
    cleanup_fd int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return raise_path(run, errno, path);
    cleanup_text struct text text = {0};
    text_append(&text, arguments->text);
    text_append_text(&text, "\n");
    ssize_t written = write(fd, text.data, text.size);
    if (written != (ssize_t)text.size)
        return raise_path(run, written < 0 ? errno : ENOSPC, path);
    return 0;
}

int command_cwd(struct run *run, const struct arguments *arguments) {
    (void)arguments;
    char path[PATH_MAX];
    if (!getcwd(path, sizeof path))
        return raise_path(run, errno, ".");
    cleanup_mem char *line = mem_format("%s\n", path);
    run_print(run, "stdout", slice_from_text(line));
    return 0;
}

static void append_descriptor(struct text *text, int fd) {
    char path[64], target[PATH_MAX];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(path, target, sizeof target);
    if (size >= 0)
        text_append_format(text, "%d %.*s\n", fd, (int)size, target);
}

/* Tried one by one: a folder that is read would be a descriptor itself. */
int command_fds(struct run *run, const struct arguments *arguments) {
    (void)arguments;
    cleanup_text struct text text = {0};
    long most = sysconf(_SC_OPEN_MAX);
    for (int fd = 0; fd < most; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            append_descriptor(&text, fd);
    print_text(run, &text);
    return 0;
}

int command_uid(struct run *run, const struct arguments *arguments) {
    (void)arguments;
    gid_t groups[NGROUPS_MAX];
    int count = getgroups(NGROUPS_MAX, groups);
    cleanup_text struct text text = {0};
    text_append_format(&text, "uid %u\ngid %u\ngroups", getuid(), getgid());
    for (int i = 0; i < count; i++)
        text_append_format(&text, " %u", groups[i]);
    text_append_text(&text, "\n");
    print_text(run, &text);
    return 0;
}

int command_pid(struct run *run, const struct arguments *arguments) {
    (void)arguments;
    cleanup_mem char *text = mem_format("%d", (int)getpid());
    run_result(run, slice_from_text(text));
    return 0;
}
