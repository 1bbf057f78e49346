/* A kernel that sends faster than can be passed on is ended before it fills the gateway, and no
 * other is. The flood comes from a thread that writes ZeroMQ's protocol (ZMTP 3.0,
 * rfc.zeromq.org/spec/23) itself, since a library would send no message without an end. */
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "guest.h"
#include "played.h"
#include "session/kernel_parts.h"

enum { MIB = 1024 * 1024, PART = 256 * 1024, FRAME_HEAD = 9 };

static size_t resident_bytes(void) {
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%*u %lu", &pages), 1);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* -- the flood -------------------------------------------------------------------------------- */

struct flooder {
    int listeners[CONNECTION_PORT_COUNT];
    pthread_t thread;
};

/* The greeting and READY of the gateway: a message sent before its READY is a protocol error. */
static void hear_greeting(int fd) {
    uint8_t bytes[64 + UINT8_MAX];
    recv(fd, bytes, 64, MSG_WAITALL);
    recv(fd, bytes, 2, MSG_WAITALL); /* the flags of a short command, and its size */
    recv(fd, bytes, bytes[1], MSG_WAITALL);
}

/* Greeting, and READY with the type that the gateway expects. */
static void greet(int fd, const char *type) {
    uint8_t bytes[128] = {0xff, [9] = 0x7f, [10] = 3, [12] = 'N', 'U', 'L', 'L', [64] = 4};
    uint8_t *at = bytes + 66;
    at = mempcpy(at, "\5READY\13Socket-Type\0\0\0", 21);
    *at++ = (uint8_t)strlen(type);
    at = mempcpy(at, type, strlen(type));
    bytes[65] = (uint8_t)(at - bytes - 66);
    send(fd, bytes, (size_t)(at - bytes), MSG_NOSIGNAL);
    hear_greeting(fd);
}

/* The gateway leaves its first connection to a socket at once, and stays on the second. */
static int take(int listener, const char *type) {
    close(accept(listener, NULL, NULL));
    int fd = accept(listener, NULL, NULL);
    greet(fd, type);
    return fd;
}

static void *flood(void *context) {
    static const uint8_t part[FRAME_HEAD + PART] = {3, [6] = PART >> 16}; /* long, more follows */
    static const enum connection_port routers[] = {CONNECTION_SHELL, CONNECTION_CONTROL,
                                                   CONNECTION_STDIN};
    struct flooder *flooder = context;
    int peers[3];
    for (int i = 0; i < 3; i++)
        peers[i] = take(flooder->listeners[routers[i]], "ROUTER");
    int iopub = take(flooder->listeners[CONNECTION_IOPUB], "XPUB");
    while (send(iopub, part, sizeof part, MSG_NOSIGNAL) == sizeof part)
        ;
    close(iopub);
    for (int i = 0; i < 3; i++)
        close(peers[i]);
    return NULL;
}

/* Gives its sockets to the gateway as those of the newest tree. */
static void begin_flood(struct rig *rig, struct flooder *flooder) {
    int fds[CONNECTION_PORT_COUNT];
    char folder[] = "/tmp/test-flood-XXXXXX";
    assert_non_null(mkdtemp(folder));
    for (int i = 0; i < CONNECTION_PORT_COUNT; i++) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        snprintf(address.sun_path, sizeof address.sun_path, "%s/%d", folder, i);
        flooder->listeners[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(bind(flooder->listeners[i], (struct sockaddr *)&address, sizeof address),
                         0);
        assert_int_equal(listen(flooder->listeners[i], 8), 0);
        fds[i] = open(address.sun_path, O_PATH | O_CLOEXEC);
        unlink(address.sun_path);
    }
    rmdir(folder);
    struct rpc_tree_sockets body = {.head.kind = RPC_TREE_SOCKETS,
                                    .tree = played_newest(rig)->tree};
    rig_send(rig, &body, (struct slice){0}, fds, CONNECTION_PORT_COUNT);
    for (int i = 0; i < CONNECTION_PORT_COUNT; i++)
        close(fds[i]);
    assert_int_equal(pthread_create(&flooder->thread, NULL, flood, flooder), 0);
}

static void end_flood(struct flooder *flooder) {
    pthread_join(flooder->thread, NULL);
    for (int i = 0; i < CONNECTION_PORT_COUNT; i++)
        close(flooder->listeners[i]);
}

static void ends_who_floods(void **state) {
    (void)state;
    struct rig rig;
    struct flooder flooder;
    struct waiter waiter;
    rig_begin(&rig);
    struct kernel *quiet = rig_start_ready(&rig);
    rig.no_sockets = true;
    struct kernel *loud = rig_start(&rig);
    UNTIL(&rig, played_newest(&rig) && rig.received[RPC_TREE_START] == 2);
    rig.params.gateway_memory_bytes = resident_bytes() + 32 * MIB;
    begin_flood(&rig, &flooder);
    UNTIL(&rig, is_state(loud, "dead") && kernel_reason(loud));
    end_flood(&flooder);
    const char *reason = kernel_reason(loud);
    if (!strstr(reason, "the kernel sent more than could be passed on") ||
        !strstr(reason, "gateway_memory_bytes allows"))
        fail_msg("%s", reason);
    rig.params.gateway_memory_bytes = (uint64_t)1 << 40;
    rig.no_sockets = false;
    kernel_restart(loud, waiter_init(&waiter));
    UNTIL(&rig, waiter.told);
    assert_int_equal(waiter.code, 0);
    assert_true(is_state(loud, "idle") && is_state(quiet, "idle"));
    rig_end(&rig);
}

/* One that flooded, and is being ended for another reason, ends for that one. */
static void spares_who_is_ended_already(void **state) {
    (void)state;
    struct rig rig;
    struct waiter waiter;
    rig_begin(&rig);
    struct kernel *kernel = rig_start_ready(&rig);
    rig.held_kind = RPC_TREE_KILL;
    kernel_restart(kernel, waiter_init(&waiter));
    UNTIL(&rig, rig.is_held);
    rig.params.gateway_memory_bytes = 1;
    char *held = mem_alloc(16 * MIB);
    memset(held, 1, 16 * MIB);
    const unsigned many = 1u << 20; /* halved by every look */
    kernel->pressed_looks = many;
    kernels_note_traffic(rig.kernels);
    UNTIL(&rig, kernel->pressed_looks < many);
    rig.params.gateway_memory_bytes = (uint64_t)1 << 40;
    mem_free(held);
    rig_answer_held(&rig);
    UNTIL(&rig, waiter.told);
    assert_int_equal(waiter.code, 0);
    assert_null(kernel_reason(kernel));
    rig_end(&rig);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_who_floods),
        cmocka_unit_test(spares_who_is_ended_already),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
