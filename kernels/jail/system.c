/* system - /usr, read-only, and the names by which parts of it are known elsewhere. */
#include <errno.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jail/attach.h"
#include "jail/show.h"
#include "jail/steps.h"

/* Links into /usr where /usr is merged (all of Debian 12 and later), folders elsewhere. */
static const char *const beside_usr[] = {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};

static int show_beside(const struct jail_build *build, const char *path, struct err *err) {
    char target[256];
    ssize_t size = readlink(path, target, sizeof target - 1);
    if (size > 0) {
        target[size] = 0;
        return attach_link(build->root_fd, path, target, err);
    }
    return show_system(build, path, err);
}

static int enter(struct jail_build *build, struct err *err) {
    int result = show_system(build, "/usr", err);
    for (size_t i = 0; result == 0 && i < sizeof beside_usr / sizeof beside_usr[0]; i++)
        result = show_beside(build, beside_usr[i], err);
    return result;
}

const struct jail_step step_system = {"system", enter};

static int enter_trees(struct jail_build *build, struct err *err) {
    const struct jail_plan *plan = build->plan;
    int result = 0;
    for (size_t i = 0; result == 0 && i < plan->tree_count; i++)
        result = show_tree(build, plan->tree_sources[i], plan->trees[i], err);
#ifdef CELLBLOCK_TESTS
    /* Where programs of a test build say how they ended, those in jails too. */
    static const char reports[] = CELLBLOCK_REPORT_DIR;
    if (result == 0 && reports[0])
        result = attach_host(build->root_fd, reports,
                             MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, err);
#endif
    return result;
}

const struct jail_step step_trees = {"trees", enter_trees};
