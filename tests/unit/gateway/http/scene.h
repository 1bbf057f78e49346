/* scene - a server and its clients in one process and one loop, over real loopback sockets.
 * The server's owner is an application of a few routes; what happened to it is written to a trace.
 * A client never blocks: it collects what comes, and a test runs the loop until it has what it
 * waits for; a guard fails the test when that takes GUARD_MS. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text.h"
#include "http/http.h"
#include "http/ws_codec.h"
#include "loop/loop.h"

enum { GUARD_MS = 60000 };

static const struct http_limits roomy = {
    .head = 16384,
    .headers = 100,
    .body = 4 << 20,
    .connections = 1000,
    .head_ms = 30000,
    .body_ms = 30000,
    .idle_ms = 30000,
    .ws_message = 8 << 20,
    .ws_fragments = 1000,
    .ws_queue = 8 << 20,
    .ws_ping_ms = 30000,
    .ws_dead_ms = 30000,
    .ws_close_ms = 30000,
};

struct scene {
    struct loop *loop;
    struct http_server *server;
    struct sockaddr_in address;
    struct loop_timer *guard, *later;
    struct text trace;            /* what the owner was told: words separated by blanks */
    struct http_request *waiting; /* of /wait and /stream */
    struct ws *ws;                /* the last one that was accepted */
    uint64_t arrived;             /* ws_acknowledged at its end */
    struct bytes *chunk;          /* of /large */
    int descriptors;              /* open before the scene began */
    int64_t memory;
    bool adds_header;
    bool echo_off; /* the owner of the WebSocket only listens */
    bool timed_out;
};

/* -- the owner -------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static inline void note(struct scene *scene,
                                                              const char *format, ...) {
    char word[200];
    va_list args;
    va_start(args, format);
    vsnprintf(word, sizeof word, format, args);
    va_end(args);
    if (scene->trace.size)
        text_append_text(&scene->trace, " ");
    text_append_text(&scene->trace, word);
}

static inline void note_gone(void *context) {
    struct scene *scene = context;
    note(scene, "gone");
    scene->waiting = NULL;
}

static inline void note_stream_gone(void *context) {
    struct scene *scene = context;
    note(scene, "stream-gone");
    scene->waiting = NULL;
}

static inline void note_drained(void *context) {
    note(context, "drained");
}

static inline void reply_text(struct http_request *request, int status, struct slice text) {
    static const struct http_header type = {"Content-Type", "text/plain"};
    cleanup_bytes struct bytes *body = bytes_copy(text);
    http_reply(request, status, &type, 1, body);
}

/* The owner's side of one WebSocket. */
struct side {
    struct scene *scene;
    struct ws *ws;
};

static inline void echo_message(void *context, struct slice payload, bool binary) {
    struct side *side = context;
    struct scene *scene = side->scene;
    if (slice_equal_text(payload, "close me")) {
        ws_close(side->ws, 4000, "as you wish");
        ws_close(side->ws, 4001, "twice does nothing");
        return;
    }
    if (scene->echo_off) {
        note(scene, "message:%zu", payload.size);
        return;
    }
    cleanup_bytes struct bytes *copy = bytes_copy(payload);
    ws_send(side->ws, copy, binary);
}

static inline void note_close(void *context, uint16_t code, struct slice reason) {
    struct side *side = context;
    struct scene *scene = side->scene;
    note(scene, "close:%u:%.*s", code, (int)reason.size, (const char *)reason.data);
    cleanup_bytes struct bytes *late = bytes_copy(SLICE_LITERAL("too late"));
    assert_int_equal(ws_send(side->ws, late, false), 0); /* harmless, even here */
    ws_close(side->ws, 1000, NULL);
    ws_pause(side->ws, false);
    scene->arrived = ws_acknowledged(side->ws);
    if (scene->ws == side->ws)
        scene->ws = NULL;
    mem_free(side);
}

static inline void note_empty(void *context) {
    struct side *side = context;
    note(side->scene, "drained");
}

static inline void serve_websocket(struct scene *scene, struct http_request *request) {
    if (!http_request_is_websocket(request)) {
        reply_text(request, 400, SLICE_LITERAL("not an upgrade"));
        return;
    }
    struct side *side = mem_zalloc(1, sizeof *side);
    side->scene = scene;
    const struct ws_events events = {echo_message, note_close, note_empty, side};
    bool offered = http_request_header(request, "Sec-WebSocket-Protocol").data != NULL;
    side->ws = scene->ws = ws_accept(request, offered ? "v1.test" : NULL, NULL, 0, &events);
}

