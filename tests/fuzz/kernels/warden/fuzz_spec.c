/* fuzz_spec - a kernelspec's folder and a Python environment that somebody else filled, as the
 * warden reads them. Input: a byte that says what kernel.json and pyvenv.cfg are (files, links,
 * pipes, folders, nothing), then pieces that end in NUL: kernel.json, pyvenv.cfg, where the
 * environment's python links to, and what the gateway asks for as environment. Whatever they say,
 * no jail is shown the system's own folders, and nothing is waited for. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "folder.h"
#include "warden/environment.h"
#include "warden/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Each with all of a thousand variables would take most of the time. */
enum { COMPARED_MAX = 50 };

/* Below folder_path(), where what an input brings is written. */
#define PREFIX "prefix"
#define SPEC PREFIX "/share/jupyter/kernels/one"

static char *path_of(const char *name) {
    return mem_format("%s/%s", folder_path(), name);
}

static void make_folders(void) {
    static const char *const names[] = {PREFIX,
                                        PREFIX "/bin",
                                        PREFIX "/share",
                                        PREFIX "/share/jupyter",
                                        PREFIX "/share/jupyter/kernels",
                                        SPEC};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cleanup_mem char *path = path_of(names[i]);
        int result = mkdir(path, 0755);
        assert(result == 0 || errno == EEXIST);
    }
}

static void write_file(const char *path, struct slice content, mode_t mode) {
    cleanup_fd int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    ssize_t wrote = write(fd, content.data, content.size);
    assert(wrote == (ssize_t)content.size);
}

/* What a name may turn out to be. */
static void put(const char *name, unsigned kind, struct slice content) {
    cleanup_mem char *path = path_of(name);
    cleanup_mem char *other = path_of("other");
    unlink(path);
    rmdir(path);
    unlink(other);
    switch (kind % 6) {
    case 1:
        write_file(other, content, 0644);
        assert(symlink(other, path) == 0);
        break;
    case 2:
        assert(mkfifo(path, 0644) == 0);
        break;
    case 3:
        assert(mkdir(path, 0755) == 0);
        break;
    case 4:
        break;
    default: /* most of the time */
        write_file(path, content, 0644);
    }
}

static struct slice next(struct slice *input) {
    size_t size = input->size ? strnlen((const char *)input->data, input->size) : 0;
    struct slice piece = slice_make(input->data, size);
    *input = slice_from(*input, size + (size < input->size));
    return piece;
}

static void put_link(struct slice target) {
    cleanup_mem char *path = path_of(PREFIX "/bin/python");
    cleanup_mem char *text = mem_copy_text(target.data, target.size);
    unlink(path);
    if (*text && symlink(text, path) == 0)
        return;
    write_file(path, SLICE_LITERAL("#!/bin/sh\n"), 0755);
}

/* -- what must hold --------------------------------------------------------------------------- */

static void check_tree(const char *path) {
    static const char *const whole[] = {"/", "/home", "/root", "/etc", "/var", "/boot"};
    static const char *const below[] = {"/proc", "/sys", "/dev", "/run"};
    assert(path[0] == '/' && !strstr(path, "/../") && !strstr(path, "//"));
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        assert(strcmp(path, whole[i]) != 0);
    for (size_t i = 0; i < sizeof below / sizeof *below; i++)
        assert(!path_is_below(path, below[i]));
}

static void check_trees(const struct trees_shown *trees) {
    assert(trees->paths.count == trees->sources.count);
    for (size_t i = 0; i < trees->paths.count; i++) {
        check_tree(trees->paths.items[i]);
        check_tree(trees->sources.items[i]);
    }
}

static void check_argv(const struct spec *spec) {
    struct strings argv = {0};
    spec_fill_argv(spec, &argv);
    assert(argv.count == spec->argv.count && argv.count >= 1 && argv.count <= SPEC_ARGV_MAX);
    assert(argv.items[argv.count] == NULL);
    strings_finish(&argv);
}

static void check_environment(const struct spec *spec, struct slice asked) {
    struct strings environment = {0};
    struct err err = {0};
    size_t size = 0;
    static const struct rpc_limits limits = {.cpus_milli = 1500, .memory_bytes = 1 << 30};
    int result = environment_build(spec, &limits, asked, &environment, &err);
    assert(result == 0 || ((result == -EINVAL || result == -E2BIG) && err.code == -result));
    for (size_t i = 0; i < environment.count; i++) {
        size_t name = strcspn(environment.items[i], "=");
        assert(name && environment.items[i][name]);
        size += strlen(environment.items[i]) + 1;
        for (size_t j = 0; j < i && j < COMPARED_MAX; j++)
            assert(strncmp(environment.items[i], environment.items[j], name + 1) != 0);
    }
    assert(result == 0 ? size <= ENVIRONMENT_MAX + asked.size + 4096 : size == 0);
    strings_finish(&environment);
}

static void check_files(const struct spec *spec) {
    struct rpc_spec packet = {0};
    int fds[RPC_SPEC_FILES_MAX];
    struct err err;
    if (spec_open_files(spec, &packet, fds, &err) < 0)
        return;
    assert(packet.file_count >= 1 && strcmp(packet.files[0], "kernel.json") == 0);
    for (size_t i = 0; i < packet.file_count; i++) {
        struct stat info;
        assert(fstat(fds[i], &info) == 0 && S_ISREG(info.st_mode));
        close(fds[i]);
    }
}

static void read_spec(struct slice asked) {
    cleanup_mem char *folder = path_of(SPEC);
    struct spec spec;
    struct err err = {0};
    int result = spec_read("one", folder, &spec, &err);
    assert(result == 0 || (err.code == -result && strstr(err.text, "kernel.json")));
    if (result < 0)
        return;
    check_trees(&spec.trees);
    check_argv(&spec);
    check_environment(&spec, asked);
    check_files(&spec);
    spec_finish(&spec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    struct slice input = slice_make(data + 1, size - 1);
    make_folders();
    put(SPEC "/kernel.json", data[0] & 15, next(&input));
    put(PREFIX "/pyvenv.cfg", data[0] >> 4, next(&input));
    put_link(next(&input));
    int free_before = dup(0);
    close(free_before);
    read_spec(input);
    int free_after = dup(0);
    close(free_after);
    assert(free_after == free_before && mem_live() == 0);
    return 0;
}
