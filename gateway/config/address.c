/* address - a resolved address as a socket wants it. */
#include <arpa/inet.h>
#include <assert.h>
#include <string.h>

#include "config/params.h"

void params_address_socket(const struct params_address *address,
                           struct sockaddr_storage *ret_socket, socklen_t *ret_size) {
    struct sockaddr_in ipv4 = {.sin_family = AF_INET, .sin_port = htons(address->port)};
    struct sockaddr_in6 ipv6 = {.sin6_family = AF_INET6, .sin6_port = htons(address->port)};
    void *host = address->is_ipv6 ? (void *)&ipv6.sin6_addr : (void *)&ipv4.sin_addr;
    int parsed = inet_pton(address->is_ipv6 ? AF_INET6 : AF_INET, address->host, host);
    assert(parsed == 1 && "only params_load and params_read_fd make addresses");
    (void)parsed;
    memset(ret_socket, 0, sizeof *ret_socket);
    *ret_size = address->is_ipv6 ? sizeof ipv6 : sizeof ipv4;
    memcpy(ret_socket, address->is_ipv6 ? (void *)&ipv6 : (void *)&ipv4, *ret_size);
}