static inline void serve_stream(struct scene *scene, struct http_request *request) {
    const struct http_stream_events events = {note_drained, note_stream_gone, scene};
    http_reply_begin(request, 200, NULL, 0, &events);
    scene->waiting = request;
}

/* As an owner adds headers to every answer, its own and the server's. */
static inline void add_header(void *context, struct http_request *request) {
    const struct scene *scene = context;
    if (scene->adds_header)
        http_request_add_header(request, "X-Added", "one\nline");
}

static inline void serve(void *context, struct http_request *request) {
    struct scene *scene = context;
    struct slice path = http_request_path(request);
    note(scene, "%.*s", (int)path.size, (const char *)path.data);
    http_request_set_context(request, scene, note_gone);
    add_header(scene, request);
    if (slice_equal_text(path, "/ws"))
        serve_websocket(scene, request);
    else if (slice_equal_text(path, "/stream"))
        serve_stream(scene, request);
    else if (slice_equal_text(path, "/wait"))
        scene->waiting = request;
    else if (slice_equal_text(path, "/empty"))
        http_reply(request, 204, NULL, 0, NULL);
    else if (slice_equal_text(path, "/large"))
        http_reply(request, 200, NULL, 0, scene->chunk);
    else if (http_request_body(request).size)
        reply_text(request, 200, http_request_body(request));
    else
        reply_text(request, 200, path);
}

/* -- the scene -------------------------------------------------------------------------------- */

static inline int count_descriptors(void) {
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static inline void end_wait(void *context) {
    struct scene *scene = context;
    scene->timed_out = true;
    loop_stop(scene->loop);
}

static inline void stop_loop(void *context) {
    struct scene *scene = context;
    loop_stop(scene->loop);
}

static inline void scene_listen(struct scene *scene) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t size = sizeof scene->address;
    scene->address = (struct sockaddr_in){AF_INET, 0, {htonl(INADDR_LOOPBACK)}, {0}};
    assert_int_equal(bind(fd, (struct sockaddr *)&scene->address, size), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&scene->address, &size), 0);
    assert_int_equal(http_server_listen_take(scene->server, fd, NULL), 0);
}

static inline void scene_begin(struct scene *scene, const struct http_limits *limits) {
    int descriptors = count_descriptors();
    int64_t memory = mem_live();
    *scene = (struct scene){.loop = loop_create()};
    scene->descriptors = descriptors;
    scene->memory = memory;
    const struct http_handler handler = {
        .on_request = serve, .context = scene, .on_refusal = add_header};
    scene->server = http_server_create(scene->loop, limits, &handler);
    scene->guard = loop_timer_create(scene->loop, end_wait, scene);
    scene->later = loop_timer_create(scene->loop, stop_loop, scene);
    scene_listen(scene);
}

static inline void scene_end(struct scene *scene) {
    http_server_destroy(scene->server);
    loop_timer_destroy(scene->guard);
    loop_timer_destroy(scene->later);
    loop_destroy(scene->loop);
    bytes_unref(scene->chunk);
    text_finish(&scene->trace);
    assert_int_equal(mem_live(), scene->memory);
    assert_int_equal(count_descriptors(), scene->descriptors);
}

/* Runs the loop until something stops it. */
static inline void scene_run(struct scene *scene) {
    loop_timer_start(scene->guard, GUARD_MS);
    loop_run(scene->loop);
    loop_timer_stop(scene->guard);
    if (scene->timed_out)
        fail_msg("nothing happened for %d ms; trace: %s", GUARD_MS, scene->trace.data);
}

/* Lets the loop turn for a while; for what must not happen. */
static inline void scene_pass(struct scene *scene, int64_t ms) {
    loop_timer_start(scene->later, ms);
    scene_run(scene);
}

/* Until the owner has written word to its trace. */
static inline void scene_wait(struct scene *scene, const char *word) {
    for (int turns = 0; !scene->trace.data || !strstr(scene->trace.data, word); turns++) {
        if (turns > GUARD_MS)
            fail_msg("wanted %s, trace: %s", word, scene->trace.data);
        scene_pass(scene, 1);
    }
}

static inline void scene_wait_connections(struct scene *scene, unsigned count) {
    for (int turns = 0; http_server_connections(scene->server) != count; turns++) {
        if (turns > GUARD_MS)
            fail_msg("%u connections", http_server_connections(scene->server));
        scene_pass(scene, 1);
    }
}

/* -- clients ---------------------------------------------------------------------------------- */

struct client {
    struct scene *scene;
    int fd;
    struct loop_watch *watch; /* NULL: it does not read */
    struct text received;
    const char *wanted; /* stops the loop when it has been received */
    size_t wanted_size; /* or so many bytes; neither: when gone */
    bool gone;          /* end of file or error */
    int error;          /* ECONNRESET */
};

