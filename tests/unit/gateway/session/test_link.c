/* A kernel made of bare ZeroMQ sockets in a process of its own, so that it can die. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

#include "base/mem.h"
#include "loop/loop.h"
#include "msg/build.h"
#include "session/link.h"
#include "wire/connection.h"
#include "wire/sign.h"

#define KEY "a key"
enum { FLOOD = 20000 };

struct seen {
    struct loop *loop;
    struct link *link;
    int linked, failed, drained, floods, last, replies, refused;
    bool in_order;
};

static void path_of(char path[128], const char *folder, int port) {
    snprintf(path, 128, "%s/k-%d", folder, port + 1);
}

static void send_message(void *socket, struct signer *signer, const struct slice *identity,
                         const char *msg_type, struct slice content, bool forged) {
    struct msg_origin origin = {"id", "kernel-session", "kernel", "2026-11-30T00:00:00.000000Z"};
    struct slice nothing = {0};
    struct msg_built built = msg_build(MSG_IOPUB, msg_type, &origin, nothing, nothing, content);
    char hex[SIGN_HEX_SIZE];
    signer_sign(signer, &built.msg, hex);
    if (forged)
        hex[0] = hex[0] == '0' ? '1' : '0';
    if (identity)
        zmq_send(socket, identity->data, identity->size, ZMQ_SNDMORE);
    zmq_send(socket, "<IDS|MSG>", 9, ZMQ_SNDMORE);
    zmq_send(socket, hex, sizeof hex, ZMQ_SNDMORE);
    zmq_send(socket, built.msg.header.data, built.msg.header.size, ZMQ_SNDMORE);
    zmq_send(socket, built.msg.parent_header.data, built.msg.parent_header.size, ZMQ_SNDMORE);
    zmq_send(socket, built.msg.metadata.data, built.msg.metadata.size, ZMQ_SNDMORE);
    zmq_send(socket, built.msg.content.data, built.msg.content.size, 0);
    msg_built_finish(&built);
}

/* Answers the first request with a forged message, a flood on iopub and a reply, and leaves at
 * once. */
static void run_kernel(const char *folder) {
    static const int types[CONNECTION_PORT_COUNT] = {ZMQ_ROUTER, ZMQ_PUB, ZMQ_ROUTER, ZMQ_ROUTER,
                                                     ZMQ_REP};
    void *zmq = zmq_ctx_new(), *sockets[CONNECTION_PORT_COUNT];
    struct signer *signer = signer_create(SLICE_LITERAL(KEY));
    for (int i = 0; i < CONNECTION_PORT_COUNT; i++) {
        char path[128], endpoint[160];
        int unlimited = 0;
        path_of(path, folder, i);
        snprintf(endpoint, sizeof endpoint, "ipc://%s", path);
        sockets[i] = zmq_socket(zmq, types[i]);
        zmq_setsockopt(sockets[i], ZMQ_SNDHWM, &unlimited, sizeof unlimited);
        if (zmq_bind(sockets[i], endpoint) < 0)
            _exit(3);
    }
    uint8_t identity[64], rest[4096];
    int size = zmq_recv(sockets[CONNECTION_SHELL], identity, sizeof identity, 0);
    for (int more = 1; more;) {
        size_t length = sizeof more;
        zmq_recv(sockets[CONNECTION_SHELL], rest, sizeof rest, 0);
        zmq_getsockopt(sockets[CONNECTION_SHELL], ZMQ_RCVMORE, &more, &length);
    }
    send_message(sockets[CONNECTION_IOPUB], signer, NULL, "status", SLICE_LITERAL("{}"), true);
    for (int i = 0; i < FLOOD; i++) {
        char content[32];
        snprintf(content, sizeof content, "{\"n\":%d}", i);
        send_message(sockets[CONNECTION_IOPUB], signer, NULL, "stream", slice_from_text(content),
                     false);
    }
    struct slice to = slice_make(identity, (size_t)size);
    send_message(sockets[CONNECTION_SHELL], signer, &to, "execute_reply", SLICE_LITERAL("{}"),
                 false);
    for (int i = 0; i < CONNECTION_PORT_COUNT; i++)
        zmq_close(sockets[i]);
    zmq_ctx_term(zmq); /* waits until all of it is in the sockets' buffers */
    _exit(0);
}

