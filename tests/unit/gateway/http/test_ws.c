#include "scene.h"

#include <sys/un.h>

static void accepts_and_echoes(void **state) {
    (void)state;
    struct scene scene;
    struct client client;
    scene_begin(&scene, &roomy);
    client_connect(&client, &scene);
    client_send_text(&client, UPGRADE "Sec-WebSocket-Protocol: v1.test\r\n"
                                      "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n");
    client_wait(&client, "\r\n\r\n");
    assert_true(client_has(&client, "HTTP/1.1 101 Switching Protocols\r\n"));
    /* The example of RFC 6455 section 1.3. */
    assert_true(client_has(&client, "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
    assert_true(client_has(&client, "Sec-WebSocket-Protocol: v1.test\r\n"));
    assert_false(client_has(&client, "Extensions"));
    client_send_frame(&client, 0x81, SLICE_LITERAL("Hello"));
    client_wait(&client, "\x81\x05Hello");
    client_send_frame(&client, 0x82, SLICE_LITERAL("\xff\xfe"));
    client_wait(&client, "\x82\x02\xff\xfe");
    client_close(&client);
    scene_wait(&scene, "close:1006:");
    scene_end(&scene);
}

static void takes_frames_glued_to_the_head(void **state) {
    (void)state;
    struct scene scene;
    struct client client;
    scene_begin(&scene, &roomy);
    client_connect(&client, &scene);
    struct text all = {0};
    text_append_text(&all, UPGRADE "\r\n");
    append_frame(&all, 0x81, SLICE_LITERAL("first"));
    append_frame(&all, 0x81, SLICE_LITERAL("second"));
    append_frame(&all, 0x89, SLICE_LITERAL("ping"));
    client_send(&client, text_slice(&all));
    text_finish(&all);
    client_wait(&client, "\x81\x05"
                         "first\x81\x06"
                         "second\x8a\x04ping");
    client_close(&client);
    scene_end(&scene);
}

static void takes_fragments_byte_by_byte(void **state) {
    (void)state;
    struct scene scene;
    struct client client;
    scene_begin(&scene, &roomy);
    client_connect(&client, &scene);
    client_upgrade(&client);
    struct text all = {0};
    append_frame(&all, 0x01, SLICE_LITERAL("h\xc3"));
    append_frame(&all, 0x89, SLICE_LITERAL("between"));
    append_frame(&all, 0x00, SLICE_LITERAL("\xa4ll"));
    append_frame(&all, 0x80, SLICE_LITERAL("o"));
    for (size_t i = 0; i < all.size; i++) {
        client_send(&client, slice_make(all.data + i, 1));
        scene_pass(&scene, 0);
    }
    text_finish(&all);
    client_wait(&client, "\x8a\x07"
                         "between\x81\x06h\xc3\xa4"
                         "llo");
    client_close(&client);
    scene_end(&scene);
}

static void sends_and_takes_large_messages(void **state) {
    (void)state;
    struct scene scene;
    struct client client;
    scene_begin(&scene, &roomy);
    client_connect(&client, &scene);
    client_upgrade(&client);
    static const size_t sizes[] = {125, 126, 65535, 65536, 300000, 3 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        cleanup_bytes struct bytes *payload = bytes_create(sizes[i]);
        for (size_t j = 0; j < payload->size; j++)
            payload->data[j] = (uint8_t)(j * 31 >> 3);
        client_send_frame(&client, 0x82, bytes_slice(payload));
        size_t header = sizes[i] > 65535 ? 10 : sizes[i] > 125 ? 4 : 2;
        client_wait_size(&client, header + sizes[i]);
        assert_int_equal(client.received.size, header + sizes[i]);
        assert_memory_equal(client.received.data + header, payload->data, sizes[i]);
        client_forget(&client);
    }
    client_close(&client);
    scene_end(&scene);
}

static void closes_when_the_peer_does(void **state) {
    (void)state;
    struct scene scene;
    struct client client;
    scene_begin(&scene, &roomy);
    client_connect(&client, &scene);
    client_upgrade(&client);
    client_send_frame(&client, 0x88, SLICE_LITERAL("\x03\xf4 see you"));
    client_wait_end(&client);
    assert_true(client_has(&client, "\x88\x02\x03\xf4"));
    assert_string_equal(scene.trace.data, "/ws close:1012: see you");
    client_close(&client);
    scene_end(&scene);
}

static void closes_when_the_owner_does(void **state) {
    (void)state;
    struct scene scene;
    struct client client;
    scene_begin(&scene, &roomy);
    client_connect(&client, &scene);
    client_upgrade(&client);
    client_send_frame(&client, 0x81, SLICE_LITERAL("close me"));
    client_wait(&client, "\x88\x0d\x0f\xa0"
                         "as you wish");
    client_send_frame(&client, 0x81, SLICE_LITERAL("not heard any more"));
    scene_pass(&scene, 5);
    assert_string_equal(scene.trace.data, "/ws");
    client_send_frame(&client, 0x88, SLICE_LITERAL("\x0f\xa0"));
    client_wait_end(&client);
    assert_string_equal(scene.trace.data, "/ws close:4000:as you wish");
    client_close(&client);
    scene_end(&scene);
}

static void does_not_wait_for_ever_for_a_close(void **state) {
    (void)state;
    struct scene scene;
    struct client client;
    struct http_limits limits = roomy;
    limits.ws_close_ms = 20;
    scene_begin(&scene, &limits);
    client_connect(&client, &scene);
    client_upgrade(&client);
    ws_close(scene.ws, 1000, NULL);
    assert_string_equal(scene.trace.data, "/ws"); /* on_close is not called from within */
    scene_wait(&scene, "close:1000:");
    assert_int_equal(http_server_connections(scene.server), 0);
    client_close(&client);
    scene_end(&scene);
}

static void tells_what_was_wrong(void **state) {
    (void)state;
    static const struct {
        uint8_t first;
        const char *payload;
        const char *answer, *trace;
    } cases[] = {
        {0xc1, "x", "\x03\xea", "close:1002:a reserved bit is set"},
        {0x83, "x", "\x03\xea", "close:1002:the opcode is reserved"},
        {0x80, "x", "\x03\xea", "close:1002:a continuation without a message"},
        {0x81, "\xff", "\x03\xef", "close:1007:the text is not UTF-8"},
        {0x88, "x", "\x03\xea", "close:1002:half a close code"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scene scene;
        struct client client;
        scene_begin(&scene, &roomy);
        client_connect(&client, &scene);
        client_upgrade(&client);
        client_send_frame(&client, cases[i].first, slice_from_text(cases[i].payload));
        client_wait_end(&client);
        assert_int_equal((uint8_t)client.received.data[0], 0x88);
        assert_memory_equal(client.received.data + 2, cases[i].answer, 2);
        assert_non_null(strstr(scene.trace.data, cases[i].trace));
        client_close(&client);
        scene_end(&scene);
    }
}

static void names_the_limit_of_a_message(void **state) {
    (void)state;
    struct scene scene;
    struct client client;
    struct http_limits limits = roomy;
    limits.ws_message = 1000;
    scene_begin(&scene, &limits);
    client_connect(&client, &scene);
    client_upgrade(&client);
    client_send_text(&client, "\x82\xfe\x03\xe9"); /* no byte of the payload is needed */
    client_wait_end(&client);
    assert_true(client_has(&client, "\x03\xf1the message is larger than ws_message_bytes = 1000"));
    client_close(&client);
    scene_end(&scene);
}

static void closes_a_peer_that_does_not_read(void **state) {
    (void)state;
    struct scene scene;
    struct client client;
    struct http_limits limits = roomy;
    limits.ws_queue = 100000;
    scene_begin(&scene, &limits);
    client_connect(&client, &scene);
    client_upgrade(&client);
    client_deafen(&client);
    struct bytes *payload = scene.chunk = bytes_create(10000);
    memset(payload->data, 'x', payload->size);
    size_t sent = 0;
    do
        sent += payload->size + 4;
    while (ws_send(scene.ws, payload, true) <= limits.ws_queue);
    assert_int_equal(ws_send(scene.ws, payload, true), 0);
    assert_string_equal(scene.trace.data, "/ws");
    client_listen(&client); /* it reads at last: everything, and why it ends */
    client_wait(&client, "more than ws_queue_bytes = 100000 wait to be read");
    assert_true(client.received.size > sent);
    client_send_frame(&client, 0x88, SLICE_LITERAL("\x03\xf5"));
    client_wait_end(&client);
    assert_non_null(strstr(scene.trace.data, "close:1013:more than ws_queue_bytes = 100000"));
    client_close(&client);
    scene_end(&scene);
}

static void tells_when_the_queue_is_empty(void **state) {
    (void)state;
    struct scene scene;
    struct client client;
    scene_begin(&scene, &roomy);
    client_connect(&client, &scene);
    client_upgrade(&client);
    client_deafen(&client);
    struct bytes *payload = scene.chunk = bytes_create(100000);
    memset(payload->data, 'x', payload->size);
    while (ws_send(scene.ws, payload, true) == 0)
        ;
    client_send_frame(&client, 0x89, SLICE_LITERAL("one")); /* pings while nothing goes out: */
    client_send_frame(&client, 0x89, SLICE_LITERAL("two")); /* the last one is answered */
    scene_pass(&scene, 5);
    assert_string_equal(scene.trace.data, "/ws");
    client_listen(&client);
    scene_wait(&scene, "drained");
    client_wait(&client, "\x8a\x03two");
    assert_false(client_has(&client, "one"));
    client_close(&client);
    scene_end(&scene);
}

static void reads_nothing_while_paused(void **state) {
    (void)state;
    struct scene scene;
    struct client client;
    scene_begin(&scene, &roomy);
    scene.echo_off = true;
    client_connect(&client, &scene);
    client_upgrade(&client);
    ws_pause(scene.ws, true);
    struct text all = {0};
    append_frame(&all, 0x81, SLICE_LITERAL("1"));
    append_frame(&all, 0x81, SLICE_LITERAL("12"));
    client_send(&client, text_slice(&all));
    text_finish(&all);
    scene_pass(&scene, 5);
    assert_string_equal(scene.trace.data, "/ws");
    ws_pause(scene.ws, false);
    assert_string_equal(scene.trace.data, "/ws"); /* not from within */
    scene_wait(&scene, "message:1 message:2");
    client_close(&client);
    scene_end(&scene);
}

static void loses_nothing_that_came_before_the_end(void **state) {
    (void)state;
    struct scene scene;
    struct client client;
    scene_begin(&scene, &roomy);
    scene.echo_off = true;
    client_connect(&client, &scene);
    client_upgrade(&client);
    struct text all = {0};
    for (int i = 0; i < 1000; i++)
        append_frame(&all, 0x81, SLICE_LITERAL("."));
    client_send(&client, text_slice(&all));
    text_finish(&all);
    scene_wait(&scene, "message:1");
    ws_pause(scene.ws, true);
    client_close(&client);
    scene_pass(&scene, 5);
    assert_null(strstr(scene.trace.data, "close"));
    ws_pause(scene.ws, false);
    scene_wait(&scene, "close:1006:");
    size_t count = 0;
    for (const char *at = scene.trace.data; (at = strstr(at, "message")); at++)
        count++;
    assert_int_equal(count, 1000);
    scene_end(&scene);
}

/* The socket turns out to be broken within ws_send: the owner is told later, from the loop. */
static void finds_a_broken_socket_while_sending(void **state) {
    (void)state;
    struct scene scene;
    struct client client;
    scene_begin(&scene, &roomy);
    client_connect(&client, &scene);
    client_upgrade(&client);
    client_abort(&client);
    scene.chunk = bytes_copy(SLICE_LITERAL("nobody reads this"));
    for (int i = 0; i < 3; i++)
        ws_send(scene.ws, scene.chunk, true);
    ws_close(scene.ws, 1000, "neither this");
    assert_string_equal(scene.trace.data, "/ws");
    scene_wait(&scene, "close:1000:neither this");
    scene_pass(&scene, 5);
    assert_null(strstr(strstr(scene.trace.data, "close:") + 1, "close:"));
    scene_end(&scene);
}

/* Fragments of a message that never ends, a ping in the owner's face, and the end of the server. */
static void ends_within_a_message(void **state) {
    (void)state;
    struct scene scene;
    struct client client;
    scene_begin(&scene, &roomy);
    client_connect(&client, &scene);
    client_upgrade(&client);
    struct text all = {0};
    append_frame(&all, 0x01, SLICE_LITERAL("a beginning"));
    append_frame(&all, 0x89, SLICE_LITERAL("here"));
    append_frame(&all, 0x80, SLICE_LITERAL("and half an end"));
    client_send(&client, slice_make(all.data, all.size - 3));
    text_finish(&all);
    client_wait(&client, "\x8a\x04here");
    http_server_destroy(scene.server);
    scene.server = NULL;
    assert_string_equal(scene.trace.data, "/ws close:1012:the server is going down");
    client_close(&client);
    scene_end(&scene);
}

/* Bytes behind a close frame mean nothing. */
static void hears_nothing_behind_a_close(void **state) {
    (void)state;
    struct scene scene;
    struct client client;
    scene_begin(&scene, &roomy);
    client_connect(&client, &scene);
    client_upgrade(&client);
    struct text all = {0};
    append_frame(&all, 0x88, SLICE_LITERAL(""));
    append_frame(&all, 0x81, SLICE_LITERAL("unheard"));
    append_frame(&all, 0x83, SLICE_LITERAL("and wrong"));
    client_send(&client, text_slice(&all));
    text_finish(&all);
    client_wait_end(&client);
    assert_int_equal(client.received.size, 2);
    assert_memory_equal(client.received.data, "\x88\0", 2); /* no code is answered by none */
    assert_string_equal(scene.trace.data, "/ws close:1005:");
    client_close(&client);
    scene_end(&scene);
}

static void refuses_what_is_no_upgrade(void **state) {
    (void)state;
    static const struct {
        const char *request, *answer, *header;
    } cases[] = {
        {"GET /ws HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 400 ", "not an upgrade"},
        {"GET /ws HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
         "HTTP/1.1 400 ", "\"code\": \"bad_upgrade\""},
        {"GET /ws HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: upgrade\r\n"
         "Sec-WebSocket-Version: 8\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
         "HTTP/1.1 426 Upgrade Required\r\n",
         "Sec-WebSocket-Version: 13\r\nUpgrade: websocket\r\n"},
        {"GET /plain HTTP/1.1\r\nHost: h\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n",
         "HTTP/1.1 200 ", "/plain"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scene scene;
        struct client client;
        scene_begin(&scene, &roomy);
        client_connect(&client, &scene);
        client_send_text(&client, cases[i].request);
        client_wait(&client, cases[i].header);
        assert_true(client_has(&client, cases[i].answer));
        client_close(&client);
        scene_end(&scene);
    }
}

/* Records keep their borders on such a socket, so each write of the server is one recv here. */
static void writes_each_frame_at_once(void **state) {
    (void)state;
    struct scene scene;
    struct client client = {.scene = &scene};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t size = sizeof address;
    scene_begin(&scene, &roomy);
    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(sa_family_t)), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    assert_int_equal(http_server_listen_take(scene.server, listener, NULL), 0);
    client.fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(connect(client.fd, (struct sockaddr *)&address, size), 0);
    client_listen(&client);
    client_upgrade(&client);
    client_deafen(&client);
    static uint8_t record[100000];
    static const size_t sizes[] = {0, 1, 500, 5000, 60000, 70000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct bytes *payload = bytes_create(sizes[i]);
        memset(payload->data, 'x', sizes[i]);
        assert_int_equal(ws_send(scene.ws, payload, true), 0);
        bytes_unref(payload);
        uint8_t header[WS_HEADER_MAX];
        size_t header_size = ws_encode_header(header, WS_OPCODE_BINARY, sizes[i]);
        assert_int_equal(recv(client.fd, record, sizeof record, 0), header_size + sizes[i]);
        assert_memory_equal(record, header, header_size);
    }
    client_close(&client);
    scene_end(&scene);
}

/* The server's end of a client's connection. */
static int find_server_end(const struct client *client) {
    struct sockaddr_in wanted, peer;
    socklen_t size = sizeof wanted;
    getsockname(client->fd, (struct sockaddr *)&wanted, &size);
    for (int fd = 3; fd < 100; fd++) {
        size = sizeof peer;
        if (getpeername(fd, (struct sockaddr *)&peer, &size) == 0 && size == sizeof peer &&
            memcmp(&peer, &wanted, sizeof peer) == 0)
            return fd;
    }
    return -1;
}

static void does_not_let_small_frames_wait(void **state) {
    (void)state;
    struct scene scene;
    struct client client;
    scene_begin(&scene, &roomy);
    client_connect(&client, &scene);
    client_upgrade(&client);
    int on = 0, fd = find_server_end(&client);
    socklen_t size = sizeof on;
    assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, &size), 0);
    assert_int_equal(on, 1);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    client_close(&client);
    scene_end(&scene);
}

struct turns {
    struct loop_timer *timer;
    int count;
};

static void count_turn(void *context) {
    struct turns *turns = context;
    turns->count++;
    loop_timer_start(turns->timer, 0);
}

/* A flood of small frames is taken in many turns, between which others have theirs. */
static void gives_every_client_its_turn(void **state) {
    (void)state;
    struct scene scene;
    struct client flood;
    scene_begin(&scene, &roomy);
    scene.echo_off = true;
    client_connect(&flood, &scene);
    client_upgrade(&flood);
    struct text all = {0};
    for (int i = 0; i < 6400; i++)
        append_frame(&all, 0x81, SLICE_LITERAL("."));
    append_frame(&all, 0x81, SLICE_LITERAL("last"));
    struct turns turns = {0};
    turns.timer = loop_timer_create(scene.loop, count_turn, &turns);
    loop_timer_start(turns.timer, 0);
    client_send(&flood, text_slice(&all));
    text_finish(&all);
    scene_wait(&scene, "message:4");
    assert_true(turns.count >= 100);
    loop_timer_destroy(turns.timer);
    client_close(&flood);
    scene_end(&scene);
}

static void pings_a_silent_peer_and_leaves_it_alone(void **state) {
    (void)state;
    struct scene scene;
    struct client client;
    struct http_limits limits = roomy;
    limits.ws_ping_ms = 5;
    scene_begin(&scene, &limits);
    client_connect(&client, &scene);
    client_upgrade(&client);
    client_wait_size(&client, 10);
    assert_memory_equal(client.received.data, "\x89\0\x89\0\x89\0\x89\0\x89\0", 10);
    client_send_frame(&client, 0x8a, SLICE_LITERAL(""));
    client_forget(&client);
    client_send_frame(&client, 0x81, SLICE_LITERAL("still here"));
    client_wait(&client, "still here");
    client_close(&client);
    scene_end(&scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts_and_echoes),
        cmocka_unit_test(takes_frames_glued_to_the_head),
        cmocka_unit_test(takes_fragments_byte_by_byte),
        cmocka_unit_test(sends_and_takes_large_messages),
        cmocka_unit_test(closes_when_the_peer_does),
        cmocka_unit_test(closes_when_the_owner_does),
        cmocka_unit_test(does_not_wait_for_ever_for_a_close),
        cmocka_unit_test(tells_what_was_wrong),
        cmocka_unit_test(names_the_limit_of_a_message),
        cmocka_unit_test(closes_a_peer_that_does_not_read),
        cmocka_unit_test(tells_when_the_queue_is_empty),
        cmocka_unit_test(reads_nothing_while_paused),
        cmocka_unit_test(loses_nothing_that_came_before_the_end),
        cmocka_unit_test(gives_every_client_its_turn),
        cmocka_unit_test(finds_a_broken_socket_while_sending),
        cmocka_unit_test(ends_within_a_message),
        cmocka_unit_test(hears_nothing_behind_a_close),
        cmocka_unit_test(refuses_what_is_no_upgrade),
        cmocka_unit_test(writes_each_frame_at_once),
        cmocka_unit_test(does_not_let_small_frames_wait),
        cmocka_unit_test(pings_a_silent_peer_and_leaves_it_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
