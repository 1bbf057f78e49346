/* Clients that mean harm, or are broken: each ends with a clear answer or a closed connection, the
 * others go on, and memory stays flat. */
#include "scene.h"

#include <malloc.h>
#include <sys/resource.h>
#include <time.h>

/* Of the sanitizers' allocator, where there is one. */
extern size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

static size_t allocated_bytes(void) {
    if (__sanitizer_get_current_allocated_bytes)
        return __sanitizer_get_current_allocated_bytes();
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/* The server still answers others. */
static void expect_service(struct scene *scene) {
    struct client client;
    client_connect(&client, scene);
    client_send_text(&client, "GET /alive HTTP/1.1\r\nHost: h\r\n\r\n");
    client_wait(&client, "\r\n\r\n/alive");
    client_close(&client);
}

/* -- slow ones -------------------------------------------------------------------------------- */

static void slow_heads_and_bodies_end(void **state) {
    (void)state;
    static const struct {
        const char *begin, *drop;
        const char *answer; /* NULL: closed without a word */
    } cases[] = {
        {"", NULL, NULL},
        {"GET / HTTP/1.1\r\nHost: h\r\n", "A: b\r\n", "\"code\": \"head_timeout\""},
        {"\r\n", NULL, "\"code\": \"head_timeout\""},
        {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc", NULL,
         "\"code\": \"body_timeout\""},
        {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1", NULL,
         "The body came to a halt for http_body_ms = 60 ms."},
        {"GET / HTTP/1.1\r\nHost: h\r\n\r\n", NULL, "HTTP/1.1 200 OK\r\n"}, /* idle behind it */
    };
    struct http_limits limits = roomy;
    limits.head_ms = limits.body_ms = limits.idle_ms = 60;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scene scene;
        struct client client;
        scene_begin(&scene, &limits);
        client_connect(&client, &scene);
        client_send_text(&client, cases[i].begin);
        while (cases[i].drop && !client.gone) {
            client_send_text(&client, cases[i].drop);
            scene_pass(&scene, 5);
        }
        client_wait_end(&client);
        if (cases[i].answer)
            assert_true(client_has(&client, cases[i].answer));
        else
            assert_int_equal(client.received.size, 0);
        client_close(&client);
        expect_service(&scene);
        scene_end(&scene);
    }
}

static void who_does_not_read_is_dropped(void **state) {
    (void)state;
    static const char *targets[] = {"/large", "/stream"};
    struct http_limits limits = roomy;
    limits.idle_ms = 60;
    for (size_t i = 0; i < 2; i++) {
        struct scene scene;
        struct client client;
        char request[100];
        scene_begin(&scene, &limits);
        scene.chunk = bytes_create(16 << 20);
        memset(scene.chunk->data, 'x', scene.chunk->size);
        client_connect(&client, &scene);
        client_deafen(&client);
        snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", targets[i]);
        client_send_text(&client, request);
        scene_wait(&scene, targets[i]);
        if (scene.waiting)
            http_reply_chunk(scene.waiting, scene.chunk);
        scene_wait_connections(&scene, 0);
        assert_int_equal(strstr(scene.trace.data, "gone") != NULL, i == 1);
        client_close(&client);
        expect_service(&scene);
        scene_end(&scene);
    }
}

/* -- loud ones -------------------------------------------------------------------------------- */