static inline bool client_has(const struct client *client, const char *text) {
    return client->received.size &&
           memmem(client->received.data, client->received.size, text, strlen(text));
}

static inline bool client_is_content(const struct client *client) {
    if (client->gone)
        return true;
    if (client->wanted_size)
        return client->received.size >= client->wanted_size;
    return client->wanted && client_has(client, client->wanted);
}

static inline void client_deafen(struct client *client) {
    loop_watch_destroy(client->watch);
    client->watch = NULL;
}

static inline void client_read(void *context) {
    struct client *client = context;
    static uint8_t buffer[1 << 16];
    ssize_t got = recv(client->fd, buffer, sizeof buffer, 0);
    if (got > 0) {
        text_append(&client->received, slice_make(buffer, (size_t)got));
    } else if (got == 0 || errno != EAGAIN) {
        client->gone = true;
        client->error = got < 0 ? errno : 0;
        client_deafen(client);
    }
    if (client_is_content(client))
        loop_stop(client->scene->loop);
}

static inline void client_listen(struct client *client) {
    client->watch = loop_watch_create(client->scene->loop, client->fd, client_read, client);
}

static inline void client_connect(struct client *client, struct scene *scene) {
    *client = (struct client){.scene = scene};
    client->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(client->fd, (struct sockaddr *)&scene->address, sizeof scene->address),
                     0);
    fcntl(client->fd, F_SETFL, O_NONBLOCK);
    client_listen(client);
}

static inline void client_close(struct client *client) {
    client_deafen(client);
    close(client->fd);
    text_finish(&client->received);
}

/* Closes with a reset. */
static inline void client_abort(struct client *client) {
    struct linger linger = {1, 0};
    setsockopt(client->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    client_close(client);
}

/* Sends all, with turns of the loop where the socket is full; stops at a broken connection. */
static inline void client_send(struct client *client, struct slice data) {
    while (data.size) {
        ssize_t sent = send(client->fd, data.data, data.size, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN)
            return;
        if (sent < 0)
            scene_pass(client->scene, 1);
        else
            data = slice_from(data, (size_t)sent);
    }
}

static inline void client_send_text(struct client *client, const char *text) {
    client_send(client, slice_from_text(text));
}

static inline void client_forget(struct client *client) {
    text_finish(&client->received);
}

static inline void client_wait(struct client *client, const char *text) {
    client->wanted = text;
    while (!client_is_content(client))
        scene_run(client->scene);
    client->wanted = NULL;
    if (!client_has(client, text))
        fail_msg("wanted %s, got %s", text, client->received.data);
}

static inline void client_wait_size(struct client *client, size_t size) {
    client->wanted_size = size;
    while (!client_is_content(client))
        scene_run(client->scene);
    client->wanted_size = 0;
    if (client->received.size < size)
        fail_msg("wanted %zu bytes, got %zu", size, client->received.size);
}

/* Until the server closes: with an end of file, not a reset. */
static inline void client_wait_end(struct client *client) {
    while (!client->gone)
        scene_run(client->scene);
    assert_int_equal(client->error, 0);
}

/* How often text was received. */
static inline int client_count(const struct client *client, const char *text) {
    int count = 0;
    struct slice rest = text_slice(&client->received);
    const uint8_t *at;
    while (rest.size && (at = memmem(rest.data, rest.size, text, strlen(text)))) {
        count++;
        rest = slice_from(rest, (size_t)(at - rest.data) + strlen(text));
    }
    return count;
}

/* -- WebSocket clients ------------------------------------------------------------------------ */

#define UPGRADE                                                                                    \
    "GET /ws HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"                 \
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"

static inline void append_frame(struct text *out, uint8_t first, struct slice payload) {
    static const uint8_t key[4] = {0x12, 0x34, 0x56, 0x78};
    uint8_t header[WS_HEADER_MAX];
    size_t size = ws_encode_header(header, WS_OPCODE_TEXT, payload.size);
    header[0] = first;
    header[1] |= 0x80;
    text_append(out, slice_make(header, size));
    text_append(out, slice_make(key, 4));
    size_t begin = out->size;
    text_append(out, payload);
    ws_mask((uint8_t *)out->data + begin, payload.size, key);
}

static inline void client_send_frame(struct client *client, uint8_t first, struct slice payload) {
    cleanup_text struct text frame = {0};
    append_frame(&frame, first, payload);
    client_send(client, text_slice(&frame));
}

static inline void client_upgrade(struct client *client) {
    client_send_text(client, UPGRADE "\r\n");
    client_wait(client, "\r\n\r\n");
    client_forget(client);
}
