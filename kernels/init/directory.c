/* directory - see directory.h. Its one complication: a jail's root, and what only leads to trees
 * that are shown (/home, /opt), is there but is nobody's place to work in. All of it is one file
 * system, the root's. */
#include "init/directory.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_shown(void) {
    struct stat root, here;
    return stat("/", &root) == 0 && stat(".", &here) == 0 && here.st_dev != root.st_dev;
}

static bool is_below(const char *home) {
    char here[PATH_MAX];
    size_t size = strlen(home);
    return getcwd(here, sizeof here) && strncmp(here, home, size) == 0 &&
           (here[size] == '/' || here[size] == 0);
}

/* The size of path without its last part; 0 where that was all, the root too. */
static size_t cut_last(const char *path, size_t size) {
    while (size && path[size - 1] == '/')
        size--;
    while (size && path[size - 1] != '/')
        size--;
    while (size && path[size - 1] == '/')
        size--;
    return size;
}

void directory_enter(const char *path) {
    char part[PATH_MAX], home[PATH_MAX];
    size_t whole = strlen(path), size = whole;
    if (size >= sizeof part || !getcwd(home, sizeof home))
        return;
    memcpy(part, path, size);
    for (; size; size = cut_last(part, size)) {
        part[size] = 0;
        if (chdir(part) < 0)
            continue;
        if ((size == whole && is_shown()) || is_below(home) || chdir(home) < 0)
            return;
    }
}