static void an_early_refusal_arrives_before_the_reset(void **state) {
    (void)state;
    struct scene scene;
    struct client client;
    scene_begin(&scene, &roomy);
    client_connect(&client, &scene);
    client_send_text(&client, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999\r\n\r\n");
    struct text body = {0};
    for (int i = 0; i < 10000; i++)
        text_append_text(&body, "a body that is never read, but sent nevertheless ");
    for (int i = 0; i < 8; i++)
        client_send(&client, text_slice(&body));
    text_finish(&body);
    client_wait_end(&client);
    assert_true(client_has(&client, "HTTP/1.1 413 Content Too Large\r\n"));
    assert_true(client_has(&client, "Content-Type: application/json\r\n"));
    assert_true(client_has(&client,
                           "{\"reason\": \"Content Too Large\", \"message\": \"The body is "
                           "larger than http_body_bytes = 4194304.\", \"code\": "
                           "\"body_too_large\"}"));
    client_close(&client);
    scene_end(&scene);
}

static void garbage_is_refused_and_forgotten(void **state) {
    (void)state;
    struct scene scene;
    scene_begin(&scene, &roomy);
    expect_service(&scene);
    scene_wait_connections(&scene, 0);
    size_t before = allocated_bytes();
    unsigned seed = 1;
    for (int i = 0; i < 200; i++) {
        struct client client;
        uint8_t garbage[600];
        for (size_t j = 0; j < sizeof garbage; j++)
            garbage[j] = (uint8_t)(rand_r(&seed) >> 8);
        client_connect(&client, &scene);
        client_send(&client, slice_make(garbage, 1 + (size_t)rand_r(&seed) % sizeof garbage));
        shutdown(client.fd, SHUT_WR);
        client_wait_end(&client);
        assert_true(client_has(&client, "HTTP/1.1 4") || client_has(&client, "HTTP/1.1 5"));
        client_close(&client);
    }
    scene_wait_connections(&scene, 0);
    assert_true(allocated_bytes() < before + 100000);
    expect_service(&scene);
    scene_end(&scene);
}

static void cut_connections_leave_nothing(void **state) {
    (void)state;
    struct scene scene;
    static const char whole[] = "POST /e HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                                "3\r\nabc\r\n0\r\n\r\n" UPGRADE "\r\n"
                                "\x81\x85\0\0\0\0Hello\x01\x83\0\0\0\0abc\x88\x82\0\0\0\0\x03\xe8";
    scene_begin(&scene, &roomy);
    scene.echo_off = true;
    for (size_t size = 0; size < sizeof whole; size += 3) {
        struct client client;
        client_connect(&client, &scene);
        client_send(&client, slice_make(whole, size));
        if (size % 2)
            scene_pass(&scene, 0);
        if (size % 4 < 2)
            client_abort(&client);
        else
            client_close(&client);
    }
    scene_wait_connections(&scene, 0);
    expect_service(&scene);
    scene_end(&scene);
}

/* Pipelined requests whose answers nobody reads: the next is not parsed while one waits. */
static void pipelined_requests_do_not_pile_up(void **state) {
    (void)state;
    struct scene scene;
    struct client client;
    scene_begin(&scene, &roomy);
    scene.chunk = bytes_create(8 << 20);
    memset(scene.chunk->data, 'x', scene.chunk->size);
    size_t before = allocated_bytes();
    client_connect(&client, &scene);
    client_deafen(&client);
    struct text requests = {0};
    for (int i = 0; i < 1000; i++)
        text_append_text(&requests, "GET /large HTTP/1.1\r\nHost: h\r\n\r\n");
    client_send(&client, text_slice(&requests));
    text_finish(&requests);
    scene_pass(&scene, 20);
    assert_int_equal(strlen(scene.trace.data), strlen("/large"));
    assert_true(allocated_bytes() < before + (1 << 20));
    client_close(&client);
    scene_end(&scene);
}

/* While a request is being answered only a little is read ahead. */
static void what_is_pipelined_waits_at_the_client(void **state) {
    (void)state;
    struct scene scene;
    struct client client;
    scene_begin(&scene, &roomy);
    client_connect(&client, &scene);
    client_send_text(&client, "GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
    scene_wait(&scene, "/wait");
    size_t before = allocated_bytes();
    static char junk[100000];
    for (int turns = 0, sent = 0; turns < 50 && sent < 64 << 20;) {
        ssize_t result = send(client.fd, junk, sizeof junk, MSG_NOSIGNAL);
        sent += result > 0 ? (int)result : 0;
        turns += result < 0;
        if (result < 0)
            scene_pass(&scene, 1);
    }
    assert_true(allocated_bytes() < before + (1 << 20));
    client_abort(&client);
    scene_end(&scene);
}

/* -- many ones -------------------------------------------------------------------------------- */

/* Bodies that never end, by many: all together they are bounded, and small ones are still taken. */
static void bodies_are_bounded_together(void **state) {
    (void)state;
    enum { COUNT = 12 };
    struct scene scene;
    struct client clients[COUNT];
    struct http_limits limits = roomy;
    limits.body = 200000;
    scene_begin(&scene, &limits);
    static char part[180000];
    int refused = 0;
    for (int i = 0; i < COUNT; i++) {
        client_connect(&clients[i], &scene);
        client_send_text(&clients[i],
                         "POST /e HTTP/1.1\r\nHost: h\r\nContent-Length: 200000\r\n\r\n");
        client_send(&clients[i], slice_make(part, sizeof part));
        scene_pass(&scene, 5);
    }
    for (int waited_ms = 0; refused < 3 && waited_ms < 30000; waited_ms += 5) {
        scene_pass(&scene, 5);
        refused = 0;
        for (int i = 0; i < COUNT; i++)
            refused += client_has(&clients[i], "HTTP/1.1 503 Service Unavailable\r\n") &&
                       client_has(&clients[i], "\"too_many_bodies\"");
    }
    assert_true(refused >= 3 && refused < COUNT); /* 8 * 200000 / 180000 fit */
    struct client small;
    client_connect(&small, &scene);
    client_send_text(&small, "POST /e HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nsmall");
    client_wait(&small, "\r\n\r\nsmall");
    for (int i = 0; i < COUNT; i++)
        client_abort(&clients[i]);
    scene_wait_connections(&scene, 1);
    client_forget(&small);
    client_send_text(&small, "POST /e HTTP/1.1\r\nHost: h\r\nContent-Length: 180000\r\n\r\n");
    client_send(&small, slice_make(part, sizeof part));
    client_wait_size(&small, sizeof part); /* what others held is free again */
    client_close(&small);
    scene_end(&scene);
}

static void too_many_connections_are_told(void **state) {
    (void)state;
    struct scene scene;
    struct client clients[4];
    struct http_limits limits = roomy;
    limits.connections = 3;
    scene_begin(&scene, &limits);
    for (int i = 0; i < 3; i++)
        client_connect(&clients[i], &scene);
    scene_wait_connections(&scene, 3);
    client_connect(&clients[3], &scene);
    client_send_text(&clients[3], "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    client_wait_end(&clients[3]);
    assert_true(client_has(&clients[3], "HTTP/1.1 503 Service Unavailable\r\n"));
    assert_true(client_has(&clients[3], "More than http_connections = 3 are open."));
    client_close(&clients[3]);
    client_close(&clients[0]);
    scene_wait_connections(&scene, 2);
    expect_service(&scene);
    client_close(&clients[1]);
    client_close(&clients[2]);
    scene_end(&scene);
}

static void a_crowd_at_the_door_is_bounded(void **state) {
    (void)state;
    enum { CROWD = 200 };
    struct scene scene;
    struct client clients[CROWD];
    struct http_limits limits = roomy;
    limits.connections = 1;
    scene_begin(&scene, &limits);
    for (int i = 0; i < CROWD; i++)
        client_connect(&clients[i], &scene);
    for (int i = 1; i < CROWD; i++) {
        client_wait_end(&clients[i]);
        assert_true(http_server_connections(scene.server) <= 65);
    }
    assert_false(clients[0].gone);
    for (int i = 0; i < CROWD; i++)
        client_close(&clients[i]);
    scene_end(&scene);
}

static void idle_connections_cost_little(void **state) {
    (void)state;
    enum { COUNT = 300 };
    struct scene scene;
    static struct client clients[COUNT];
    scene_begin(&scene, &roomy);
    expect_service(&scene);
    scene_wait_connections(&scene, 0);
    size_t before = allocated_bytes();
    for (int i = 0; i < COUNT; i++) {
        client_connect(&clients[i], &scene);
        client_upgrade(&clients[i]);
        client_send_frame(&clients[i], 0x81, SLICE_LITERAL("x"));
        client_wait(&clients[i], "\x81\x01x");
        client_forget(&clients[i]);
    }
    assert_int_equal(http_server_connections(scene.server), COUNT);
    assert_true((allocated_bytes() - before) / COUNT < 4096); /* the client's watch included */
    for (int i = 0; i < COUNT; i++)
        client_close(&clients[i]);
    scene_wait_connections(&scene, 0);
    scene_end(&scene);
}

static void no_descriptors_left_is_survived(void **state) {
    (void)state;
    struct scene scene;
    struct client old, new;
    scene_begin(&scene, &roomy);
    client_connect(&old, &scene);
    scene_wait_connections(&scene, 1);
    client_connect(&new, &scene); /* in the backlog */
    struct rlimit limit, low;
    getrlimit(RLIMIT_NOFILE, &limit);
    int lowest_free = dup(0);
    close(lowest_free);
    low = (struct rlimit){(rlim_t)lowest_free, limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    client_send_text(&new, "GET /new HTTP/1.1\r\nHost: h\r\n\r\n");
    client_send_text(&old, "GET /old HTTP/1.1\r\nHost: h\r\n\r\n");
    client_wait(&old, "\r\n\r\n/old");
    clock_t begin = clock();
    scene_pass(&scene, 300);
    assert_true((double)(clock() - begin) / CLOCKS_PER_SEC < 0.15); /* it rests, not spins */
    assert_int_equal(http_server_connections(scene.server), 1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    client_wait(&new, "\r\n\r\n/new");
    client_close(&old);
    client_close(&new);
    scene_end(&scene);
}

/* -- WebSockets ------------------------------------------------------------------------------- */

static void floods_of_pings_cost_nothing(void **state) {
    (void)state;
    struct scene scene;
    struct client client;
    scene_begin(&scene, &roomy);
    client_connect(&client, &scene);
    client_upgrade(&client);
    struct text pings = {0};
    char payload[125];
    memset(payload, 'p', sizeof payload);
    for (int i = 0; i < 1000; i++)
        append_frame(&pings, 0x89, slice_make(payload, sizeof payload));
    client_deafen(&client);
    size_t before = allocated_bytes();
    for (int i = 0; i < 100; i++) { /* 13 MB */
        client_send(&client, text_slice(&pings));
        assert_true(allocated_bytes() < before + 600000);
    }
    client_listen(&client);
    client_send_frame(&client, 0x89, SLICE_LITERAL("the last"));
    client_wait(&client, "\x8a\x08the last");
    text_finish(&pings);
    client_close(&client);
    scene_end(&scene);
}

static void floods_of_fragments_end(void **state) {
    (void)state;
    struct scene scene;
    struct client client;
    scene_begin(&scene, &roomy);
    client_connect(&client, &scene);
    client_upgrade(&client);
    struct text fragments = {0};
    append_frame(&fragments, 0x01, SLICE_LITERAL(""));
    for (int i = 0; i < 100000; i++)
        append_frame(&fragments, 0x00, SLICE_LITERAL(""));
    size_t before = allocated_bytes();
    client_send(&client, text_slice(&fragments));
    assert_true(allocated_bytes() < before + 600000);
    text_finish(&fragments);
    client_wait_end(&client);
    assert_true(
        client_has(&client, "\x03\xf1the message has more fragments than ws_fragments = 1000"));
    assert_non_null(strstr(scene.trace.data, "close:1009:"));
    client_close(&client);
    scene_end(&scene);
}

/* Who announces much and sends little costs little. */
static void announced_frames_take_no_memory(void **state) {
    (void)state;
    enum { COUNT = 50 };
    struct scene scene;
    struct client clients[COUNT];
    scene_begin(&scene, &roomy);
    for (int i = 0; i < COUNT; i++) {
        client_connect(&clients[i], &scene);
        client_upgrade(&clients[i]);
        client_send(&clients[i], slice_make("\x82\xff\0\0\0\0\0\x70\0\0keys", 14));
    }
    scene_pass(&scene, 5);
    size_t before = allocated_bytes();
    for (int i = 0; i < COUNT; i++)
        client_send_text(&clients[i], "a few bytes of seven million");
    scene_pass(&scene, 5);
    assert_true(allocated_bytes() <= before + COUNT * ((size_t)1100 << 10));
    for (int i = 0; i < COUNT; i++)
        client_abort(&clients[i]);
    scene_wait_connections(&scene, 0);
    scene_end(&scene);
}

static void a_deaf_peer_is_closed_in_time(void **state) {
    (void)state;
    struct scene scene;
    struct client client;
    struct http_limits limits = roomy;
    limits.ws_queue = 100000;
    limits.ws_close_ms = 60;
    scene_begin(&scene, &limits);
    client_connect(&client, &scene);
    client_upgrade(&client);
    client_deafen(&client);
    struct bytes *payload = scene.chunk = bytes_create(10000);
    memset(payload->data, 'x', payload->size);
    while (ws_send(scene.ws, payload, true) <= limits.ws_queue)
        ;
    scene_wait(&scene, "close:1013:more than ws_queue_bytes = 100000 wait to be read");
    assert_int_equal(http_server_connections(scene.server), 0);
    client_close(&client);
    expect_service(&scene);
    scene_end(&scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slow_heads_and_bodies_end),
        cmocka_unit_test(who_does_not_read_is_dropped),
        cmocka_unit_test(an_early_refusal_arrives_before_the_reset),
        cmocka_unit_test(garbage_is_refused_and_forgotten),
        cmocka_unit_test(cut_connections_leave_nothing),
        cmocka_unit_test(pipelined_requests_do_not_pile_up),
        cmocka_unit_test(what_is_pipelined_waits_at_the_client),
        cmocka_unit_test(bodies_are_bounded_together),
        cmocka_unit_test(too_many_connections_are_told),
        cmocka_unit_test(a_crowd_at_the_door_is_bounded),
        cmocka_unit_test(idle_connections_cost_little),
        cmocka_unit_test(no_descriptors_left_is_survived),
        cmocka_unit_test(floods_of_pings_cost_nothing),
        cmocka_unit_test(floods_of_fragments_end),
        cmocka_unit_test(announced_frames_take_no_memory),
        cmocka_unit_test(a_deaf_peer_is_closed_in_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
