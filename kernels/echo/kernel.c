#include "echo/kernel.h"

#include <errno.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

#include "base/mem.h"
#include "echo/answer.h"
#include "echo/message.h"
#include "echo/publish.h"

enum {
    LINGER_MS = 1000,   /* how long the last messages may take to leave */
    WAITING_MAX = 1000, /* requests that a failed cell looks at */
};

/* Nothing is dropped here: what a client misses was lost on its side of the socket. */
static const int unlimited = 0, linger_ms = LINGER_MS, handover = 1;

static const int socket_types[CONNECTION_PORT_COUNT] = {
    [CONNECTION_SHELL] = ZMQ_ROUTER, [CONNECTION_IOPUB] = ZMQ_XPUB,
    [CONNECTION_STDIN] = ZMQ_ROUTER, [CONNECTION_CONTROL] = ZMQ_ROUTER,
    [CONNECTION_HB] = ZMQ_REP,
};

static int bind_socket(struct kernel *kernel, const struct connection *connection, int port,
                       struct err *err) {
    void *socket = kernel->sockets[port] = zmq_socket(kernel->context, socket_types[port]);
    if (!socket)
        return err_errno(err, zmq_errno(), "make a socket");
    zmq_setsockopt(socket, ZMQ_LINGER, &linger_ms, sizeof linger_ms);
    zmq_setsockopt(socket, ZMQ_SNDHWM, &unlimited, sizeof unlimited);
    zmq_setsockopt(socket, ZMQ_RCVHWM, &unlimited, sizeof unlimited);
    if (socket_types[port] == ZMQ_ROUTER)
        zmq_setsockopt(socket, ZMQ_ROUTER_HANDOVER, &handover, sizeof handover);

    bool is_ipc = slice_equal_text(slice_from_text(connection->transport), "ipc");
    char *endpoint = mem_format("%s://%s%c%d", connection->transport, connection->ip,
                                is_ipc ? '-' : ':', connection->ports[port]);
    int error = zmq_bind(socket, endpoint) < 0 ? zmq_errno() : 0;
    if (error)
        err_set(err, error, "bind %s: %s", endpoint, zmq_strerror(error));
    mem_free(endpoint);
    return -error;
}

/* Before libzmq starts its threads: they inherit the mask. */
static int take_over_signals(struct kernel *kernel, struct err *err) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    signal(SIGCHLD, SIG_IGN); /* children of a cell are nobody's to wait for */
    signal(SIGPIPE, SIG_IGN); /* stderr may have no reader */
    kernel->signals_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    return kernel->signals_fd < 0 ? err_errno(err, errno, "signalfd") : 0;
}

/* A UUID, version 4. */
static int make_id(char ret_id[KERNEL_ID_SIZE], struct err *err) {
    uint8_t raw[16];
    if (getrandom(raw, sizeof raw, 0) != sizeof raw)
        return err_errno(err, errno, "getrandom");
    raw[6] = (raw[6] & 0x0f) | 0x40;
    raw[8] = (raw[8] & 0x3f) | 0x80;
    for (size_t i = 0, at = 0; i < sizeof raw; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            ret_id[at++] = '-';
        ret_id[at++] = "0123456789abcdef"[raw[i] >> 4];
        ret_id[at++] = "0123456789abcdef"[raw[i] & 15];
    }
    ret_id[KERNEL_ID_SIZE - 1] = 0;
    return 0;
}

int kernel_init(struct kernel *kernel, const struct connection *connection, struct err *err) {
    *kernel = (struct kernel){.signals_fd = -1};
    map_init(&kernel->comms, 0);
    list_init(&kernel->waiting);
    int error = make_id(kernel->session, err);
    if (!error)
        error = take_over_signals(kernel, err);
    if (error)
        return error;
    kernel->signer = signer_create(slice_from_text(connection->key));
    kernel->context = zmq_ctx_new();
    for (int port = 0; port < CONNECTION_PORT_COUNT && !error; port++)
        error = bind_socket(kernel, connection, port, err);
    if (!error)
        publish_status(kernel, NULL, "starting");
    return error;
}

