#include "warden/spec.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "warden/small_file.h"

void spec_finish(struct spec *spec) {
    mem_free(spec->name);
    mem_free(spec->folder);
    mem_free(spec->prefix);
    mem_free(spec->bin);
    strings_finish(&spec->argv);
    strings_finish(&spec->env);
    trees_shown_finish(&spec->trees);
    *spec = (struct spec){0};
}

/* A string without NUL, which exec could not carry. */
static const char *plain_text(const json_t *value) {
    const char *text = json_string_value(value);
    return text && strlen(text) == json_string_length(value) ? text : NULL;
}

static int take_argv(const json_t *root, struct strings *argv, struct err *err) {
    const json_t *array = json_object_get(root, "argv");
    size_t count = json_array_size(array);
    if (count < 1 || count > SPEC_ARGV_MAX)
        return err_set(err, EINVAL, "argv is no list of 1 to %d texts", SPEC_ARGV_MAX);
    for (size_t i = 0; i < count; i++) {
        const char *text = plain_text(json_array_get(array, i));
        if (!text || (i == 0 && !*text))
            return err_set(err, EINVAL, "argv[%zu] is no text", i);
        strings_add(argv, text);
    }
    return 0;
}

static int take_env(const json_t *root, struct strings *env, struct err *err) {
    json_t *object = json_object_get(root, "env");
    if (object && !json_is_object(object))
        return err_set(err, EINVAL, "env is no object");
    if (json_object_size(object) > SPEC_ENV_MAX)
        return err_set(err, EINVAL, "env has more than %d variables", SPEC_ENV_MAX);
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value) {
        const char *text = plain_text(value);
        if (!text || !*name || strchr(name, '='))
            return err_set(err, EINVAL, "env.%s is no text", name);
        strings_assign_take(env, mem_format("%s=%s", name, text));
    }
    return 0;
}

static int take_trees(const json_t *root, struct trees_shown *trees, struct err *err) {
    const json_t *metadata = json_object_get(root, "metadata");
    const json_t *list = json_object_get(json_object_get(metadata, "cellblock"), "trees");
    if (list && !json_is_array(list))
        return err_set(err, EINVAL, "metadata.cellblock.trees is no list");
    if (json_array_size(list) > SPEC_TREES_MAX)
        return err_set(err, EINVAL, "metadata.cellblock.trees has more than %d paths",
                       SPEC_TREES_MAX);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *path = plain_text(json_array_get(list, i));
        if (!path || path[0] != '/')
            return err_set(err, EINVAL, "metadata.cellblock.trees[%zu] is no absolute path", i);
        int result = trees_shown_add(trees, path, err);
        if (result < 0)
            return result;
    }
    return 0;
}

static int take_transport(const json_t *root, enum rpc_transport *ret_transport, struct err *err) {
    const json_t *ours = json_object_get(json_object_get(root, "metadata"), "cellblock");
    const json_t *value = json_object_get(ours, "transport");
    const char *name = json_string_value(value);
    bool is_tcp = name && strcmp(name, "tcp") == 0;
    if (value && !is_tcp && !(name && strcmp(name, "ipc") == 0))
        return err_set(err, EINVAL, "metadata.cellblock.transport is neither ipc nor tcp");
    *ret_transport = is_tcp ? RPC_TRANSPORT_TCP : RPC_TRANSPORT_IPC;
    return 0;
}

/* PREFIX of PREFIX/share/jupyter/kernels/NAME; NULL where it is another path. */
static char *prefix_in(const char *folder) {
    static const char below[] = "/share/jupyter/kernels/";
    const char *at = NULL;
    for (const char *next = folder; (next = strstr(next, below)); next++)
        at = next;
    return at ? mem_copy_text(folder, (size_t)(at - folder)) : NULL;
}

/* A folder of links to kernelspecs is no environment: theirs are. */
static char *prefix_of(const char *folder) {
    char real[PATH_MAX];
    char *prefix = realpath(folder, real) ? prefix_in(real) : NULL;
    if (!prefix)
        prefix = prefix_in(folder);
    return prefix ? prefix : mem_strdup("");
}

