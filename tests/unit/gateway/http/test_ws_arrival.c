/* What a WebSocket's owner can know of what has arrived, while it is open and at its end. */
#include "scene.h"

#include <linux/filter.h>

/* From now on whatever comes to the client is dropped before it is acknowledged. */
static void cut(struct client *client) {
    struct sock_filter nothing = {BPF_RET | BPF_K, 0, 0, 0};
    struct sock_fprog program = {1, &nothing};
    client_deafen(client);
    assert_int_equal(setsockopt(client->fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program),
                     0);
}

static void begin(struct scene *scene, struct client *client, const struct http_limits *limits) {
    scene_begin(scene, limits);
    client_connect(client, scene);
    client_upgrade(client);
}

/* Sends a message, and turns the loop until the client has it. */
static uint64_t send_and_wait(struct scene *scene, struct client *client, const char *words) {
    cleanup_bytes struct bytes *payload = bytes_copy(slice_from_text(words));
    ws_send(scene->ws, payload, false);
    uint64_t position = ws_position(scene->ws);
    client_wait(client, words);
    while (ws_acknowledged(scene->ws) < position) /* an acknowledgement may be late */
        scene_pass(scene, 1);
    return position;
}

static void counts_what_was_acknowledged(void **state) {
    (void)state;
    struct scene scene;
    struct client client;
    begin(&scene, &client, &roomy);
    uint64_t first = send_and_wait(&scene, &client, "one");
    assert_int_equal(send_and_wait(&scene, &client, "seven77"), first + 2 + 7);
    assert_int_equal(ws_acknowledged(scene.ws), first + 9);
    cut(&client);
    struct bytes *payload = scene.chunk = bytes_copy(SLICE_LITERAL("lost"));
    ws_send(scene.ws, payload, false);
    assert_int_equal(ws_position(scene.ws), first + 9 + 6);
    assert_int_equal(ws_acknowledged(scene.ws), first + 9);
    assert_int_equal(ws_queued(scene.ws), 0); /* the system has it */
    client_close(&client);
    scene_end(&scene);
}

/* Linux tells it after the end of the stream, a reset and a timeout alike. */
static void knows_it_at_the_end(void **state) {
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        struct scene scene;
        struct client client;
        struct http_limits limits = roomy;
        limits.ws_ping_ms = 20;
        limits.ws_dead_ms = kind == 2 ? 100 : 60000;
        begin(&scene, &client, &limits);
        send_and_wait(&scene, &client, "arrived");
        cut(&client);
        uint64_t arrived = ws_acknowledged(scene.ws);
        struct bytes *payload = scene.chunk = bytes_create(3 << 20);
        memset(payload->data, 'x', payload->size);
        ws_send(scene.ws, payload, true);
        if (kind == 0)
            shutdown(client.fd, SHUT_WR);
        else if (kind == 1)
            client_abort(&client);
        scene_wait(&scene, "close:1006:");
        assert_int_equal(scene.arrived, arrived);
        if (kind != 1)
            client_close(&client);
        scene_end(&scene);
    }
}

/* A message to a socket that is closing, or broken, was not sent. */
static void says_what_was_not_sent(void **state) {
    (void)state;
    struct scene scene;
    struct client client;
    begin(&scene, &client, &roomy);
    struct bytes *payload = scene.chunk = bytes_copy(SLICE_LITERAL("late"));
    ws_close(scene.ws, 1000, NULL);
    ws_send(scene.ws, payload, false);
    assert_true(ws_position(scene.ws) == UINT64_MAX);
    client_close(&client);
    scene_end(&scene);
}

/* What it reads nothing of fills its window, and it acknowledges that it has none. */
static void leaves_a_peer_alone_that_reads_nothing(void **state) {
    (void)state;
    struct scene scene;
    struct client client;
    struct http_limits limits = roomy;
    limits.ws_ping_ms = 20;
    limits.ws_dead_ms = 100;
    begin(&scene, &client, &limits);
    client_deafen(&client);
    struct bytes *payload = scene.chunk = bytes_create(7 << 20);
    memset(payload->data, 'x', payload->size);
    while (ws_send(scene.ws, payload, true) == 0)
        ;
    scene_pass(&scene, 1000);
    assert_null(strstr(scene.trace.data, "close"));
    client_listen(&client);
    scene_wait(&scene, "drained");
    client_close(&client);
    scene_end(&scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_what_was_acknowledged),
        cmocka_unit_test(knows_it_at_the_end),
        cmocka_unit_test(says_what_was_not_sent),
        cmocka_unit_test(leaves_a_peer_alone_that_reads_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
