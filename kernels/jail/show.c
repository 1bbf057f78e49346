/* show - a tree of the host as a read-only overlay of its own: its files are other inodes than the
 * host's and than those of other sessions, so inotify and file locks on them meet nobody.
 *
 * Its one complication: an overlay shows one mount of one file system. A tree with mounts below it,
 * a single file, and a file system that cannot lie below an overlay are bound instead. Layers are
 * named by descriptor: no character in a path matters then, no link can be put in the way after it
 * was opened, and mountinfo inside says nothing of the host's paths. */
#include "jail/show.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "jail/attach.h"

enum { SHOWN = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV };

int show_read_mounts(struct text *ret_mounts, struct err *err) {
    cleanup_fd int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    char block[8192];
    ssize_t size;
    while ((size = read(fd, block, sizeof block)) > 0)
        text_append(ret_mounts, slice_make(block, (size_t)size));
    return size < 0 ? err_errno(err, errno, "read the list of mounts") : 0;
}

/* path as mountinfo writes it (seq_path of the kernel), with a "/" behind it. */
static void escape(const char *path, struct text *ret_escaped) {
    for (; *path; path++)
        if (strchr(" \t\n\\", *path))
            text_append_format(ret_escaped, "\\%03o", (unsigned char)*path);
        else
            text_append(ret_escaped, slice_make(path, 1));
    text_append_text(ret_escaped, "/");
}

/* The fifth field of a line: the mount point (proc(5)). */
static const char *point_of(const char *line) {
    for (int field = 1; field < 5; field++)
        line += strcspn(line, " ") + 1;
    return line;
}

static bool is_mounted_below(const struct text *mounts, const char *path) {
    cleanup_text struct text prefix = {0};
    escape(path, &prefix);
    for (const char *line = mounts->data; line && *line; line = strchr(line, '\n') + 1)
        if (strncmp(point_of(line), prefix.data, prefix.size) == 0)
            return true;
    return false;
}

/* -EXDEV or -ENOTDIR where an overlay would not show all that a bind shows. */
static int check_whole(const struct jail_build *build, int source_fd, const char *layer,
                       struct err *err) {
    struct stat info;
    char path[PATH_MAX];
    ssize_t size = readlink(layer, path, sizeof path - 1);
    if (size < 0 || fstat(source_fd, &info) < 0)
        return err_errno(err, errno, "look at it");
    path[size] = 0;
    if (!S_ISDIR(info.st_mode))
        return err_set(err, ENOTDIR, "it is no folder");
    if (is_mounted_below(&build->mounts, path))
        return err_set(err, EXDEV, "something is mounted below it");
    return 0;
}

int show_make_overlay(const struct jail_build *build, int source_fd, int *ret_fd, struct err *err) {
    char layers[64], layer[32];
    snprintf(layer, sizeof layer, "/proc/self/fd/%d", source_fd);
    /* Without an upper layer there must be two lower ones. */
    snprintf(layers, sizeof layers, "%s:/proc/self/fd/%d", layer, build->empty_fd);
    int result = check_whole(build, source_fd, layer, err);
    if (result < 0)
        return result;
    cleanup_fd int fs = fsopen("overlay", FSOPEN_CLOEXEC);
    if (fs < 0 || fsconfig(fs, FSCONFIG_SET_STRING, "lowerdir", layers, 0) < 0 ||
        fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return err_errno(err, errno, "make an overlay");
    int fd = fsmount(fs, FSMOUNT_CLOEXEC, SHOWN);
    if (fd < 0)
        return err_errno(err, errno, "fsmount an overlay");
    *ret_fd = fd;
    return 0;
}

static int show(const struct jail_build *build, int source_fd, const char *path, struct err *err) {
    cleanup_fd int overlay = -1;
    if (show_make_overlay(build, source_fd, &overlay, NULL) < 0)
        return attach_clone(build->root_fd, source_fd, path, SHOWN, err);
    return attach_mount(build->root_fd, overlay, path, err);
}

int show_open(const char *source, int *ret_fd, struct err *err) {
    struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                           .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    int fd = (int)syscall(SYS_openat2, AT_FDCWD, source, &how, sizeof how);
    if (fd < 0)
        return err_errno(err, errno, "show %s", source);
    *ret_fd = fd;
    return 0;
}

int show_tree(const struct jail_build *build, const char *source, const char *path,
              struct err *err) {
    cleanup_fd int fd = -1;
    int result = show_open(source, &fd, NULL);
    /* By its path inside: clients read this sentence. */
    return result < 0 ? err_errno(err, -result, "show %s", path) : show(build, fd, path, err);
}

int show_system(const struct jail_build *build, const char *path, struct err *err) {
    cleanup_fd int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : err_errno(err, errno, "show %s", path);
    return show(build, fd, path, err);
}
