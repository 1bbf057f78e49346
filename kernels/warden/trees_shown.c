/* trees_shown - see trees_shown.h. Its one complication: the path by which a tree is named and the
 * path where it really lies may differ by links, and a program may look for itself by either. */
#include "warden/trees_shown.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "warden/small_file.h"

/* In every jail already (kernels/jail/system.c). */
static const char *const always_shown[] = {"/usr",   "/bin",   "/sbin",  "/lib",
                                           "/lib32", "/lib64", "/libx32"};
/* More links than this one behind another are a loop (as for the kernel, path_resolution(7)). */
enum { LINKS_MAX = 40 };
/* A pyvenv.cfg has some lines. */
enum { VENV_FILE_MAX = 64 * 1024 };

/* Never shown as a whole. */
static const char *const refused[] = {"/",    "/home", "/root", "/etc", "/var",
                                      "/run", "/boot", "/proc", "/sys", "/dev"};
/* Nor anything below these. */
static const char *const refused_below[] = {"/proc", "/sys", "/dev", "/run"};

bool path_is_below(const char *path, const char *tree) {
    size_t size = strlen(tree);
    return strncmp(path, tree, size) == 0 && (path[size] == '/' || path[size] == 0);
}

/* A home, or a folder that holds one. */
static bool is_home(const char *path) {
    const char *own = getenv("HOME");
    if (own && own[0] == '/' && path_is_below(own, path))
        return true;
    return strncmp(path, "/home/", 6) == 0 && path[6] && !strchr(path + 6, '/');
}

static int refuse_private(const char *path, struct err *err) {
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        if (strcmp(path, refused[i]) == 0)
            return err_set(err, EPERM, "%s is never shown in a jail", path);
    for (size_t i = 0; i < sizeof refused_below / sizeof refused_below[0]; i++)
        if (path_is_below(path, refused_below[i]))
            return err_set(err, EPERM, "%s is never shown in a jail", path);
    if (is_home(path))
        return err_set(err, EPERM, "%s is a home, which is never shown in a jail", path);
    return 0;
}

static bool is_shown(const struct trees_shown *trees, const char *path) {
    for (size_t i = 0; i < sizeof always_shown / sizeof always_shown[0]; i++)
        if (path_is_below(path, always_shown[i]))
            return true;
    for (size_t i = 0; i < trees->paths.count; i++)
        if (path_is_below(path, trees->paths.items[i]))
            return true;
    return false;
}

/* path without "//", "/./" and a last "/"; NULL where it has a "..". */
static char *normalise(const char *path) {
    char *result = mem_alloc(strlen(path) + 2);
    size_t size = 0;
    for (const char *at = path; *at;) {
        at += strspn(at, "/");
        size_t length = strcspn(at, "/");
        if (length == 2 && strncmp(at, "..", 2) == 0) {
            mem_free(result);
            return NULL;
        }
        if (length && !(length == 1 && at[0] == '.')) {
            result[size++] = '/';
            memcpy(result + size, at, length);
            size += length;
        }
        at += length;
    }
    if (size == 0)
        result[size++] = '/';
    result[size] = 0;
    return result;
}

static void add_one(struct trees_shown *trees, const char *path, const char *source) {
    if (is_shown(trees, path))
        return;
    strings_add(&trees->paths, path);
    strings_add(&trees->sources, source);
}

void trees_shown_finish(struct trees_shown *trees) {
    strings_finish(&trees->paths);
    strings_finish(&trees->sources);
}

void trees_shown_add_all(struct trees_shown *trees, const struct trees_shown *more) {
    for (size_t i = 0; i < more->paths.count; i++) {
        strings_add(&trees->paths, more->paths.items[i]);
        strings_add(&trees->sources, more->sources.items[i]);
    }
}

int trees_shown_add(struct trees_shown *trees, const char *path, struct err *err) {
    char real[PATH_MAX];
    cleanup_mem char *named = normalise(path);
    if (!named)
        return err_set(err, EINVAL, "%s has a \"..\"", path);
    if (!realpath(named, real))
        return err_errno(err, errno, "find %s", named);
    int result = refuse_private(named, err);
    if (result == 0)
        result = refuse_private(real, err);
    if (result < 0)
        return result;
    add_one(trees, named, real);
    add_one(trees, real, real);
    return 0;
}