static bool is_program(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

/* The absolute path of a program that is named by a bare word; NULL where there is none. */
static char *find_program(const char *word, const char *prefix) {
    const char *folders[] = {prefix, "/usr/local", "/usr", ""};
    for (size_t i = prefix[0] ? 0 : 1; i < sizeof folders / sizeof folders[0]; i++) {
        char *path = mem_format("%s/bin/%s", folders[i], word);
        if (is_program(path))
            return path;
        mem_free(path);
    }
    return NULL;
}

static void resolve_program(struct spec *spec) {
    assert(spec->argv.count > 0);
    char **word = &spec->argv.items[0];
    if (strchr(*word, '/'))
        return;
    char *path = find_program(*word, spec->prefix);
    if (!path)
        return;
    mem_free(*word);
    *word = path;
}

static int take_all(const json_t *root, struct spec *spec, struct err *err) {
    int result = take_argv(root, &spec->argv, err);
    if (result == 0)
        result = take_env(root, &spec->env, err);
    if (result == 0)
        result = trees_shown_add(&spec->trees, spec->folder, err);
    if (result == 0)
        result = take_trees(root, &spec->trees, err);
    if (result == 0)
        result = take_transport(root, &spec->transport, err);
    if (result < 0)
        return result;
    resolve_program(spec);
    return trees_shown_add_program(&spec->trees, spec->argv.items[0], &spec->bin, err);
}

int spec_read(const char *name, const char *folder, struct spec *ret_spec, struct err *err) {
    cleanup_mem char *path = mem_format("%s/kernel.json", folder);
    cleanup_text struct text text = {0};
    int result = small_file_read(path, SPEC_JSON_MAX, &text, err);
    if (result < 0)
        return result;
    json_error_t problem;
    json_t *root = json_loadb(text.data ? text.data : "", text.size, 0, &problem);
    if (!root)
        return err_set(err, EINVAL, "%s: line %d: %s", path, problem.line, problem.text);
    struct spec spec = {.name = mem_strdup(name),
                        .folder = mem_strdup(folder),
                        .prefix = prefix_of(folder),
                        .bin = mem_strdup("")};
    result = take_all(root, &spec, err);
    json_decref(root);
    if (result < 0) {
        spec_finish(&spec);
        return err_wrap(err, "%s", path);
    }
    *ret_spec = spec;
    return 0;
}

static const char *const file_names[] = {
    "kernel.json", "logo-32x32.png", "logo-64x64.png", "logo-svg.svg", "kernel.js", "kernel.css",
};

/* The folder's owner may not show, by a link, what is somebody else's: the warden reads all. */
static bool is_theirs(const struct stat *folder, const struct stat *file) {
    return folder->st_uid == 0 || folder->st_uid == file->st_uid;
}

static int open_regular(int folder_fd, const char *name) {
    cleanup_fd int fd = openat(folder_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat info, folder;
    bool is_good = fd >= 0 && fstat(fd, &info) == 0 && fstat(folder_fd, &folder) == 0 &&
                   S_ISREG(info.st_mode) && is_theirs(&folder, &info);
    return is_good ? take_fd(&fd) : -1;
}

int spec_open_files(const struct spec *spec, struct rpc_spec *packet, int *ret_fds,
                    struct err *err) {
    cleanup_fd int folder_fd = open(spec->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder_fd < 0)
        return err_errno(err, errno, "open %s", spec->folder);
    packet->file_count = 0;
    for (size_t i = 0; i < sizeof file_names / sizeof file_names[0]; i++) {
        int fd = open_regular(folder_fd, file_names[i]);
        if (fd < 0 && i == 0)
            return err_set(err, ENOENT, "%s/kernel.json is gone, or not its folder's owner's",
                           spec->folder);
        if (fd < 0)
            continue;
        snprintf(packet->files[packet->file_count], sizeof packet->files[0], "%s", file_names[i]);
        ret_fds[packet->file_count++] = fd;
    }
    return 0;
}

/* What stands for {name} in an argv; NULL where the name is none of ours. */
static const char *value_of(const struct spec *spec, struct slice name) {
    if (slice_equal_text(name, "connection_file"))
        return RPC_CONNECTION_FILE;
    if (slice_equal_text(name, "resource_dir"))
        return spec->folder;
    if (slice_equal_text(name, "prefix"))
        return spec->prefix;
    return NULL;
}

/* Longer words are not carried by exec (MAX_ARG_STRLEN of execve(2)), which will say so. */
enum { FILLED_MAX = 128 * 1024 };

/* jupyter_client leaves what it does not know as it stands, so a brace alone is a brace. */
static char *fill(const struct spec *spec, const char *word) {
    struct text filled = {0};
    text_append_text(&filled, "");
    for (const char *at = word; *at && filled.size <= FILLED_MAX;) {
        size_t size = at[0] == '{' ? strcspn(at + 1, "}{") : 0;
        const char *value =
            at[0] == '{' && at[1 + size] == '}' ? value_of(spec, slice_make(at + 1, size)) : NULL;
        if (value) {
            text_append_text(&filled, value);
            at += size + 2;
        } else {
            text_append(&filled, slice_make(at++, 1));
        }
    }
    return filled.data;
}

void spec_fill_argv(const struct spec *spec, struct strings *ret_argv) {
    for (size_t i = 0; i < spec->argv.count; i++)
        strings_add_take(ret_argv, fill(spec, spec->argv.items[i]));
}
