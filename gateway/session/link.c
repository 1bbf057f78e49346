/* link - see link.h. Two complications. Between a kernel's bind and listen a connect is refused,
 * and ZeroMQ would not repeat it for us, so a plain connect to the same descriptor comes first. And
 * a dead kernel's last messages may still be on their way through ZeroMQ's thread: that thread
 * closes its end of a connection only after it has handed over all that it read, so a connection
 * that is no longer there means that everything can be received. */
#include "session/link.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <zmq.h>

#include "base/mem.h"
#include "loop/loop.h"
#include "session/ids.h"
#include "wire/connection.h"
#include "wire/multipart.h"
#include "wire/sign.h"

enum {
    PARTS_MAX = MSG_BUFFERS_MAX + 32,
    MESSAGES_A_TURN = 64,
    CONNECT_RETRY_MS = 1,
    DRAIN_POLL_MS = 2,
    DRAIN_LIMIT_MS = 2000,
};

/* Beyond the end of any session, with room for the jitter that ZeroMQ adds: a connection is never
 * made again. (-1 would say so too, but then what a dead kernel had sent is thrown away.) */
enum { NEVER_MS = 1000 * 1000 * 1000 };

struct wire {
    struct link *link;
    enum msg_channel channel;
    void *socket, *monitor;
    struct loop_zmq *watch, *monitor_watch;
    int target;     /* O_PATH descriptor of the kernel's socket, -1 once connected */
    int connection; /* ZeroMQ's own descriptor: looked at, never used */
    ino_t inode;    /* of that connection, since its number may be reused */
    bool connected;
};

struct link {
    struct loop *loop;
    void *zmq;
    struct link_events events;
    struct signer *signer;
    struct wire wires[MSG_CHANNEL_COUNT];
    struct loop_timer *timer; /* connecting, then draining */
    int64_t drain_until_ms;
    bool linked, draining;
    char identity[ID_TEXT_SIZE];
};

static const struct {
    int type;
    enum connection_port port;
} sockets_of[MSG_CHANNEL_COUNT] = {
    [MSG_SHELL] = {ZMQ_DEALER, CONNECTION_SHELL},
    [MSG_CONTROL] = {ZMQ_DEALER, CONNECTION_CONTROL},
    [MSG_STDIN] = {ZMQ_DEALER, CONNECTION_STDIN},
    [MSG_IOPUB] = {ZMQ_SUB, CONNECTION_IOPUB},
};

static void set_int(void *socket, int option, int value) {
    int result = zmq_setsockopt(socket, option, &value, sizeof value);
    assert(result == 0);
}

static void fail(struct link *link, const struct err *err) {
    loop_timer_stop(link->timer);
    link->events.on_failed(link->events.context, err);
}

/* -- receiving -------------------------------------------------------------------------------- */

struct received {
    zmq_msg_t parts[PARTS_MAX];
    struct slice slices[PARTS_MAX];
    size_t count;
    bool too_many;
};

/* All parts of one message; false where there is none. Parts beyond the bound are dropped. */
static bool receive_parts(void *socket, struct received *received) {
    received->count = 0;
    received->too_many = false;
    for (int more = 1; more;) {
        zmq_msg_t *part = &received->parts[received->count];
        zmq_msg_init(part);
        if (zmq_msg_recv(part, socket, ZMQ_DONTWAIT) < 0) {
            zmq_msg_close(part);
            assert(received->count ==
                   0); /* the parts of a message come together: zmq_msg_recv(3) */
            return false;
        }
        more = zmq_msg_more(part);
        received->slices[received->count] = slice_make(zmq_msg_data(part), zmq_msg_size(part));
        if (received->count + 1 < PARTS_MAX)
            received->count++;
        else {
            received->too_many = true;
            zmq_msg_close(part);
        }
    }
    return true;
}

static int read_message(struct wire *wire, struct received *received, struct err *err) {
    struct link *link = wire->link;
    struct slice signature;
    size_t identities;
    struct msg msg = {.channel = wire->channel};
    if (received->too_many)
        return err_set(err, EMSGSIZE, "a message of more than %d parts", PARTS_MAX);
    int result =
        multipart_read(received->slices, received->count, &identities, &signature, &msg, err);
    if (result == 0)
        result = signer_verify(link->signer, &msg, signature, err);
    struct msg_header header = {0}, parent = {0};
    if (result == 0)
        result = msg_header_parse(msg.header, &header, err);
    if (result == 0)
        result = msg_header_parse(msg.parent_header, &parent, err);
    if (result == 0) {
        msg.channel = wire->channel;
        link->events.on_message(link->events.context, &msg, &header, &parent);
    }
    msg_header_finish(&header);
    msg_header_finish(&parent);
    return result;
}

