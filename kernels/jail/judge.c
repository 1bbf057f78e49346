/* judge - how a tree of the host will be shown, found out before any jail does so. In a mount
 * namespace of its own for a moment, because only what is attached in the caller's can become an
 * overlay's layer. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "jail/keep.h"
#include "jail/show.h"

static int try_overlay(struct jail_build *build, const char *source, struct err *err) {
    cleanup_fd int source_fd = -1, overlay = -1;
    int result = step_root.enter(build, err);
    if (result == 0)
        result = show_open(source, &source_fd, err);
    return result < 0 ? result : show_make_overlay(build, source_fd, &overlay, err);
}

int jail_try_overlay(const char *source, struct err *err) {
    struct jail_build build = {.root_fd = -1, .empty_fd = -1};
    cleanup_fd int own = -1;
    int result = keeper_open_own(&own, err);
    if (result < 0)
        return result;
    if (unshare(CLONE_NEWNS) < 0)
        return err_errno(err, errno, "unshare mounts");
    result = try_overlay(&build, source, err);
    /* A warden that cannot go back would show its sessions the wrong files. */
    if (setns(own, CLONE_NEWNS) < 0)
        abort();
    cleanup_fd_at(&build.root_fd);
    cleanup_fd_at(&build.empty_fd);
    text_finish(&build.mounts);
    return result;
}
