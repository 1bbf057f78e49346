#include "folder.h"

#include <assert.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static char path[] = "/tmp/fuzz-warden-XXXXXX";

static int remove_one(const char *name, const struct stat *info, int kind, struct FTW *where) {
    (void)info, (void)kind, (void)where;
    return remove(name);
}

void folder_remove(const char *name) {
    nftw(name, remove_one, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

static void remove_all(void) {
    folder_remove(path);
}

const char *folder_path(void) {
    static bool is_made;
    if (!is_made) {
        char *made = mkdtemp(path);
        assert(made);
        (void)made;
        atexit(remove_all);
        is_made = true;
    }
    return path;
}
