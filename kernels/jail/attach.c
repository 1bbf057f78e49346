#include "jail/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

enum { COPY_STEP = 1 << 20 };

/* Opens a name in a folder without following it; mounts on it are entered. */
static int open_plain(int folder_fd, const char *name, int flags) {
    struct open_how how = {.flags = (uint64_t)(O_PATH | O_NOFOLLOW | O_CLOEXEC | flags),
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    return (int)syscall(SYS_openat2, folder_fd, name, &how, sizeof how);
}

/* Goes from *folder_fd into name, which is made where it is missing. */
static int descend(int *folder_fd, const char *name) {
    if (mkdirat(*folder_fd, name, 0755) < 0 && errno != EEXIST)
        return -errno;
    int next = open_plain(*folder_fd, name, O_DIRECTORY);
    if (next < 0)
        return -errno;
    close(*folder_fd);
    *folder_fd = next;
    return 0;
}

static int walk(int root_fd, const char *path, int *ret_fd) {
    cleanup_fd int at = open_plain(root_fd, ".", O_DIRECTORY);
    if (at < 0)
        return -errno;
    while (*(path += strspn(path, "/"))) {
        char name[NAME_MAX + 1];
        size_t size = strcspn(path, "/");
        if (size > NAME_MAX)
            return -ENAMETOOLONG;
        memcpy(name, path, size);
        name[size] = 0;
        path += size;
        int result = descend(&at, name);
        if (result < 0)
            return result;
    }
    *ret_fd = take_fd(&at);
    return 0;
}

int attach_folder(int root_fd, const char *path, int *ret_fd, struct err *err) {
    int result = walk(root_fd, path, ret_fd);
    return result < 0 ? err_errno(err, -result, "make %s", path) : 0;
}

/* The folder of path, and path's last name. */
static int open_parent(int root_fd, const char *path, int *ret_fd, const char **ret_name,
                       struct err *err) {
    char parent[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t size = (size_t)(slash - path);
    if (size >= sizeof parent)
        return err_errno(err, ENAMETOOLONG, "make %s", path);
    memcpy(parent, path, size);
    parent[size] = 0;
    *ret_name = slash + 1;
    return attach_folder(root_fd, parent, ret_fd, err);
}

/* An empty file to mount a file on. */
static int open_target_file(int root_fd, const char *path, int *ret_fd, struct err *err) {
    cleanup_fd int folder = -1;
    const char *name = "";
    int result = open_parent(root_fd, path, &folder, &name, err);
    if (result < 0)
        return result;
    if (mknodat(folder, name, S_IFREG | 0444, 0) < 0 && errno != EEXIST)
        return err_errno(err, errno, "make %s", path);
    *ret_fd = open_plain(folder, name, 0);
    return *ret_fd < 0 ? err_errno(err, errno, "open %s", path) : 0;
}

static int move_to(int mount_fd, int target_fd, const char *path, struct err *err) {
    if (move_mount(mount_fd, "", target_fd, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) <
        0)
        return err_errno(err, errno, "mount %s", path);
    return 0;
}

int attach_mount(int root_fd, int mount_fd, const char *path, struct err *err) {
    cleanup_fd int target = -1;
    int result = attach_folder(root_fd, path, &target, err);
    return result < 0 ? result : move_to(mount_fd, target, path, err);
}

/* MS_REMOUNT would leave what is mounted below the source writable. */
static int restrict_all(int mount_fd, const char *path, unsigned long attributes, struct err *err) {
    struct mount_attr set = {.attr_set = attributes};
    if (mount_setattr(mount_fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &set, sizeof set) < 0)
        return err_errno(err, errno, "restrict %s", path);
    return 0;
}

static int clone_to(int root_fd, int source_fd, unsigned depth, const char *path,
                    unsigned long attributes, struct err *err) {
    cleanup_fd int clone =
        open_tree(source_fd, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | depth);
    if (clone < 0)
        return err_errno(err, errno, "show %s", path);
    int result = restrict_all(clone, path, attributes, err);
    if (result < 0)
        return result;
    struct stat info;
    if (fstat(clone, &info) < 0)
        return err_errno(err, errno, "stat %s", path);
    cleanup_fd int target = -1;
    result = S_ISDIR(info.st_mode) ? attach_folder(root_fd, path, &target, err)
                                   : open_target_file(root_fd, path, &target, err);
    return result < 0 ? result : move_to(clone, target, path, err);
}

int attach_clone(int root_fd, int source_fd, const char *path, unsigned long attributes,
                 struct err *err) {
    return clone_to(root_fd, source_fd, AT_RECURSIVE, path, attributes, err);
}

int attach_part(int root_fd, int source_fd, const char *path, unsigned long attributes,
                struct err *err) {
    return clone_to(root_fd, source_fd, 0, path, attributes, err);
}

int attach_host(int root_fd, const char *path, unsigned long attributes, struct err *err) {
    cleanup_fd int source = open(path, O_PATH | O_CLOEXEC);
    if (source < 0)
        return err_errno(err, errno, "show %s", path);
    return attach_clone(root_fd, source, path, attributes, err);
}

static int make_file(int root_fd, const char *path, int *ret_fd, struct err *err) {
    cleanup_fd int folder = -1;
    const char *name = "";
    int result = open_parent(root_fd, path, &folder, &name, err);
    if (result < 0)
        return result;
    cleanup_fd int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0 || fchmod(fd, 0644) < 0)
        return err_errno(err, errno, "make %s", path);
    *ret_fd = take_fd(&fd);
    return 0;
}

int attach_file(int root_fd, const char *path, const char *content, struct err *err) {
    cleanup_fd int fd = -1;
    int result = make_file(root_fd, path, &fd, err);
    if (result < 0)
        return result;
    size_t size = strlen(content);
    if (write(fd, content, size) != (ssize_t)size)
        return err_errno(err, errno, "write %s", path);
    return 0;
}

int attach_copy(int root_fd, const char *path, struct err *err) {
    cleanup_fd int source = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), fd = -1;
    if (source < 0)
        return errno == ENOENT ? 0 : err_errno(err, errno, "open %s", path);
    int result = make_file(root_fd, path, &fd, err);
    if (result < 0)
        return result;
    ssize_t size;
    do
        size = sendfile(fd, source, NULL, COPY_STEP);
    while (size > 0);
    return size < 0 ? err_errno(err, errno, "copy %s", path) : 0;
}

