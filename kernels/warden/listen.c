#include "warden/listen.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "config/number.h"

static int open_socket(const struct params_address *address) {
    return socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

static int bind_to(int fd, const struct params_address *address) {
    return bind(fd, &address->any, address->size) < 0 ? -errno : 0;
}

/* -- TCP -------------------------------------------------------------------------------------- */

/* What a program on this machine reaches, where all addresses are listened on. */
static void make_reachable(struct params_address *address) {
    if (address->any.sa_family == AF_INET && address->ipv4.sin_addr.s_addr == INADDR_ANY)
        address->ipv4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    else if (address->any.sa_family == AF_INET6 &&
             IN6_IS_ADDR_UNSPECIFIED(&address->ipv6.sin6_addr))
        address->ipv6.sin6_addr = in6addr_loopback;
}

static char *url_of(int fd, const struct params *params) {
    struct params_address bound = {.size = sizeof bound.local};
    getsockname(fd, &bound.any, &bound.size);
    make_reachable(&bound);
    cleanup_mem char *place = params_address_print(&bound);
    return mem_format("%s://%s%s", *params->certfile ? "https" : "http", place, params->base_url);
}

static int bind_tcp(struct listener *listener, const struct params_address *address,
                    const struct params *params, struct err *err) {
    const int yes = 1;
    cleanup_mem char *place = params_address_print(address);
    if (setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) < 0)
        return err_errno(err, errno, "make the listening socket");
    int result = bind_to(listener->fd, address);
    if (result < 0)
        return err_errno(err, -result, "bind %s", place);
    listener->url = url_of(listener->fd, params);
    return 0;
}

/* -- unix ------------------------------------------------------------------------------------- */

/* Takes away the file of a socket that nobody holds any more. A server that comes up holds one on
 * which it does not listen yet, so the question is of another type: whoever holds a stream socket,
 * listening or not, makes it fail by its type (EPROTOTYPE), before anybody is troubled. */
static int remove_stale(const struct params_address *address, struct err *err) {
    const char *path = address->local.sun_path;
    struct stat info;
    if (lstat(path, &info) < 0)
        return errno == ENOENT ? 0 : err_errno(err, errno, "look at %s", path);
    if (!S_ISSOCK(info.st_mode))
        return err_set(err, EEXIST, "%s is there and no socket", path);
    cleanup_fd int probe = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe < 0)
        return err_errno(err, errno, "make a socket");
    if (connect(probe, &address->any, address->size) == 0 || errno != ECONNREFUSED)
        return err_set(err, EADDRINUSE, "%s: another server answers there", path);
    return unlink(path) < 0 ? err_errno(err, errno, "remove the old %s", path) : 0;
}

static int find_group(const char *name, gid_t *ret_group, struct err *err) {
    uint64_t number;
    struct group *group;
    if (number_read(name, number_plain, &number) && number < UINT32_MAX)
        *ret_group = (gid_t)number;
    else if ((group = getgrnam(name)))
        *ret_group = group->gr_gid;
    else
        return err_set(err, EINVAL, "socket_group: there is no group %s", name);
    return 0;
}

/* The file that bind has just made, by a descriptor: what its folder's owner puts in its place
 * from here on is not touched by root. No other socket of ours has no permission at all. */
static int note_file(struct listener *listener, const char *path, int *ret_file, struct err *err) {
    struct stat info;
    cleanup_fd int file = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0 || fstat(file, &info) < 0)
        return err_errno(err, errno, "look at it");
    if (!S_ISSOCK(info.st_mode) || info.st_mode & 07777 || info.st_uid != geteuid())
        return err_set(err, EBUSY, "somebody put another file there");
    listener->path = mem_strdup(path);
    listener->device = info.st_dev;
    listener->inode = info.st_ino;
    *ret_file = take_fd(&file);
    return 0;
}

/* Nobody can connect before the file has its group and mode: it is made without any. */
static int settle_file(int file, const struct params *params, struct err *err) {
    cleanup_mem char *through = mem_format("/proc/self/fd/%d", file);
    gid_t group = (gid_t)-1;
    int result = *params->socket_group ? find_group(params->socket_group, &group, err) : 0;
    if (result < 0)
        return result;
    if (fchownat(file, "", (uid_t)-1, group, AT_EMPTY_PATH) < 0 ||
        chmod(through, params->socket_mode) < 0)
        return err_errno(err, errno, "set its mode");
    return 0;
}

/* As Jupyter writes it: http+unix:// and the path, percent-encoded. */
static char *url_of_path(const char *path) {
    struct text url = {0};
    text_append_text(&url, "http+unix://");
    for (; *path; path++)
        text_append_format(&url,
                           isalnum((unsigned char)*path) || strchr("-._~", *path) ? "%c" : "%%%02X",
                           (unsigned char)*path);
    return url.data;
}

static int bind_unix(struct listener *listener, const struct params_address *address,
                     const struct params *params, struct err *err) {
    const char *path = address->local.sun_path;
    int result = remove_stale(address, err);
    if (result < 0)
        return result;
    mode_t before = umask(0777);
    result = bind_to(listener->fd, address);
    umask(before);
    if (result < 0)
        return err_errno(err, -result, "bind %s", path);
    cleanup_fd int file = -1;
    result = note_file(listener, path, &file, err);
    if (result == 0)
        result = settle_file(file, params, err);
    listener->url = url_of_path(path);
    return result < 0 ? err_wrap(err, "%s", path) : 0;
}

/* -- all of them ------------------------------------------------------------------------------ */

static int bind_one(struct listener *listener, const struct params_address *address,
                    const struct params *params, struct err *err) {
    listener->fd = open_socket(address);
    if (listener->fd < 0)
        return err_errno(err, errno, "make the listening socket");
    return address->any.sa_family == AF_UNIX ? bind_unix(listener, address, params, err)
                                             : bind_tcp(listener, address, params, err);
}

int listeners_bind(struct listeners *listeners, const struct params *params, struct err *err) {
    int result = 0;
    for (size_t i = 0; result == 0 && i < params->listen.count; i++) {
        struct params_address address;
        result = params_address_read(params->listen.items[i], &address, err);
        if (result == 0)
            result = bind_one(&listeners->items[listeners->count++], &address, params, err);
    }
    return result;
}

/* Another server may have made one of the same name meanwhile. */
static void remove_file(const struct listener *listener) {
    struct stat info;
    if (lstat(listener->path, &info) == 0 && info.st_dev == listener->device &&
        info.st_ino == listener->inode)
        unlink(listener->path);
}

void listeners_finish(struct listeners *listeners) {
    for (size_t i = 0; i < listeners->count; i++) {
        struct listener *listener = &listeners->items[i];
        if (listener->path)
            remove_file(listener);
        cleanup_fd_at(&listener->fd);
        mem_free(listener->path);
        mem_free(listener->url);
    }
    listeners->count = 0;
}
