#include "scene.h"

#include <sys/un.h>

static void answers_requests_on_one_connection(void **state) {
    (void)state;
    struct scene scene;
    struct client client;
    scene_begin(&scene, &roomy);
    client_connect(&client, &scene);
    client_send_text(&client, "GET /one?a=1 HTTP/1.1\r\nHost: h\r\n\r\n");
    client_wait(&client, "\r\n\r\n/one");
    assert_true(client_has(&client, "HTTP/1.1 200 OK\r\nDate: "));
    assert_true(client_has(&client, "Content-Length: 4\r\n"));
    assert_true(client_has(&client, "Content-Type: text/plain\r\n"));
    assert_false(client_has(&client, "Connection:"));
    client_forget(&client);
    client_send_text(&client, "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc");
    client_wait(&client, "\r\n\r\nabc");
    client_forget(&client);
    client_send_text(&client, "POST /none HTTP/1.1\r\nHost: h\r\n\r\n");
    client_wait(&client, "\r\n\r\n/none");
    assert_int_equal(http_server_connections(scene.server), 1);
    client_close(&client);
    scene_wait_connections(&scene, 0);
    scene_end(&scene);
}

static void closes_when_asked(void **state) {
    (void)state;
    struct scene scene;
    struct client client;
    scene_begin(&scene, &roomy);
    client_connect(&client, &scene);
    client_send_text(&client, "GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\t\r\n\r\n"
                              "GET /b HTTP/1.1\r\nHost: h\r\n\r\n");
    client_wait_end(&client);
    assert_true(client_has(&client, "Connection: close\r\n"));
    assert_true(client_has(&client, "\r\n\r\n/a"));
    assert_string_equal(scene.trace.data, "/a");
    client_close(&client);
    scene_end(&scene);
}

