/* link_connect - from a kernel's descriptors to connected ZeroMQ sockets. Its one complication:
 * between a kernel's bind and listen a connect is refused, and ZeroMQ would not repeat it for us,
 * so a plain connect to the same descriptor comes first. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <zmq.h>

#include "loop/loop.h"
#include "session/link_parts.h"

/* Between bind and listen lie microseconds; a kernel that never listens costs little. */
enum { CONNECT_RETRY_MAX_MS = 64 };

/* Beyond the end of any session, with room for the jitter that ZeroMQ adds: a connection is never
 * made again. (-1 would say so too, but then what a dead kernel had sent is thrown away.) */
enum { NEVER_MS = 1000 * 1000 * 1000 };

const enum connection_port link_ports[MSG_CHANNEL_COUNT] = {
    [MSG_SHELL] = CONNECTION_SHELL,
    [MSG_CONTROL] = CONNECTION_CONTROL,
    [MSG_STDIN] = CONNECTION_STDIN,
    [MSG_IOPUB] = CONNECTION_IOPUB,
};

static void set_int(void *socket, int option, int value) {
    int result = zmq_setsockopt(socket, option, &value, sizeof value);
    assert(result == 0);
}

static void fail(struct link *link, const struct err *err) {
    loop_timer_stop(link->timer);
    link->events.on_failed(link->events.context, err);
}

void link_finish_monitor(struct wire *wire) {
    if (!wire->monitor)
        return;
    zmq_socket_monitor(wire->socket, NULL, 0);
    loop_zmq_destroy(wire->monitor_watch);
    zmq_close(wire->monitor);
    wire->monitor = NULL;
    wire->monitor_watch = NULL;
}

static void check_connected(struct link *link) {
    for (int i = 0; i < MSG_CHANNEL_COUNT; i++)
        if (!link->wires[i].connected)
            return;
    link_on_connected(link);
}

/* A monitor event is two parts: u16 event and u32 value, then the endpoint: zmq_socket_monitor(3).
 */
static bool read_event(void *monitor, uint16_t *ret_event, int *ret_value) {
    uint8_t first[6], endpoint[512];
    if (zmq_recv(monitor, first, sizeof first, ZMQ_DONTWAIT) < 0)
        return false;
    zmq_recv(monitor, endpoint, sizeof endpoint, 0);
    memcpy(ret_event, first, 2);
    memcpy(ret_value, first + 2, 4);
    return true;
}

static void note_connection(struct wire *wire, int descriptor) {
    struct stat info;
    wire->connection = descriptor;
    if (fstat(descriptor, &info) == 0)
        wire->inode = info.st_ino;
}

static void note_success(struct wire *wire) {
    wire->connected = true;
    close(wire->target);
    wire->target = -1;
    link_finish_monitor(wire);
    check_connected(wire->link);
}

/* The last one stands for all others. */
static const struct {
    uint16_t event;
    const char *words;
} failures[] = {
    {ZMQ_EVENT_CONNECT_RETRIED, "the connection was not taken"},
    {ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL, "the connection was closed within ZeroMQ's handshake"},
    {ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL, "what answers does not speak ZeroMQ's protocol"},
    {ZMQ_EVENT_DISCONNECTED, "the connection was closed"},
};

static void note_failure(struct wire *wire, uint16_t event) {
    struct err err;
    size_t at = 0;
    while (at + 1 < sizeof failures / sizeof *failures && failures[at].event != event)
        at++;
    err_set(&err, ECONNREFUSED, "connect to the kernel's %s socket: %s",
            msg_channel_name(wire->channel), failures[at].words);
    link_finish_monitor(wire);
    fail(wire->link, &err);
}

static void on_monitor(void *context) {
    struct wire *wire = context;
    uint16_t event;
    int value;
    while (read_event(wire->monitor, &event, &value)) {
        if (event == ZMQ_EVENT_CONNECTED) {
            note_connection(wire, value);
            continue;
        }
        if (event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED)
            note_success(wire);
        else
            note_failure(wire, event);
        return; /* the monitor is gone, and perhaps the link */
    }
}