static void on_linked(void *context) {
    struct seen *seen = context;
    seen->linked++;
    loop_stop(seen->loop);
}

static void on_failed(void *context, const struct err *err) {
    struct seen *seen = context;
    print_message("%s\n", err->text);
    seen->failed++;
    loop_stop(seen->loop);
}

static void on_message(void *context, const struct msg *msg, const struct msg_header *header,
                       const struct msg_header *parent) {
    struct seen *seen = context;
    int n;
    assert_string_equal(parent->msg_id, "");
    if (strcmp(header->msg_type, "execute_reply") == 0) {
        assert_int_equal(msg->channel, MSG_SHELL);
        seen->replies++;
    } else {
        assert_int_equal(sscanf((const char *)msg->content.data, "{\"n\":%d}", &n), 1);
        seen->in_order &= n == seen->floods;
        seen->floods++;
    }
}

static void on_refused(void *context, const struct err *err) {
    struct seen *seen = context;
    assert_non_null(strstr(err->text, "iopub"));
    seen->refused++;
}

static void on_drained(void *context) {
    struct seen *seen = context;
    seen->drained++;
    loop_stop(seen->loop);
}

static struct link *make_link(struct seen *seen, void *zmq, const char *folder) {
    int sockets[CONNECTION_PORT_COUNT];
    for (int i = 0; i < CONNECTION_PORT_COUNT; i++) {
        char path[128];
        path_of(path, folder, i);
        while ((sockets[i] = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC)) < 0)
            usleep(1000); /* until the kernel has bound it; the test's time limit bounds it */
    }
    struct link_events events = {on_linked, on_failed, on_message, on_refused, on_drained, seen};
    return link_create_take(seen->loop, zmq, SLICE_LITERAL(KEY), sockets, 1 << 30, &events);
}

static int count_descriptors(void) {
    int count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* What a kernel said before it died arrives whole and in order; nothing is connected again. */
static void everything_of_a_dead_kernel_arrives(void **state) {
    (void)state;
    char folder[] = "/tmp/test-link-XXXXXX";
    assert_non_null(mkdtemp(folder));
    pid_t kernel = fork();
    if (kernel == 0)
        run_kernel(folder);
    struct seen seen = {.loop = loop_create(), .in_order = true};
    void *zmq = zmq_ctx_new();
    void *first = zmq_socket(zmq, ZMQ_PAIR); /* the context's own descriptors come with it */
    int before = count_descriptors();
    seen.link = make_link(&seen, zmq, folder);
    loop_run(seen.loop);
    assert_int_equal(seen.linked, 1);

    struct msg_origin origin = {"request", "us", "us", "2026-11-30T00:00:00.000000Z"};
    struct slice nothing = {0};
    struct msg_built built =
        msg_build(MSG_SHELL, "execute_request", &origin, nothing, nothing, nothing);
    usleep(200 * 1000); /* PUB has no word for "subscribed"; a real kernel is probed for it */
    /* Two descriptors a socket: nothing of the monitors or of the O_PATH descriptors is left. */
    for (int i = 0; i < 1000 && count_descriptors() != before + 2 * MSG_CHANNEL_COUNT; i++)
        usleep(10 * 1000); /* ZeroMQ closes the monitors on a thread of its own */
    assert_int_equal(count_descriptors(), before + 2 * MSG_CHANNEL_COUNT);
    link_send(seen.link, &built.msg);
    msg_built_finish(&built);
    int status;
    assert_int_equal(waitpid(kernel, &status, 0), kernel); /* dead before anything was read */
    assert_int_equal(status, 0);
    link_drain(seen.link);
    loop_run(seen.loop);
    assert_int_equal(seen.drained, 1);
    assert_int_equal(seen.failed, 0);
    assert_int_equal(seen.refused, 1);
    assert_int_equal(seen.floods, FLOOD);
    assert_true(seen.in_order);
    assert_int_equal(seen.replies, 1);
    link_destroy(seen.link);
    zmq_close(first);
    zmq_ctx_term(zmq);
    loop_destroy(seen.loop);
    assert_int_equal(mem_live(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(everything_of_a_dead_kernel_arrives)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