int attach_link(int root_fd, const char *path, const char *target, struct err *err) {
    cleanup_fd int folder = -1;
    const char *name = "";
    int result = open_parent(root_fd, path, &folder, &name, err);
    if (result < 0)
        return result;
    if (symlinkat(target, folder, name) < 0)
        return err_errno(err, errno, "link %s", path);
    return 0;
}

static int set_options(int fs, const char *const *options) {
    for (; options && options[0]; options += 2) {
        int result = options[1] ? fsconfig(fs, FSCONFIG_SET_STRING, options[0], options[1], 0)
                                : fsconfig(fs, FSCONFIG_SET_FLAG, options[0], NULL, 0);
        if (result < 0)
            return -errno;
    }
    return fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0 ? -errno : 0;
}

int attach_new(int root_fd, const char *type, const char *const *options, unsigned long attributes,
               const char *path, struct err *err) {
    cleanup_fd int fs = fsopen(type, FSOPEN_CLOEXEC);
    if (fs < 0)
        return err_errno(err, errno, "fsopen %s", type);
    int result = set_options(fs, options);
    if (result < 0)
        return err_errno(err, -result, "make %s", path);
    cleanup_fd int mount_fd = fsmount(fs, FSMOUNT_CLOEXEC, (unsigned)attributes);
    if (mount_fd < 0)
        return err_errno(err, errno, "fsmount %s", path);
    return attach_mount(root_fd, mount_fd, path, err);
}