static void forget_comms(struct map *comms) {
    size_t at = 0;
    struct slice id;
    void *target;
    while (map_next(comms, &at, &id, &target))
        mem_free(target);
    map_finish(comms);
}

struct waiting {
    struct list link;
    struct request request;
};

static void end_waiting(struct waiting *waiting) {
    list_remove(&waiting->link);
    request_finish(&waiting->request);
    mem_free(waiting);
}

void kernel_abort_waiting(struct kernel *kernel) {
    for (int i = 0; i < WAITING_MAX; i++) {
        struct waiting *waiting = mem_alloc(sizeof *waiting);
        int error = request_receive(kernel, MSG_SHELL, &waiting->request);
        if (!error)
            list_append(&kernel->waiting, &waiting->link);
        else
            mem_free(waiting);
        if (error == -EAGAIN)
            return;
    }
}

static void answer_waiting(struct kernel *kernel) {
    struct waiting *waiting;
    kernel->aborting = true;
    list_for_each (waiting, &kernel->waiting, link) {
        answer_request(kernel, &waiting->request);
        end_waiting(waiting);
    }
    kernel->aborting = false;
}

void kernel_finish(struct kernel *kernel) {
    struct waiting *waiting;
    list_for_each (waiting, &kernel->waiting, link)
        end_waiting(waiting);
    for (int port = 0; port < CONNECTION_PORT_COUNT; port++)
        if (kernel->sockets[port])
            zmq_close(kernel->sockets[port]);
    if (kernel->context)
        zmq_ctx_term(kernel->context);
    if (kernel->signals_fd >= 0)
        close(kernel->signals_fd);
    signer_destroy(kernel->signer);
    history_finish(&kernel->history);
    forget_comms(&kernel->comms);
}

int64_t kernel_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void take_signals(struct kernel *kernel) {
    struct signalfd_siginfo info;
    while (read(kernel->signals_fd, &info, sizeof info) == sizeof info) {
        if (info.ssi_signo == SIGINT)
            kernel->interrupted = true;
        else
            kernel->stopping = true;
    }
}

static void answer_one(struct kernel *kernel, enum msg_channel channel) {
    struct request request;
    if (request_receive(kernel, channel, &request) < 0)
        return;
    answer_request(kernel, &request);
    request_finish(&request);
}

bool kernel_turn(struct kernel *kernel, void *waited, int timeout_ms) {
    enum { SIGNALS, HB, IOPUB, CONTROL, WAITED, ITEM_COUNT };
    zmq_pollitem_t items[ITEM_COUNT] = {
        [SIGNALS] = {NULL, kernel->signals_fd, ZMQ_POLLIN, 0},
        [HB] = {kernel->sockets[CONNECTION_HB], 0, ZMQ_POLLIN, 0},
        [IOPUB] = {kernel->sockets[CONNECTION_IOPUB], 0, ZMQ_POLLIN, 0},
        [CONTROL] = {kernel->sockets[CONNECTION_CONTROL], 0, ZMQ_POLLIN, 0},
        [WAITED] = {waited, 0, ZMQ_POLLIN, 0},
    };
    if (zmq_poll(items, waited ? ITEM_COUNT : WAITED, timeout_ms) <= 0)
        return false;
    if (items[SIGNALS].revents)
        take_signals(kernel);
    if (items[HB].revents)
        message_return(kernel->sockets[CONNECTION_HB]);
    if (items[IOPUB].revents)
        publish_welcomes(kernel);
    if (items[CONTROL].revents)
        answer_one(kernel, MSG_CONTROL);
    return items[WAITED].revents != 0;
}

int kernel_run(struct kernel *kernel) {
    while (!kernel->stopping) {
        if (kernel_turn(kernel, kernel->sockets[CONNECTION_SHELL], -1) && !kernel->stopping)
            answer_one(kernel, MSG_SHELL);
        answer_waiting(kernel);
    }
    return kernel->exit_status;
}
