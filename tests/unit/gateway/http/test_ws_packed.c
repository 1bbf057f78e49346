#include "scene.h"

/* Compressed once for two, as it is for a third that agreed on nothing. */
static void compresses_once_for_all(void **state) {
    (void)state;
    struct scene scene;
    struct client clients[3];
    struct ws *sockets[3];
    struct http_limits limits = roomy;
    limits.ws_deflate = 1024;
    scene_begin(&scene, &limits);
    for (int i = 0; i < 3; i++) {
        client_connect(&clients[i], &scene);
        client_send_text(&clients[i], i < 2 ? UPGRADE "Sec-WebSocket-Extensions: "
                                                      "permessage-deflate\r\n\r\n"
                                            : UPGRADE "\r\n");
        client_wait(&clients[i], "\r\n\r\n");
        assert_int_equal(client_has(&clients[i], "Sec-WebSocket-Extensions: permessage-deflate"),
                         i < 2);
        client_forget(&clients[i]);
        sockets[i] = scene.ws;
    }
    struct bytes *message = scene.chunk = bytes_create(60000); /* the scene drops it */
    memset(message->data, 'm', message->size);
    struct bytes *packed = NULL, *first = NULL;
    for (int i = 0; i < 3; i++) {
        ws_send_shared(sockets[i], message, false, &packed);
        assert_true(i == 0 || packed == first);
        first = packed;
    }
    assert_true(packed && packed->size < 1000);
    for (int i = 0; i < 2; i++) {
        client_wait_size(&clients[i], packed->size + 2);
        assert_int_equal((uint8_t)clients[i].received.data[0], 0xc1);
        assert_memory_equal(clients[i].received.data + clients[i].received.size - packed->size,
                            packed->data, packed->size);
    }
    client_wait_size(&clients[2], message->size + 4);
    assert_int_equal((uint8_t)clients[2].received.data[0], 0x81);
    bytes_unref(packed);
    for (int i = 0; i < 3; i++)
        client_close(&clients[i]);
    scene_end(&scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compresses_once_for_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
