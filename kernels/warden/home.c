/* home - see home.h. Its one complication: root reads here what the environment's owner may change,
 * so a link, or a second name of a file that is somebody else's, must not be followed. */
#include "warden/home.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

struct copy {
    uid_t owner; /* of the skeleton */
    uid_t user;
    size_t bytes;
    unsigned entries;
    unsigned depth;
};

static int copy_content(struct copy *copy, int from, int to, struct err *err) {
    ssize_t size;
    while ((size = sendfile(to, from, NULL, HOME_BYTES_MAX)) > 0) {
        copy->bytes += (size_t)size;
        if (copy->bytes > HOME_BYTES_MAX)
            return err_set(err, EFBIG, "more than %d bytes", HOME_BYTES_MAX);
    }
    return size < 0 ? err_errno(err, errno, "write") : 0;
}

static int copy_file(struct copy *copy, int from_folder, int to_folder, const char *name,
                     struct err *err) {
    cleanup_fd int from = openat(from_folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat info;
    if (from < 0 || fstat(from, &info) < 0)
        return err_errno(err, errno, "open");
    if (!S_ISREG(info.st_mode) || info.st_uid != copy->owner)
        return 0;
    cleanup_fd int to = openat(to_folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (to < 0 || fchown(to, copy->user, copy->user) < 0)
        return err_errno(err, errno, "make");
    return copy_content(copy, from, to, err);
}

static int copy_folder(struct copy *copy, int from, int to, struct err *err);

static int copy_below(struct copy *copy, int from_folder, int to_folder, const char *name,
                      struct err *err) {
    if (++copy->depth > HOME_DEPTH_MAX)
        return err_set(err, ELOOP, "more than %d folders in one another", HOME_DEPTH_MAX);
    const int how = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    cleanup_fd int from = openat(from_folder, name, how);
    if (from < 0 || mkdirat(to_folder, name, 0755) < 0)
        return err_errno(err, errno, "make");
    cleanup_fd int to = openat(to_folder, name, how);
    if (to < 0 || fchown(to, copy->user, copy->user) < 0)
        return err_errno(err, errno, "make");
    int result = copy_folder(copy, from, to, err);
    copy->depth--;
    return result;
}

static int copy_entry(struct copy *copy, int from, int to, const char *name, struct err *err) {
    struct stat info;
    if (fstatat(from, name, &info, AT_SYMLINK_NOFOLLOW) < 0)
        return err_errno(err, errno, "stat");
    if (++copy->entries > HOME_ENTRIES_MAX)
        return err_set(err, EFBIG, "more than %d files and folders", HOME_ENTRIES_MAX);
    if (S_ISDIR(info.st_mode))
        return copy_below(copy, from, to, name, err);
    return S_ISREG(info.st_mode) ? copy_file(copy, from, to, name, err) : 0;
}

static bool is_dots(const char *name) {
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int copy_folder(struct copy *copy, int from, int to, struct err *err) {
    int own = fcntl(from, F_DUPFD_CLOEXEC, 0);
    DIR *folder = own < 0 ? NULL : fdopendir(own);
    if (!folder)
        return err_errno(err, errno, "read");
    int result = 0;
    for (const struct dirent *entry; result == 0 && (entry = readdir(folder));) {
        if (is_dots(entry->d_name))
            continue;
        result = copy_entry(copy, from, to, entry->d_name, err);
        if (result < 0)
            err_wrap(err, "%s", entry->d_name);
    }
    closedir(folder);
    return result;
}

int home_fill(int workspace_fd, const char *prefix, uid_t user, struct err *err) {
    if (!prefix[0])
        return 0;
    cleanup_mem char *path = mem_format("%s/share/cellblock/home", prefix);
    cleanup_fd int from = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat info;
    if (from < 0 && errno == ENOENT)
        return 0;
    if (from < 0 || fstat(from, &info) < 0)
        return err_errno(err, errno, "open %s", path);
    struct copy copy = {.owner = info.st_uid, .user = user};
    int result = copy_folder(&copy, from, workspace_fd, err);
    return result < 0 ? err_wrap(err, "fill the workspace from %s", path) : 0;
}