/* The folder that holds path, once more and again levels up; "/" above the top. */
static char *parent_of(const char *path, int levels) {
    char *parent = mem_strdup(path);
    for (; levels > 0; levels--) {
        char *slash = strrchr(parent, '/');
        slash[slash == parent] = 0;
    }
    return parent;
}

/* Looked for by hand: prefix may hold what a pattern of glob(3) would take for one. */
static bool has_standard_library(const char *prefix) {
    cleanup_mem char *path = mem_format("%s/lib", prefix);
    DIR *folder = opendir(path);
    bool is_found = false;
    for (struct dirent *entry; folder && !is_found && (entry = readdir(folder));) {
        if (strncmp(entry->d_name, "python3.", 8) != 0)
            continue;
        cleanup_mem char *module = mem_format("%s/%s/os.py", path, entry->d_name);
        is_found = access(module, F_OK) == 0;
    }
    if (folder)
        closedir(folder);
    return is_found;
}

/* The value of "home" in PREFIX/pyvenv.cfg (PEP 405); NULL where there is none. Whoever owns the
 * environment wrote it. */
static char *read_venv_home(const char *prefix) {
    cleanup_mem char *path = mem_format("%s/pyvenv.cfg", prefix);
    cleanup_text struct text text = {0};
    if (small_file_read(path, VENV_FILE_MAX, &text, NULL) < 0 || !text.size)
        return NULL;
    char *rest = text.data, *home = NULL;
    for (char *line; !home && (line = strsep(&rest, "\r\n"));) {
        char name[16] = "", value[PATH_MAX] = "";
        if (sscanf(line, " %15[a-z_A-Z] = %4095[^\r\n]", name, value) == 2 &&
            strcmp(name, "home") == 0 && value[0] == '/')
            home = mem_strdup(value);
    }
    return home;
}

/* Where program lies in a Python's bin folder: that Python's prefix and base prefix. */
static int add_python(struct trees_shown *trees, const char *program, char **ret_bin,
                      struct err *err) {
    cleanup_mem char *prefix = parent_of(program, 2);
    if (strcmp(prefix, "/") == 0)
        return 0;
    cleanup_mem char *home = read_venv_home(prefix);
    if (!home && !has_standard_library(prefix))
        return 0;
    if (!(*ret_bin)[0]) {
        mem_free(*ret_bin);
        *ret_bin = parent_of(program, 1);
    }
    int result = trees_shown_add(trees, prefix, err);
    if (result < 0 || !home)
        return result;
    cleanup_mem char *base = parent_of(home, 1);
    return strcmp(base, "/") == 0 ? 0 : trees_shown_add(trees, base, err);
}

/* What the link at path points to, as the real path of its folder and its name, which may be a link
 * again; NULL where path is no link. */
static char *follow(const char *path) {
    char target[PATH_MAX], real[PATH_MAX];
    ssize_t size = readlink(path, target, sizeof target - 1);
    if (size <= 0)
        return NULL;
    target[size] = 0;
    cleanup_mem char *here = parent_of(path, 1);
    cleanup_mem char *next =
        target[0] == '/' ? mem_strdup(target) : mem_format("%s/%s", here, target);
    cleanup_mem char *folder = parent_of(next, 1);
    return realpath(folder, real) ? mem_format("%s%s", real, strrchr(next, '/')) : NULL;
}

/* Each link on the way may be a Python's own: venv/bin/python -> python3 -> base/bin/python3. */
static int add_links(struct trees_shown *trees, const char *program, char **ret_bin,
                     struct err *err) {
    cleanup_mem char *at = mem_strdup(program);
    for (int i = 0; i < LINKS_MAX; i++) {
        int result = add_python(trees, at, ret_bin, err);
        if (result < 0)
            return result;
        char *next = follow(at);
        if (!next)
            return 0;
        mem_free(at);
        at = next;
    }
    return 0;
}

int trees_shown_add_program(struct trees_shown *trees, const char *program, char **ret_bin,
                            struct err *err) {
    if (program[0] != '/' || access(program, F_OK) < 0)
        return 0; /* running it will say so */
    int result = add_links(trees, program, ret_bin, err);
    return result < 0 ? result : trees_shown_add(trees, program, err);
}
