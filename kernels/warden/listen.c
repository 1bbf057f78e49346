#include "warden/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

/* Where a program on this machine reaches the address. */
static const char *reachable(const char *host) {
    if (strcmp(host, "0.0.0.0") == 0)
        return "127.0.0.1";
    return strcmp(host, "::") == 0 ? "::1" : host;
}

static char *url_of(const struct params *params, int fd) {
    const struct params_address *address = &params->listen;
    struct sockaddr_storage bound = {0};
    socklen_t size = sizeof bound;
    getsockname(fd, (struct sockaddr *)&bound, &size);
    /* The port stands at the same place in both kinds of address. */
    unsigned port = ntohs(((struct sockaddr_in *)&bound)->sin_port);
    return mem_format(address->is_ipv6 ? "%s://[%s]:%u" : "%s://%s:%u",
                      *params->certfile ? "https" : "http", reachable(address->host), port);
}

int listen_bind(const struct params *params, int *ret_fd, char **ret_url, struct err *err) {
    const struct params_address *address = &params->listen;
    struct sockaddr_storage wanted = {0};
    socklen_t size = 0;
    params_address_socket(address, &wanted, &size);
    cleanup_fd int fd = socket(wanted.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int yes = 1;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) < 0)
        return err_errno(err, errno, "make the listening socket");
    if (bind(fd, (struct sockaddr *)&wanted, size) < 0)
        return err_errno(err, errno, "bind %s port %u", address->host, address->port);
    *ret_url = url_of(params, fd);
    *ret_fd = take_fd(&fd);
    return 0;
}
