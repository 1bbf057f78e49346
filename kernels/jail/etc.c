/* etc - /etc, written here. Of the host's own only what programs need and nobody keeps secret: the
 * loader's cache, certificates, fonts, the time zone. Folders are shown, files are copied: a file
 * alone cannot have an overlay, and every program of the host opens the loader's cache. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "jail/attach.h"
#include "jail/show.h"
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

/* Where the host has them. */
static const char *const shown[] = {
    "/etc/ssl/certs", "/etc/alternatives",  "/etc/fonts",
    "/etc/R",         "/etc/ImageMagick-6", "/etc/OpenCL",
};
static const char *const copied[] = {
    "/etc/ld.so.cache",     "/etc/services",   "/etc/protocols",
    "/etc/ssl/openssl.cnf", "/etc/mime.types", "/etc/timezone",
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
    return attach_copy(root_fd, path, err);
}

static int take_from_host(const struct jail_build *build, struct err *err) {
    int result = show_localtime(build->root_fd, err);
    for (size_t i = 0; result == 0 && i < sizeof copied / sizeof copied[0]; i++)
        result = attach_copy(build->root_fd, copied[i], err);
    for (size_t i = 0; result == 0 && i < sizeof shown / sizeof shown[0]; i++)
        result = show_system(build, shown[i], err);
    return result;
}

static int enter(struct jail_build *build, struct err *err) {
    int result = write_users(build, err);
    for (size_t i = 0; result == 0 && i < sizeof files / sizeof files[0]; i++)
        result = attach_file(build->root_fd, files[i].path, files[i].content, err);
    return result < 0 ? result : take_from_host(build, err);
}

const struct jail_step step_etc = {"etc", enter};
