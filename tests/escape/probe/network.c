/* network - who can be reached. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "probe/probe.h"

/* Waits a while for an answer, in case packets vanish. */
static int connect_patiently(int fd, const struct sockaddr *address, socklen_t size) {
    if (connect(fd, address, size) == 0 || errno != EINPROGRESS)
        return errno;
    struct pollfd polled = {fd, POLLOUT, 0};
    int error = ETIMEDOUT;
    socklen_t error_size = sizeof error;
    if (poll(&polled, 1, 5000) == 1)
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &error_size);
    return error;
}

static const char *try_connect(const struct sockaddr *address, socklen_t size) {
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return strerrorname_np(errno);
    errno = 0;
    int error = connect_patiently(fd, address, size);
    close(fd);
    return error ? strerrorname_np(error) : "ok";
}

static const char *try_internet(const char *host, int port) {
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    if (inet_pton(AF_INET, host, &v4.sin_addr) == 1)
        return try_connect((struct sockaddr *)&v4, sizeof v4);
    if (inet_pton(AF_INET6, host, &v6.sin6_addr) == 1)
        return try_connect((struct sockaddr *)&v6, sizeof v6);
    return "?";
}

/* connect HOST PORT ...; with "@" a name in the abstract space, whose port is ignored. */
int probe_connect(char **argv) {
    for (char **at = argv + 1; at[0] && at[1]; at += 2) {
        const char *result;
        if (at[0][0] == '@') {
            struct sockaddr_un address = {.sun_family = AF_UNIX};
            strncpy(address.sun_path + 1, at[0] + 1, sizeof address.sun_path - 2);
            result = try_connect((struct sockaddr *)&address,
                                 (socklen_t)(sizeof(sa_family_t) + strlen(at[0])));
        } else {
            result = try_internet(at[0], atoi(at[1]));
        }
        printf("%s %s\n", at[0], result);
    }
    return 0;
}

/* interfaces: the names getifaddrs knows, each once. */
int probe_interfaces(char **argv) {
    (void)argv;
    struct ifaddrs *list;
    const char *previous = "";
    if (getifaddrs(&list) < 0) {
        printf("%s\n", strerrorname_np(errno));
        return 0;
    }
    for (const struct ifaddrs *at = list; at; at = at->ifa_next) {
        if (strcmp(at->ifa_name, previous) != 0)
            printf("%s\n", at->ifa_name);
        previous = at->ifa_name;
    }
    return 0;
}

/* loopback: a server and its client in the jail. */
int probe_loopback(char **argv) {
    (void)argv;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, 4) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) < 0)
        printf("bind %s\n", strerrorname_np(errno));
    int client = socket(AF_INET, SOCK_STREAM, 0);
    printf("%s\n",
           connect(client, (struct sockaddr *)&address, size) < 0 ? strerrorname_np(errno) : "ok");
    return 0;
}
