/* bridge - see bridge.h. Its one complication: whatever is in the session may be on either side, so
 * nothing grows: so many pairs, so much of each in between, and no event that cannot be served is
 * polled for. */
#include "init/bridge.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
    /* How often a port is tried: at first while an interpreter starts, later for a slow one. */
    RETRY_FIRST_MS = 5,
    RETRY_MOST_MS = 50,
    /* Where a connection could not be taken, want of descriptors say. */
    PAUSE_MS = 100,
    ANSWER_MS = 10,
    BACKLOG = 16,
};

struct port {
    int listener;    /* -1: there is none yet */
    bool is_blocked; /* its name is taken: whoever took it has no kernel */
};

static struct port ports[BRIDGE_PORTS];
static struct pair pairs[BRIDGE_PAIRS];
static const char *sockets_path; /* NULL: there is no bridge */
static int first_number;
static int retry_ms = RETRY_FIRST_MS;
static int64_t try_at_ms, accept_at_ms; /* 0: not, or at once */

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* -- the kernel's side */

/* A connection to the port; -1 where nobody listens. Even on one machine an answer comes a moment
 * later (connect would only say "in progress"), so it is waited for; a program whose queue is full
 * gives none. */
static int connect_port(int index) {
    static const int on = 1;
    static const struct timeval most = {.tv_usec = ANSWER_MS * 1000};
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)(first_number + index)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

/* -- the unix sockets */

static int open_listener(int index) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s-%d", sockets_path, index + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
        listen(fd, BACKLOG) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static void try_port(int index) {
    struct port *port = &ports[index];
    int fd = connect_port(index);
    if (fd < 0)
        return;
    close(fd);
    port->listener = open_listener(index);
    port->is_blocked = port->listener < 0;
}

/* True where some are left to be tried. */
static bool try_ports(void) {
    bool are_left = false;
    for (int i = 0; i < BRIDGE_PORTS; i++) {
        if (ports[i].listener < 0 && !ports[i].is_blocked)
            try_port(i);
        are_left |= ports[i].listener < 0 && !ports[i].is_blocked;
    }
    return are_left;
}

static struct pair *find_free(void) {
    for (int i = 0; i < BRIDGE_PAIRS; i++)
        if (!pairs[i].is_used)
            return &pairs[i];
    return NULL;
}

/* One at a time, so that nobody waits for long: poll says it again. */
static void take_connection(int index) {
    struct pair *pair = find_free();
    if (!pair)
        return;
    int near = accept4(ports[index].listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (near < 0) {
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
            accept_at_ms = now_ms() + PAUSE_MS;
        return;
    }
    int far = connect_port(index);
    if (far < 0)
        close(near);
    else
        pair_begin_take(pair, near, far);
}

/* -- what main calls */

void bridge_begin(const char *sockets, int first_port) {
    sockets_path = sockets;
    first_number = first_port;
    for (int i = 0; i < BRIDGE_PORTS; i++)
        ports[i].listener = -1;
    try_at_ms = now_ms() + retry_ms;
}

void bridge_fill(struct pollfd ret_polled[BRIDGE_POLLED]) {
    for (int i = 0; i < BRIDGE_POLLED; i++)
        ret_polled[i] = (struct pollfd){-1, POLLIN, 0};
    if (!sockets_path)
        return;
    bool takes = find_free() && !accept_at_ms;
    for (int i = 0; takes && i < BRIDGE_PORTS; i++)
        ret_polled[i].fd = ports[i].listener;
    for (int i = 0; i < BRIDGE_PAIRS; i++)
        if (pairs[i].is_used)
            pair_fill(&pairs[i], ret_polled + BRIDGE_PORTS + (ptrdiff_t)2 * i);
}

int bridge_wait_ms(void) {
    int64_t next = try_at_ms;
    if (accept_at_ms && (!next || accept_at_ms < next))
        next = accept_at_ms;
    if (!next)
        return -1;
    int64_t wait = next - now_ms();
    return wait > 0 ? (int)wait : 0;
}

static void do_what_is_due(void) {
    int64_t now = try_at_ms || accept_at_ms ? now_ms() : 0;
    if (accept_at_ms && accept_at_ms <= now)
        accept_at_ms = 0;
    if (!try_at_ms || try_at_ms > now)
        return;
    retry_ms = retry_ms * 2 < RETRY_MOST_MS ? retry_ms * 2 : RETRY_MOST_MS;
    try_at_ms = try_ports() ? now + retry_ms : 0;
}

void bridge_serve(const struct pollfd polled[BRIDGE_POLLED]) {
    if (!sockets_path)
        return;
    for (int i = 0; i < BRIDGE_PAIRS; i++) {
        const struct pollfd *own = polled + BRIDGE_PORTS + (ptrdiff_t)2 * i;
        if (pairs[i].is_used && (own[0].revents || own[1].revents))
            pair_serve(&pairs[i], own);
    }
    for (int i = 0; i < BRIDGE_PORTS; i++)
        if (polled[i].revents)
            take_connection(i);
    do_what_is_due();
}