/* ZeroMQ makes no socket where descriptors or its own count of sockets run out. */
static int zmq_error(struct err *err, const char *what) {
    return err_set(err, errno, "%s: %s", what, zmq_strerror(errno));
}

static int start_monitor(struct wire *wire, struct err *err) {
    /* Never a name again: ZeroMQ lets go of one on a thread of its own, some time after. */
    char endpoint[80];
    snprintf(endpoint, sizeof endpoint, "inproc://monitor-%s-%s", wire->link->identity,
             msg_channel_name(wire->channel));
    if (zmq_socket_monitor(wire->socket, endpoint,
                           ZMQ_EVENT_CONNECTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED |
                               ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CONNECT_RETRIED |
                               ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                               ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL) < 0)
        return zmq_error(err, "watch a ZeroMQ socket");
    wire->monitor = zmq_socket(wire->link->zmq, ZMQ_PAIR);
    if (!wire->monitor)
        return zmq_error(err, "make a ZeroMQ socket");
    set_int(wire->monitor, ZMQ_LINGER, 0);
    int result = zmq_connect(wire->monitor, endpoint);
    assert(result == 0);
    wire->monitor_watch = loop_zmq_create(wire->link->loop, wire->monitor, on_monitor, wire);
    return 0;
}

static void set_options(struct wire *wire) {
    const struct link *link = wire->link;
    set_int(wire->socket, ZMQ_LINGER, 0);
    set_int(wire->socket, ZMQ_SNDHWM, 0);
    set_int(wire->socket, ZMQ_RCVHWM, 0);
    set_int(wire->socket, ZMQ_RECONNECT_IVL, NEVER_MS);
    int64_t part_max = link->message_max * LINK_PARTS_OF_A_MESSAGE;
    zmq_setsockopt(wire->socket, ZMQ_MAXMSGSIZE, &part_max, sizeof part_max);
    if (wire->channel == MSG_IOPUB)
        zmq_setsockopt(wire->socket, ZMQ_SUBSCRIBE, "", 0);
    else
        zmq_setsockopt(wire->socket, ZMQ_ROUTING_ID, link->identity, strlen(link->identity));
}

static int open_socket(struct wire *wire, struct err *err) {
    int type = wire->channel == MSG_IOPUB ? ZMQ_SUB : ZMQ_DEALER;
    wire->socket = zmq_socket(wire->link->zmq, type);
    if (!wire->socket)
        return zmq_error(err, "make a ZeroMQ socket");
    set_options(wire);
    int result = start_monitor(wire, err);
    if (result < 0)
        return result;
    char endpoint[64];
    snprintf(endpoint, sizeof endpoint, "ipc:///proc/self/fd/%d", wire->target);
    if (zmq_connect(wire->socket, endpoint) < 0)
        return zmq_error(err, "connect");
    loop_zmq_poke(wire->monitor_watch);
    return 0;
}

/* 0 where somebody listens behind the descriptor, -ECONNREFUSED where nobody does yet. */
static int try_plain_connect(int target) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d", target);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    int result = connect(fd, (struct sockaddr *)&address, sizeof address) < 0 ? -errno : 0;
    close(fd);
    return result;
}

static int connect_wire(struct wire *wire, struct err *err) {
    int result = try_plain_connect(wire->target);
    if (result == -ECONNREFUSED || result == -EAGAIN)
        return -EAGAIN;
    if (result < 0)
        err_errno(err, -result, "connect");
    else
        result = open_socket(wire, err);
    if (result < 0)
        err_wrap(err, "the kernel's %s socket", msg_channel_name(wire->channel));
    return result;
}

static void try_again(struct link *link) {
    loop_timer_start(link->timer, link->retry_ms);
    if (link->retry_ms < CONNECT_RETRY_MAX_MS)
        link->retry_ms *= 2;
}

void link_connect_next(struct link *link) {
    for (int i = 0; i < MSG_CHANNEL_COUNT; i++) {
        struct wire *wire = &link->wires[i];
        struct err err = {0};
        int result = wire->socket ? 0 : connect_wire(wire, &err);
        if (result == -EAGAIN && !err.code)
            try_again(link); /* the kernel's deadline bounds it */
        else if (result < 0)
            fail(link, &err);
        if (result < 0)
            return;
    }
}
