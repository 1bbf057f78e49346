/* etc - /etc, written here. Of the host's own only what programs need and nobody keeps secret: the
 * loader's cache, certificates, fonts, the time zone. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "jail/attach.h"
#include "jail/steps.h"

static const struct {
    const char *path, *content;
} files[] = {
    {"/etc/hostname", "cellblock\n"},
    {"/etc/hosts", "127.0.0.1\tlocalhost cellblock\n::1\tlocalhost\n"},
    {"/etc/nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files\n"},
    {"/etc/resolv.conf", ""}, /* there is no network to ask */
    {"/etc/shells", "/bin/sh\n/bin/bash\n"},
};

static const char *const shown[] = {
    "/etc/ld.so.cache",   "/etc/ssl/certs",  "/etc/ssl/openssl.cnf", "/etc/alternatives",
    "/etc/fonts",         "/etc/mime.types", "/etc/timezone",        "/etc/R",
    "/etc/ImageMagick-6", "/etc/OpenCL",
};

static int write_users(const struct jail_build *build, struct err *err) {
    char users[256], groups[256];
    unsigned user = build->plan->user, group = build->plan->group;
    snprintf(users, sizeof users,
             "root:x:0:0:root:/:/usr/sbin/nologin\n"
             "user:x:%u:%u:user:/home/user:/bin/bash\n"
             "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
             user, group);
    snprintf(groups, sizeof groups, "root:x:0:\nuser:x:%u:\nnogroup:x:65534:\n", group);
    int result = attach_file(build->root_fd, "/etc/passwd", users, err);
    return result < 0 ? result : attach_file(build->root_fd, "/etc/group", groups, err);
}

/* A link into /usr/share/zoneinfo on most hosts, a file on others. */
static int show_localtime(int root_fd, struct err *err) {
    static const char path[] = "/etc/localtime";
    char target[256];
    ssize_t size = readlink(path, target, sizeof target - 1);
    target[size > 0 ? size : 0] = 0;
    if (strncmp(target, "/usr/", 5) == 0)
        return attach_link(root_fd, path, target, err);
    if (access(path, F_OK) < 0)
        return 0;
    return attach_host(root_fd, path, path,
                       MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, err);
}

static int show_host_files(int root_fd, struct err *err) {
    int result = 0;
    for (size_t i = 0; result == 0 && i < sizeof shown / sizeof shown[0]; i++)
        if (access(shown[i], F_OK) == 0)
            result = attach_host(root_fd, shown[i], shown[i],
                                 MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, err);
    return result;
}

static int enter(struct jail_build *build, struct err *err) {
    int result = write_users(build, err);
    for (size_t i = 0; result == 0 && i < sizeof files / sizeof files[0]; i++)
        result = attach_file(build->root_fd, files[i].path, files[i].content, err);
    if (result == 0)
        result = show_localtime(build->root_fd, err);
    if (result == 0)
        result = show_host_files(build->root_fd, err);
    return result;
}

const struct jail_step step_etc = {"etc", enter};
