/* Sockets that are none, or behind which nobody speaks ZeroMQ: the start ends with a sentence. */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "guest.h"
#include "played.h"

/* Five sockets of the test's own in the place of a kernel's. */
struct scene {
    struct rig rig;
    struct kernel *kernel;
    char folder[64];
    int sockets[CONNECTION_PORT_COUNT];
    struct loop_watch *watches[CONNECTION_PORT_COUNT];
    int accepted[256]; /* connections that are kept */
    int accepted_count;
    const char *greeting; /* what each connection is told; NULL: it is closed; "" nothing */
};

static void path_of(const struct scene *scene, int port, char path[100]) {
    snprintf(path, 100, "%s/k-%d", scene->folder, port + 1);
}

static void make_socket(struct scene *scene, int port, int type) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    path_of(scene, port, address.sun_path);
    scene->sockets[port] = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(scene->sockets[port], (struct sockaddr *)&address, sizeof address), 0);
}

static void on_connection(void *context) {
    struct scene *scene = context;
    for (int port = 0; port < CONNECTION_PORT_COUNT; port++) {
        int fd = accept4(scene->sockets[port], NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            continue;
        if (!scene->greeting) {
            close(fd);
            continue;
        }
        size_t size = strlen(scene->greeting);
        if (send(fd, scene->greeting, size, MSG_NOSIGNAL) < 0)
            assert_int_equal(errno, EPIPE); /* the plain connection that only looks */
        scene->accepted[scene->accepted_count++] = fd;
    }
}

static void listen_all(struct scene *scene) {
    for (int port = 0; port < CONNECTION_PORT_COUNT; port++) {
        assert_int_equal(listen(scene->sockets[port], 16), 0);
        scene->watches[port] =
            loop_watch_create(scene->rig.loop, scene->sockets[port], on_connection, scene);
    }
}

/* A kernel whose tree runs, and what its sockets are to be. */
static void begin(struct scene *scene, int type) {
    memset(scene, 0, sizeof *scene);
    rig_begin(&scene->rig);
    scene->rig.no_sockets = true;
    scene->rig.params.launch_timeout_ms = 2000;
    strcpy(scene->folder, "/tmp/test-connect-XXXXXX");
    assert_non_null(mkdtemp(scene->folder));
    scene->kernel = rig_start(&scene->rig);
    UNTIL(&scene->rig, played_newest(&scene->rig));
    for (int port = 0; port < CONNECTION_PORT_COUNT; port++)
        make_socket(scene, port, type);
}

static void hand_over(struct scene *scene) {
    int fds[CONNECTION_PORT_COUNT];
    char path[100];
    for (int port = 0; port < CONNECTION_PORT_COUNT; port++) {
        path_of(scene, port, path);
        fds[port] = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    }
    struct rpc_tree_sockets body = {.head.kind = RPC_TREE_SOCKETS,
                                    .tree = played_newest(&scene->rig)->tree};
    rig_send(&scene->rig, &body, (struct slice){0}, fds, CONNECTION_PORT_COUNT);
    for (int port = 0; port < CONNECTION_PORT_COUNT; port++)
        close(fds[port]);
}

static void end(struct scene *scene) {
    char path[100];
    for (int port = 0; port < CONNECTION_PORT_COUNT; port++) {
        loop_watch_destroy(scene->watches[port]);
        close(scene->sockets[port]);
        path_of(scene, port, path);
        unlink(path);
    }
    for (int i = 0; i < scene->accepted_count; i++)
        close(scene->accepted[i]);
    rmdir(scene->folder);
    rig_end(&scene->rig);
}

static void expect_death(struct scene *scene, const char *words) {
    hand_over(scene);
    UNTIL(&scene->rig, is_state(scene->kernel, "dead") && !played_newest(&scene->rig));
    if (!strstr(kernel_reason(scene->kernel), words))
        fail_msg("\"%s\" is not in: %s", words, kernel_reason(scene->kernel));
    assert_int_equal(scene->rig.received[RPC_TREE_KILL], 1);
    end(scene);
}

static void refuses_sockets_of_another_type(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene, SOCK_DGRAM);
    expect_death(&scene, "the kernel's shell socket: connect: ");
}

static void waits_for_a_listener_until_the_deadline(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene, SOCK_STREAM);
    expect_death(&scene, "2000 ms (launch_timeout_ms)");
}

static void hears_that_connections_are_closed(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene, SOCK_STREAM);
    listen_all(&scene);
    expect_death(&scene, "connect to the kernel's ");
}

static void hears_that_it_is_no_zeromq(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene, SOCK_STREAM);
    scene.greeting = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
                     "and more than a greeting of ZeroMQ, which has 64 bytes, would take";
    listen_all(&scene);
    expect_death(&scene, "2000 ms (launch_timeout_ms)"); /* it could be ZeroMQ 2 */
}

static void gives_up_on_one_that_says_nothing(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene, SOCK_STREAM);
    scene.greeting = "";
    listen_all(&scene);
    expect_death(&scene, "2000 ms (launch_timeout_ms)");
}

/* Descriptors of files: nobody listens there, ever. */
static void takes_a_file_for_nobody(void **state) {
    (void)state;
    struct scene scene;
    char path[100];
    begin(&scene, SOCK_STREAM);
    path_of(&scene, 0, path);
    unlink(path);
    close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    expect_death(&scene, "2000 ms (launch_timeout_ms)");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_sockets_of_another_type),
        cmocka_unit_test(waits_for_a_listener_until_the_deadline),
        cmocka_unit_test(hears_that_connections_are_closed),
        cmocka_unit_test(hears_that_it_is_no_zeromq),
        cmocka_unit_test(gives_up_on_one_that_says_nothing),
        cmocka_unit_test(takes_a_file_for_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
