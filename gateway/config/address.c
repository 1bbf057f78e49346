/* address - where the server is reached, from text to what a socket wants. */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "config/number.h"
#include "config/params.h"

static bool read_host(const char *host, size_t size, struct params_address *address) {
    bool bracketed = size >= 2 && host[0] == '[' && host[size - 1] == ']';
    char plain[INET6_ADDRSTRLEN];
    if (size - 2 * bracketed >= sizeof plain)
        return false;
    snprintf(plain, sizeof plain, "%.*s", (int)(size - 2 * bracketed), host + bracketed);
    if (!bracketed && strcmp(plain, "localhost") == 0)
        strcpy(plain, "127.0.0.1");
    address->any.sa_family = bracketed ? AF_INET6 : AF_INET;
    address->size = bracketed ? sizeof address->ipv6 : sizeof address->ipv4;
    return inet_pton(address->any.sa_family, plain,
                     bracketed ? (void *)&address->ipv6.sin6_addr
                               : (void *)&address->ipv4.sin_addr) == 1;
}

static int read_tcp(const char *text, struct params_address *address, struct err *err) {
    const char *colon = strrchr(text, ':');
    uint64_t port;
    if (!colon || !read_host(text, (size_t)(colon - text), address))
        return err_set(err, EINVAL,
                       "\"%.60s\" is not HOST:PORT with a numeric host (IPv6 in brackets) or "
                       "localhost, nor unix:/path",
                       text);
    if (!number_read(colon + 1, number_plain, &port) || port > UINT16_MAX)
        return err_set(err, EINVAL, "\"%.60s\" is not a port from 0 to 65535", colon + 1);
    /* It stands at the same place in both kinds. */
    address->ipv4.sin_port = htons((uint16_t)port);
    return 0;
}

static int read_unix(const char *path, struct params_address *address, struct err *err) {
    if (!*path)
        return err_set(err, EINVAL, "unix: needs a path");
    if (strlen(path) >= sizeof address->local.sun_path)
        return err_set(err, EINVAL, "%zu bytes of path are more than the %zu of a unix socket's",
                       strlen(path), sizeof address->local.sun_path - 1);
    address->any.sa_family = AF_UNIX;
    address->size = sizeof address->local;
    strcpy(address->local.sun_path, path);
    return 0;
}

int params_address_read(const char *text, struct params_address *ret_address, struct err *err) {
    struct params_address address = {0};
    size_t prefix = strlen(PARAMS_UNIX);
    int r = strncmp(text, PARAMS_UNIX, prefix) == 0 ? read_unix(text + prefix, &address, err)
                                                    : read_tcp(text, &address, err);
    if (r == 0)
        *ret_address = address;
    return r;
}

char *params_address_print(const struct params_address *address) {
    char host[INET6_ADDRSTRLEN];
    if (address->any.sa_family == AF_UNIX)
        return mem_format(PARAMS_UNIX "%s", address->local.sun_path);
    bool is_ipv6 = address->any.sa_family == AF_INET6;
    inet_ntop(address->any.sa_family,
              is_ipv6 ? (void *)&address->ipv6.sin6_addr : (void *)&address->ipv4.sin_addr, host,
              sizeof host);
    return mem_format(is_ipv6 ? "[%s]:%u" : "%s:%u", host, ntohs(address->ipv4.sin_port));
}
