/* Connections over TLS, as far as real clients cannot tell: what a server does that has nothing to
 * do any more. */
#include <event2/event.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "scene.h"

enum {
    SEND_BUFFER = 64 * 1024,
    MESSAGE = 100 * 1024,
    STEP = 4096,
    BODY = 256 * 1024,
    REST_MS = 30,
    TRIES = 1000
};

/* -- a certificate ---------------------------------------------------------------------------- */

/* Key and certificate in one PEM text; the caller's. */
static BIO *make_certificate(void) {
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    BIO *pem = BIO_new(BIO_s_mem());
    X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    assert_true(X509_sign(certificate, key, EVP_sha256()) > 0);
    PEM_write_bio_X509(pem, certificate);
    PEM_write_bio_PrivateKey(pem, key, NULL, NULL, 0, NULL, NULL);
    X509_free(certificate);
    EVP_PKEY_free(key);
    return pem;
}

static void use_tls(struct scene *scene) {
    BIO *pem = make_certificate();
    char *data;
    long size = BIO_get_mem_data(pem, &data);
    struct http_tls tls = {.certificates = slice_make(data, (size_t)size)};
    assert_int_equal(http_server_use_tls(scene->server, &tls, NULL), 0);
    BIO_free(pem);
}

/* A listener whose connections hold little: what is sent waits in the server. */
static void listen_narrowly(struct scene *scene) {
    static const int bytes = SEND_BUFFER;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t size = sizeof scene->address;
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    scene->address = (struct sockaddr_in){AF_INET, 0, {htonl(INADDR_LOOPBACK)}, {0}};
    assert_int_equal(bind(fd, (struct sockaddr *)&scene->address, size), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&scene->address, &size), 0);
    assert_int_equal(http_server_listen_take(scene->server, fd, NULL), 0);
}

/* -- a client --------------------------------------------------------------------------------- */

struct secure {
    struct scene *scene;
    int fd;
    SSL_CTX *settings;
    SSL *ssl;
};

static void connect_to(struct secure *secure, struct scene *scene) {
    static const int bytes = STEP;
    *secure = (struct secure){.scene = scene, .settings = SSL_CTX_new(TLS_client_method())};
    secure->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(secure->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    assert_int_equal(connect(secure->fd, (struct sockaddr *)&scene->address, sizeof scene->address),
                     0);
    fcntl(secure->fd, F_SETFL, O_NONBLOCK);
    secure->ssl = SSL_new(secure->settings);
    SSL_set_fd(secure->ssl, secure->fd);
    for (int turns = 0; SSL_connect(secure->ssl) != 1; turns++) {
        assert_true(turns < GUARD_MS);
        scene_pass(scene, 1);
    }
}

static void send_to(struct secure *secure, struct slice data) {
    assert_int_equal(SSL_write(secure->ssl, data.data, (int)data.size), data.size);
}

/* What is there, STEP bytes at most. */
static size_t take_some(struct secure *secure) {
    uint8_t bytes[STEP];
    int got = SSL_read(secure->ssl, bytes, sizeof bytes);
    return got > 0 ? (size_t)got : 0;
}

static void leave(struct secure *secure) {
    SSL_free(secure->ssl);
    SSL_CTX_free(secure->settings);
    close(secure->fd);
}

static void begin(struct scene *scene, struct secure *client) {
    struct http_limits limits = roomy;
    limits.tls_handshake_ms = GUARD_MS;
    limits.tls_handshakes = 10;
    scene_begin(scene, &limits);
    listen_narrowly(scene);
    use_tls(scene);
    connect_to(client, scene);
}

/* -- the tests -------------------------------------------------------------------------------- */

/* The client takes a message in small steps and sends something at each: so its last bytes may
 * leave when the server receives, not when it waits to send. The trace grows by "drained" where the
 * server goes on waiting. */
static void rests_when_all_is_sent(void **state) {
    (void)state;
    struct scene scene;
    struct secure client;
    begin(&scene, &client);
    send_to(&client, SLICE_LITERAL(UPGRADE "\r\n"));
    while (take_some(&client) == 0)
        scene_pass(&scene, 1);
    struct text pong = {0};
    append_frame(&pong, 0x80 | WS_OPCODE_PONG, SLICE_LITERAL(""));
    struct bytes *message = bytes_create(MESSAGE);
    memset(message->data, 'x', MESSAGE);
    size_t got = 0;
    assert_true(ws_send(scene.ws, message, true) > 0);
    bytes_unref(message);
    while (got < MESSAGE) {
        got += take_some(&client);
        send_to(&client, text_slice(&pong));
        scene_pass(&scene, 0);
    }
    scene_wait(&scene, "drained");
    scene_pass(&scene, 5);
    size_t before = scene.trace.size;
    scene_pass(&scene, 30);
    assert_int_equal(scene.trace.size, before);
    text_finish(&pong);
    leave(&client);
    scene_wait(&scene, "close:1006");
    scene_end(&scene);
}

static void set_flag(void *flag) {
    *(bool *)flag = true;
}

/* Whether the next that happens is a timer that the test has set. */
static bool is_at_rest(struct scene *scene) {
    bool fired = false;
    struct loop_timer *timer = loop_timer_create(scene->loop, set_flag, &fired);
    loop_timer_start(timer, REST_MS);
    event_base_loop(loop_base(scene->loop), EVLOOP_ONCE);
    loop_timer_destroy(timer);
    return fired;
}

/* What the server has read of a refused body and not thrown away is nothing to wake up for. */
static void rests_while_it_throws_away(void **state) {
    (void)state;
    struct scene scene;
    struct secure client;
    begin(&scene, &client);
    send_to(&client,
            SLICE_LITERAL("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999\r\n\r\n"));
    uint8_t *body = mem_zalloc(1, BODY);
    for (int i = 0; i < 4; i++)
        SSL_write(client.ssl, body, BODY);
    mem_free(body);
    while (take_some(&client) == 0)
        scene_pass(&scene, 1);
    bool rests = false; /* what is on its way comes first */
    for (int i = 0; i < TRIES && !rests; i++)
        rests = is_at_rest(&scene);
    assert_true(rests);
    leave(&client);
    scene_wait_connections(&scene, 0);
    scene_end(&scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rests_when_all_is_sent),
        cmocka_unit_test(rests_while_it_throws_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
