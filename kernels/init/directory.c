/* directory - see directory.h. Its one complication: a jail's root, and what only leads to trees
 * that are shown (/home, /opt), is there but is nobody's place to work in. All of it is one file
 * system, the root's. */
#include "init/directory.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_shown(void) {
    struct stat root, here;
    return stat("/", &root) == 0 && stat(".", &here) == 0 && here.st_dev != root.st_dev;
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
    char part[PATH_MAX];
    size_t whole = strlen(path), size = whole;
    int home = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (home < 0 || size >= sizeof part)
        return;
    memcpy(part, path, size);
    for (; size; size = cut_last(part, size)) {
        part[size] = 0;
        if (chdir(part) < 0)
            continue;
        if (access(".", W_OK) == 0 || (size == whole && is_shown()) || fchdir(home) < 0)
            return;
    }
}