static void speaks_http_1_0(void **state) {
    (void)state;
    struct scene scene;
    struct client client;
    scene_begin(&scene, &roomy);
    client_connect(&client, &scene);
    client_send_text(&client, "GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    client_wait(&client, "\r\n\r\n/a");
    assert_true(client_has(&client, "Connection: keep-alive\r\n"));
    client_send_text(&client, "GET /b HTTP/1.0\r\n\r\n");
    client_wait_end(&client);
    assert_true(client_has(&client, "\r\n\r\n/b"));
    assert_true(client_has(&client, "Connection: close\r\n"));
    client_close(&client);
    scene_end(&scene);
}

static void sends_no_body_where_there_is_none(void **state) {
    (void)state;
    struct scene scene;
    struct client client;
    scene_begin(&scene, &roomy);
    client_connect(&client, &scene);
    client_send_text(&client, "HEAD /four HTTP/1.1\r\nHost: h\r\n\r\n"
                              "DELETE /empty HTTP/1.1\r\nHost: h\r\n\r\n"
                              "HEAD /stream HTTP/1.1\r\nHost: h\r\n\r\n");
    scene_wait(&scene, "/stream");
    struct bytes *chunk = scene.chunk = bytes_copy(SLICE_LITERAL("unseen"));
    http_reply_chunk(scene.waiting, chunk);
    http_reply_end(scene.waiting);
    client_send_text(&client, "OPTIONS /last HTTP/1.1\r\nHost: h\r\n\r\n");
    client_wait(&client, "\r\n\r\n/last");
    assert_true(client_has(&client, "Content-Length: 5\r\n\r\nHTTP/1.1 204 No Content\r\n"));
    assert_int_equal(client_count(&client, "Content-Length"), 2); /* not of the 204 */
    assert_int_equal(client_count(&client, "\r\n\r\nHTTP/1.1"), 3);
    client_close(&client);
    scene_end(&scene);
}

static void takes_chunked_bodies(void **state) {
    (void)state;
    struct scene scene;
    struct client client;
    scene_begin(&scene, &roomy);
    client_connect(&client, &scene);
    const char *request = "POST /e HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                          "5\r\nhello\r\n3;x=y\r\n, w\r\n04\r\norld\r\n0\r\n\r\n"
                          "GET /next HTTP/1.1\r\nHost: h\r\n\r\n";
    client_send_text(&client, request);
    client_wait(&client, "\r\n\r\nhello, worldHTTP/1.1 200 OK");
    client_wait(&client, "\r\n\r\n/next");
    client_forget(&client);
    for (const char *at = request; *at; at++) {
        client_send(&client, slice_make(at, 1));
        scene_pass(&scene, 0);
    }
    client_wait(&client, "\r\n\r\nhello, worldHTTP/1.1 200 OK");
    client_wait(&client, "\r\n\r\n/next");
    client_close(&client);
    scene_end(&scene);
}

static void answers_pipelined_requests_in_order(void **state) {
    (void)state;
    struct scene scene;
    struct client client;
    scene_begin(&scene, &roomy);
    client_connect(&client, &scene);
    client_send_text(&client, "GET /wait HTTP/1.1\r\nHost: h\r\n\r\n"
                              "POST /e HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\ntwo"
                              "GET /three HTTP/1.1\r\nHost: h\r\n\r\n");
    scene_wait(&scene, "/wait");
    scene_pass(&scene, 5);
    assert_string_equal(scene.trace.data, "/wait"); /* the next is not even parsed */
    reply_text(scene.waiting, 200, SLICE_LITERAL("one"));
    assert_string_equal(scene.trace.data, "/wait"); /* and not from within http_reply */
    client_wait(&client, "/three");
    const char *one = strstr(client.received.data, "one"), *two = strstr(one, "two");
    assert_non_null(two);
    assert_non_null(strstr(two, "/three"));
    client_close(&client);
    scene_end(&scene);
}

static void says_100_before_a_body(void **state) {
    (void)state;
    struct scene scene;
    struct client client;
    scene_begin(&scene, &roomy);
    client_connect(&client, &scene);
    client_send_text(&client, "POST /e HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n"
                              "Content-Length: 3\r\n\r\n");
    client_wait(&client, "HTTP/1.1 100 Continue\r\n\r\n");
    client_send_text(&client, "abc");
    client_wait(&client, "\r\n\r\nabc");
    client_forget(&client);
    /* Not where the body is there already. */
    client_send_text(&client, "POST /e HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n"
                              "Content-Length: 3\r\n\r\nabc");
    client_wait(&client, "\r\n\r\nabc");
    assert_false(client_has(&client, " 100 "));
    client_close(&client);
    scene_end(&scene);
}

static void streams_chunks_with_backpressure(void **state) {
    (void)state;
    struct scene scene;
    struct client client;
    scene_begin(&scene, &roomy);
    client_connect(&client, &scene);
    client_deafen(&client);
    client_send_text(&client, "GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
    scene_wait(&scene, "/stream");
    struct bytes *chunk = scene.chunk = bytes_create(100000);
    memset(chunk->data, 'x', chunk->size);
    size_t count = 0;
    while (http_reply_chunk(scene.waiting, chunk) <= 256 * 1024)
        count++;
    count++;
    scene_pass(&scene, 5);
    assert_string_equal(scene.trace.data, "/stream");
    client_listen(&client);
    scene_wait(&scene, "drained");
    http_reply_end(scene.waiting);
    client_wait(&client, "\r\n0\r\n\r\n");
    assert_true(client_has(&client, "Transfer-Encoding: chunked\r\n"));
    assert_int_equal(client_count(&client, "186a0\r\nxxx"), count);
    assert_true(client.received.size > count * (chunk->size + 9));
    client_close(&client);
    scene_end(&scene);
}

static void streams_to_http_1_0_until_the_end(void **state) {
    (void)state;
    struct scene scene;
    struct client client;
    scene_begin(&scene, &roomy);
    client_connect(&client, &scene);
    client_send_text(&client, "GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    scene_wait(&scene, "/stream");
    struct bytes *chunk = scene.chunk = bytes_copy(SLICE_LITERAL("piece."));
    http_reply_chunk(scene.waiting, chunk);
    http_reply_chunk(scene.waiting, chunk);
    http_reply_end(scene.waiting);
    client_wait_end(&client);
    assert_true(client_has(&client, "\r\n\r\npiece.piece."));
    assert_true(client_has(&client, "Connection: close\r\n"));
    assert_false(client_has(&client, "chunked"));
    client_close(&client);
    scene_end(&scene);
}

static void tells_once_who_left(void **state) {
    (void)state;
    struct scene scene;
    struct client client;
    static const char *targets[] = {"/wait", "/stream"}, *traces[] = {" gone", " stream-gone"};
    for (int i = 0; i < 2; i++) {
        char request[100];
        snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", targets[i]);
        scene_begin(&scene, &roomy);
        client_connect(&client, &scene);
        client_send_text(&client, request);
        scene_wait(&scene, targets[i]);
        client_abort(&client);
        scene_wait(&scene, traces[i]);
        scene_pass(&scene, 5);
        assert_int_equal(http_server_connections(scene.server), 0);
        assert_null(strstr(strstr(scene.trace.data, "gone") + 1, "gone"));
        scene_end(&scene);
    }
}

/* The socket turns out to be broken while the owner answers. */
static void finds_a_broken_socket_while_answering(void **state) {
    (void)state;
    struct scene scene;
    struct client client;
    scene_begin(&scene, &roomy);
    client_connect(&client, &scene);
    client_send_text(&client, "GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
    scene_wait(&scene, "/wait");
    client_abort(&client);
    reply_text(scene.waiting, 200, SLICE_LITERAL("nobody reads this"));
    scene_wait_connections(&scene, 0);
    assert_string_equal(scene.trace.data, "/wait"); /* answered, so not gone */
    client_connect(&client, &scene);
    client_send_text(&client, "GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
    scene_wait(&scene, "/stream");
    client_abort(&client);
    scene.chunk = bytes_copy(SLICE_LITERAL("neither this"));
    for (int i = 0; i < 3; i++)
        http_reply_chunk(scene.waiting, scene.chunk);
    assert_string_equal(scene.trace.data, "/wait /stream");
    scene_wait_connections(&scene, 0);
    assert_string_equal(scene.trace.data, "/wait /stream stream-gone");
    scene_end(&scene);
}

static void refuses_in_json_and_closes(void **state) {
    (void)state;
    static const struct {
        const char *request, *status, *body;
    } cases[] = {
        {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n",
         "400 Bad Request", "trailers_not_allowed"},
        {"BREW /pot HTTP/1.1\r\n", "501 Not Implemented",
         "{\"reason\": \"Not Implemented\", \"message\": \"The method is not known.\", "
         "\"code\": \"method_unknown\"}"},
        {"TRACE / HTTP/1.1\r\n", "405 Method Not Allowed", "The method TRACE is not served."},
        {"GET / HTTP/2.0\r\n", "505 HTTP Version Not Supported", "version_not_supported"},
        {"GET / HTTP/1.1\r\n\r\n", "400 Bad Request", "bad_host"},
        {"POST / HTTP/1.1\r\nHost: h\r\nExpect: x\r\n\r\n", "417 Expectation Failed",
         "expectation_failed"},
        {"POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4194305\r\n\r\n",
         "413 Content Too Large", "larger than http_body_bytes = 4194304"},
        {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhalf", "400 Bad Request",
         "incomplete_request"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scene scene;
        struct client client;
        scene_begin(&scene, &roomy);
        client_connect(&client, &scene);
        scene.adds_header = true;
        client_send_text(&client, cases[i].request);
        if (strstr(cases[i].request, "half"))
            shutdown(client.fd, SHUT_WR);
        client_wait_end(&client);
        assert_true(client_has(&client, cases[i].status));
        assert_true(client_has(&client, cases[i].body));
        assert_true(client_has(&client, "Connection: close\r\n"));
        assert_true(client_has(&client, "Content-Type: application/json\r\n"));
        assert_false(client_has(&client, "100 Continue"));
        assert_int_equal(client_has(&client, "Allow: GET, HEAD, POST"),
                         strstr(cases[i].status, "405") != NULL);
        assert_null(scene.trace.data); /* the handler never saw it */
        assert_int_equal(client_has(&client, "\r\nX-Added: one line\r\n"),
                         strstr(cases[i].request, "\r\n\r\n") != NULL); /* its head was whole */
        client_close(&client);
        scene_end(&scene);
    }
}

/* In every form of answer. */
static void adds_the_headers_of_the_owner(void **state) {
    (void)state;
    static const char *const paths[] = {"/a", "/empty", "/stream", "/ws"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct scene scene;
        struct client client;
        scene_begin(&scene, &roomy);
        scene.adds_header = true;
        client_connect(&client, &scene);
        char *request = mem_format("GET %s HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\n"
                                   "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                                   "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n",
                                   paths[i]);
        client_send_text(&client, request);
        mem_free(request);
        client_wait(&client, "\r\n\r\n");
        assert_true(client_has(&client, "\r\nX-Added: one line\r\n"));
        client_abort(&client);
        scene_wait_connections(&scene, 0);
        scene_end(&scene);
    }
}

static void serves_unix_sockets(void **state) {
    (void)state;
    struct scene scene;
    struct client client = {.scene = &scene};
    struct sockaddr_un address = {.sun_family = AF_UNIX}; /* autobound: an abstract name */
    socklen_t size = sizeof address;
    scene_begin(&scene, &roomy);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(sa_family_t)), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    assert_int_equal(http_server_listen_take(scene.server, listener, NULL), 0);
    client.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(connect(client.fd, (struct sockaddr *)&address, size), 0);
    client_listen(&client);
    client_upgrade(&client);
    client_send_frame(&client, 0x81, SLICE_LITERAL("by path"));
    client_wait(&client, "\x81\x07"
                         "by path");
    client_close(&client);
    scene_wait(&scene, "close:1006:");
    scene_end(&scene);
}

static void cannot_listen_on_what_is_no_socket(void **state) {
    (void)state;
    struct scene scene;
    struct err err = {0};
    scene_begin(&scene, &roomy);
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(http_server_listen_take(scene.server, fd, &err), -ENOTSOCK);
    assert_string_equal(err.text, "listen: Socket operation on non-socket");
    scene_end(&scene); /* fd is closed */
}

static void answers_a_client_that_closed_its_half(void **state) {
    (void)state;
    struct scene scene;
    struct client client;
    scene_begin(&scene, &roomy);
    client_connect(&client, &scene);
    client_send_text(&client, "GET /wait HTTP/1.1\r\nHost: h\r\n\r\n"
                              "GET /two HTTP/1.1\r\nHost: h\r\n\r\n");
    shutdown(client.fd, SHUT_WR);
    scene_wait(&scene, "/wait");
    scene_pass(&scene, 5);
    reply_text(scene.waiting, 200, SLICE_LITERAL("one"));
    client_wait_end(&client);
    assert_true(client_has(&client, "one"));
    assert_true(client_has(&client, "/two"));
    client_close(&client);
    scene_end(&scene);
}

static void joins_headers_and_finds_what_was_asked(void **state) {
    (void)state;
    struct scene scene;
    struct client client;
    scene_begin(&scene, &roomy);
    client_connect(&client, &scene);
    client_send_text(&client, "PATCH /wait?x=%41+b&empty HTTP/1.1\r\nhOST: h\r\nX-A:  1 \r\n"
                              "Empty:\r\nx-a: 2\r\nX-B: \t3\t \r\n\r\n");
    scene_wait(&scene, "/wait");
    struct http_request *request = scene.waiting;
    assert_true(slice_equal_text(http_request_method(request), "PATCH"));
    assert_true(slice_equal_text(http_request_path(request), "/wait"));
    assert_true(slice_equal_text(http_request_query(request), "x=%41+b&empty"));
    assert_true(slice_equal_text(http_request_header(request, "X-A"), "1, 2"));
    assert_ptr_equal(http_request_header(request, "x-a").data,
                     http_request_header(request, "X-A").data);
    assert_true(slice_equal_text(http_request_header(request, "x-b"), "3"));
    assert_true(slice_equal_text(http_request_header(request, "empty"), ""));
    assert_non_null(http_request_header(request, "empty").data);
    assert_null(http_request_header(request, "X-C").data);
    assert_int_equal(http_request_body(request).size, 0);
    assert_ptr_equal(http_request_context(request), &scene);
    const struct http_header nasty = {"Location", "/a\r\nSet-Cookie: x"};
    http_reply(request, 201, &nasty, 1, NULL);
    client_wait(&client, "Location: /a  Set-Cookie: x\r\n");
    client_close(&client);
    scene_end(&scene);
}

static void ends_in_the_middle_of_everything(void **state) {
    (void)state;
    struct scene scene;
    struct client clients[4];
    static const char *requests[] = {
        "GET /wait HTTP/1.1\r\nHost: h\r\n\r\n", "GET /half HTTP/1.1\r\nHo",
        "POST /half HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc", UPGRADE "\r\n"};
    scene_begin(&scene, &roomy);
    for (int i = 0; i < 4; i++) {
        client_connect(&clients[i], &scene);
        client_send_text(&clients[i], requests[i]);
    }
    client_wait(&clients[3], "\r\n\r\n");
    scene_pass(&scene, 5);
    assert_int_equal(http_server_connections(scene.server), 4);
    http_server_destroy(scene.server);
    scene.server = NULL;
    assert_non_null(strstr(scene.trace.data, "gone"));
    assert_non_null(strstr(scene.trace.data, "close:1012:the server is going down"));
    client_wait(&clients[3], "\x88\x1a\x03\xf4the server is going down");
    for (int i = 0; i < 4; i++)
        client_close(&clients[i]);
    scene_end(&scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_requests_on_one_connection),
        cmocka_unit_test(closes_when_asked),
        cmocka_unit_test(speaks_http_1_0),
        cmocka_unit_test(sends_no_body_where_there_is_none),
        cmocka_unit_test(takes_chunked_bodies),
        cmocka_unit_test(answers_pipelined_requests_in_order),
        cmocka_unit_test(says_100_before_a_body),
        cmocka_unit_test(streams_chunks_with_backpressure),
        cmocka_unit_test(streams_to_http_1_0_until_the_end),
        cmocka_unit_test(tells_once_who_left),
        cmocka_unit_test(finds_a_broken_socket_while_answering),
        cmocka_unit_test(refuses_in_json_and_closes),
        cmocka_unit_test(adds_the_headers_of_the_owner),
        cmocka_unit_test(serves_unix_sockets),
        cmocka_unit_test(cannot_listen_on_what_is_no_socket),
        cmocka_unit_test(answers_a_client_that_closed_its_half),
        cmocka_unit_test(joins_headers_and_finds_what_was_asked),
        cmocka_unit_test(ends_in_the_middle_of_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