/* True where a message was there. */
static bool read_one(struct wire *wire) {
    static struct received received; /* large, and used by one call at a time on the one thread */
    if (!receive_parts(wire->socket, &received))
        return false;
    struct err err;
    if (read_message(wire, &received, &err) < 0) {
        err_wrap(&err, "%s message of the kernel", msg_channel_name(wire->channel));
        wire->link->events.on_refused(wire->link->events.context, &err);
    }
    for (size_t i = 0; i < received.count; i++)
        zmq_msg_close(&received.parts[i]);
    return true;
}

static void read_messages(void *context) {
    struct wire *wire = context;
    for (int i = 0; i < MESSAGES_A_TURN && read_one(wire); i++)
        ;
}

/* -- connecting ------------------------------------------------------------------------------- */

static void finish_monitor(struct wire *wire) {
    if (!wire->monitor)
        return;
    zmq_socket_monitor(wire->socket, NULL, 0);
    loop_zmq_destroy(wire->monitor_watch);
    zmq_close(wire->monitor);
    wire->monitor = NULL;
    wire->monitor_watch = NULL;
}

static void check_linked(struct link *link) {
    for (int i = 0; i < MSG_CHANNEL_COUNT; i++)
        if (!link->wires[i].connected)
            return;
    link->linked = true;
    for (int i = 0; i < MSG_CHANNEL_COUNT; i++)
        link->wires[i].watch =
            loop_zmq_create(link->loop, link->wires[i].socket, read_messages, &link->wires[i]);
    link->events.on_linked(link->events.context);
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

static void on_monitor(void *context) {
    struct wire *wire = context;
    uint16_t event;
    int value;
    while (read_event(wire->monitor, &event, &value)) {
        if (event == ZMQ_EVENT_CONNECTED)
            note_connection(wire, value);
        else if (event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {
            wire->connected = true;
            close(wire->target);
            wire->target = -1;
            finish_monitor(wire);
            check_linked(wire->link);
            return;
        } else {
            struct err err;
            err_set(&err, ECONNREFUSED, "connect to the kernel's %s socket: ZeroMQ event %u",
                    msg_channel_name(wire->channel), event);
            finish_monitor(wire);
            fail(wire->link, &err);
            return;
        }
    }
}

static void start_monitor(struct wire *wire) {
    char endpoint[64];
    snprintf(endpoint, sizeof endpoint, "inproc://monitor-%p", (void *)wire);
    int result = zmq_socket_monitor(wire->socket, endpoint,
                                    ZMQ_EVENT_CONNECTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED |
                                        ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CONNECT_RETRIED |
                                        ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                                        ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL);
    assert(result == 0);
    wire->monitor = zmq_socket(wire->link->zmq, ZMQ_PAIR);
    assert(wire->monitor);
    set_int(wire->monitor, ZMQ_LINGER, 0);
    result = zmq_connect(wire->monitor, endpoint);
    assert(result == 0);
    wire->monitor_watch = loop_zmq_create(wire->link->loop, wire->monitor, on_monitor, wire);
}

static int open_socket(struct wire *wire, struct err *err) {
    struct link *link = wire->link;
    wire->socket = zmq_socket(link->zmq, sockets_of[wire->channel].type);
    if (!wire->socket)
        return err_set(err, errno, "make a ZeroMQ socket: %s", zmq_strerror(errno));
    set_int(wire->socket, ZMQ_LINGER, 0);
    set_int(wire->socket, ZMQ_SNDHWM, 0);
    set_int(wire->socket, ZMQ_RCVHWM, 0);
    set_int(wire->socket, ZMQ_RECONNECT_IVL, NEVER_MS);
    if (wire->channel == MSG_IOPUB)
        zmq_setsockopt(wire->socket, ZMQ_SUBSCRIBE, "", 0);
    else
        zmq_setsockopt(wire->socket, ZMQ_ROUTING_ID, link->identity, strlen(link->identity));
    start_monitor(wire);
    char endpoint[64];
    snprintf(endpoint, sizeof endpoint, "ipc:///proc/self/fd/%d", wire->target);
    if (zmq_connect(wire->socket, endpoint) < 0)
        return err_set(err, errno, "connect: %s", zmq_strerror(errno));
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

static void connect_next(void *context) {
    struct link *link = context;
    for (int i = 0; i < MSG_CHANNEL_COUNT; i++) {
        struct wire *wire = &link->wires[i];
        if (wire->socket)
            continue;
        struct err err;
        int result = try_plain_connect(wire->target);
        if (result == -ECONNREFUSED || result == -EAGAIN) {
            loop_timer_start(link->timer, CONNECT_RETRY_MS); /* the kernel's deadline bounds it */
            return;
        }
        if (result < 0)
            err_errno(&err, -result, "connect");
        else
            result = open_socket(wire, &err);
        if (result < 0) {
            err_wrap(&err, "the kernel's %s socket", msg_channel_name(wire->channel));
            fail(link, &err);
            return;
        }
    }
}

/* -- draining --------------------------------------------------------------------------------- */

static bool is_connection_open(const struct wire *wire) {
    struct stat info;
    return fstat(wire->connection, &info) == 0 && info.st_ino == wire->inode;
}

static void poll_drained(void *context) {
    struct link *link = context;
    bool open = false;
    for (int i = 0; i < MSG_CHANNEL_COUNT; i++)
        open |= is_connection_open(&link->wires[i]);
    for (int i = 0; i < MSG_CHANNEL_COUNT; i++)
        while (read_one(&link->wires[i]))
            ;
    if (open && loop_now_ms(link->loop) < link->drain_until_ms)
        loop_timer_start(link->timer, DRAIN_POLL_MS);
    else
        link->events.on_drained(link->events.context);
}

static void on_timer(void *context) {
    struct link *link = context;
    if (link->draining)
        poll_drained(link);
    else
        connect_next(link);
}

void link_drain(struct link *link) {
    assert(link->linked && !link->draining);
    link->draining = true;
    link->drain_until_ms = loop_now_ms(link->loop) + DRAIN_LIMIT_MS;
    loop_timer_start(link->timer, 0);
}

/* -- life ------------------------------------------------------------------------------------- */

struct link *link_create_take(struct loop *loop, void *zmq, struct slice key, const int *sockets,
                              const struct link_events *events) {
    struct link *link = mem_zalloc(1, sizeof *link);
    link->loop = loop;
    link->zmq = zmq;
    link->events = *events;
    link->signer = signer_create(key);
    link->timer = loop_timer_create(loop, on_timer, link);
    uint8_t id[ID_BYTES];
    id_make(id);
    id_format(id, link->identity);
    for (int i = 0; i < MSG_CHANNEL_COUNT; i++)
        link->wires[i] = (struct wire){.link = link,
                                       .channel = (enum msg_channel)i,
                                       .target = sockets[sockets_of[i].port],
                                       .connection = -1};
    close(sockets[CONNECTION_HB]); /* the pidfd in the warden tells more than a heartbeat */
    loop_timer_start(link->timer, 0);
    return link;
}

static void finish_wire(struct wire *wire) {
    finish_monitor(wire);
    if (wire->watch)
        loop_zmq_destroy(wire->watch);
    if (wire->socket)
        zmq_close(wire->socket);
    if (wire->target >= 0)
        close(wire->target);
}

void link_destroy(struct link *link) {
    if (!link)
        return;
    for (int i = 0; i < MSG_CHANNEL_COUNT; i++)
        finish_wire(&link->wires[i]);
    loop_timer_destroy(link->timer);
    signer_destroy(link->signer);
    mem_free(link);
}

static void send_part(void *socket, struct slice part, bool more) {
    /* Without a high-water mark and with a pipe that outlives its connection, nothing blocks. */
    zmq_send(socket, part.data, part.size, ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0));
}

void link_send(struct link *link, const struct msg *msg) {
    assert(link->linked && msg->channel != MSG_IOPUB);
    struct wire *wire = &link->wires[msg->channel];
    char signature[SIGN_HEX_SIZE];
    size_t signature_size = signer_sign(link->signer, msg, signature);
    send_part(wire->socket, SLICE_LITERAL(MULTIPART_DELIMITER), true);
    send_part(wire->socket, slice_make(signature, signature_size), true);
    send_part(wire->socket, msg->header, true);
    send_part(wire->socket, msg->parent_header, true);
    send_part(wire->socket, msg->metadata, true);
    send_part(wire->socket, msg->content, msg->buffer_count > 0);
    for (size_t i = 0; i < msg->buffer_count; i++)
        send_part(wire->socket, msg->buffers[i], i + 1 < msg->buffer_count);
    loop_zmq_poke(wire->watch);
}
