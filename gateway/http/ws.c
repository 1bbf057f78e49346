/* ws - a WebSocket on a connection (RFC 6455). Its one complication: the side that begins the
 * closing handshake decides the code that on_close tells; the peer's answer to ours, or that there
 * was none, changes nothing about why it ended. */
#include "http/ws.h"

#include <assert.h>
#include <openssl/evp.h>
#include <stdio.h>

#include "base/mem.h"
#include "http/connection.h"
#include "http/reply.h"
#include "http/request.h"
#include "http/ws_codec.h"
#include "http/ws_offer.h"

enum phase {
    PHASE_OPEN,
    PHASE_CLOSING, /* our close frame is sent or queued; the peer's is awaited */
    PHASE_OVER     /* on_close is being called */
};

struct ws {
    struct connection *connection;
    struct ws_decoder decoder;
    struct ws_events events;
    enum phase phase;
    bool paused;
    unsigned window_bits; /* of what is sent compressed; 0: that was not agreed on */
    size_t needed;        /* ws_bytes_needed */
    uint64_t position;    /* ws_position */
    uint16_t close_code;  /* PHASE_CLOSING: why, in our own words */
    size_t close_reason_size;
    uint8_t close_reason[WS_CONTROL_MAX];
    bool pong_waits; /* the answer to the last ping, while the peer takes nothing */
    size_t pong_size;
    uint8_t pong[WS_CONTROL_MAX];
};

static const struct http_limits *limits_of(const struct ws *ws) {
    return &ws->connection->server->limits;
}

/* bits: WS_RSV1 or 0. */
static size_t send_frame_with(struct ws *ws, enum ws_opcode opcode, uint8_t bits,
                              struct slice payload, struct bytes *owner) {
    uint8_t header[WS_HEADER_MAX];
    size_t header_size = ws_encode_header(header, opcode, payload.size);
    header[0] |= bits;
    struct piece pieces[] = {{slice_make(header, header_size), NULL}, {payload, owner}};
    return connection_send(ws->connection, pieces, 2);
}

static size_t send_frame(struct ws *ws, enum ws_opcode opcode, struct slice payload,
                         struct bytes *owner) {
    return send_frame_with(ws, opcode, 0, payload, owner);
}

static void send_close(struct ws *ws, uint16_t code, const char *reason) {
    uint8_t payload[WS_CONTROL_MAX];
    size_t size = code == WS_CODE_NONE ? 0 : ws_encode_close(payload, code, reason);
    send_frame(ws, WS_OPCODE_CLOSE, slice_make(payload, size), NULL);
}

/* -- the end ---------------------------------------------------------------------------------- */

static void begin_close(struct ws *ws, uint16_t code, const char *reason) {
    uint8_t payload[WS_CONTROL_MAX];
    size_t size = ws_encode_close(payload, code, reason);
    ws->phase = PHASE_CLOSING;
    ws->close_code = code;
    ws->close_reason_size = size - 2;
    memcpy(ws->close_reason, payload + 2, size - 2);
    send_frame(ws, WS_OPCODE_CLOSE, slice_make(payload, size), NULL);
    connection_set_timer(ws->connection, limits_of(ws)->ws_close_ms);
    connection_kick(ws->connection);
}

static void tell_close(struct ws *ws, uint16_t code, struct slice reason) {
    ws->phase = PHASE_OVER;
    ws->events.on_close(ws->events.context, code, reason);
    ws_decoder_forget(&ws->decoder);
    mem_free(ws);
}

/* Both sides have said goodbye, or the peer is beyond talking to. */
static void end(struct ws *ws, uint16_t code, struct slice reason) {
    ws->connection->stall_ms = limits_of(ws)->ws_close_ms;
    connection_end_websocket(ws->connection);
    if (ws->phase == PHASE_CLOSING)
        tell_close(ws, ws->close_code, slice_make(ws->close_reason, ws->close_reason_size));
    else
        tell_close(ws, code, reason);
}

void ws_tell_gone(struct ws *ws) {
    if (ws->phase == PHASE_CLOSING)
        tell_close(ws, ws->close_code, slice_make(ws->close_reason, ws->close_reason_size));
    else
        tell_close(ws, WS_CODE_ABNORMAL, SLICE_LITERAL(""));
}

void ws_say_goodbye(struct ws *ws) {
    if (ws->phase == PHASE_OPEN)
        begin_close(ws, WS_CODE_RESTART, "the server is going down");
}

/* -- what comes ------------------------------------------------------------------------------- */

static void take_text(struct ws *ws, const struct ws_event *event) {
    if (ws->phase == PHASE_OPEN)
        ws->events.on_message(ws->events.context, event->payload, false);
}

static void take_binary(struct ws *ws, const struct ws_event *event) {
    if (ws->phase == PHASE_OPEN)
        ws->events.on_message(ws->events.context, event->payload, true);
}

/* Pings may be answered by one pong for the last of them (section 5.5.3), so a peer that only pings
 * and never reads costs nothing. */
static void take_ping(struct ws *ws, const struct ws_event *event) {
    if (ws->phase != PHASE_OPEN)
        return;
    if (outbox_size(&ws->connection->outbox) == 0) {
        send_frame(ws, WS_OPCODE_PONG, event->payload, NULL);
        return;
    }
    ws->pong_waits = true;
    ws->pong_size = event->payload.size;
    memcpy(ws->pong, event->payload.data, event->payload.size);
}

static void take_nothing(struct ws *ws, const struct ws_event *event) {
    (void)ws, (void)event;
}

static void take_close(struct ws *ws, const struct ws_event *event) {
    if (ws->phase == PHASE_OPEN)
        send_close(ws, event->code, "");
    end(ws, event->code, event->payload);
}

static void take_failure(struct ws *ws, const struct ws_event *event) {
    if (ws->phase == PHASE_OPEN)
        send_close(ws, event->code, ws->decoder.why);
    end(ws, event->code, event->payload);
}

static void (*const takers[])(struct ws *, const struct ws_event *) = {
    [WS_MORE] = take_nothing,   [WS_TEXT] = take_text,    [WS_BINARY] = take_binary,
    [WS_PING] = take_ping,      [WS_PONG] = take_nothing, [WS_CLOSE] = take_close,
    [WS_FAILED] = take_failure,
};

bool ws_advance(struct ws *ws) {
    struct inbox *inbox = &ws->connection->inbox;
    if (!ws_wants_input(ws) || inbox_size(inbox) == 0)
        return false;
    size_t consumed;
    struct ws_event event;
    enum ws_verdict verdict =
        ws_decode(&ws->decoder, inbox_data(inbox), inbox_size(inbox), &consumed, &event);
    inbox_consume(inbox, consumed);
    ws->needed = event.needed;
    takers[verdict](ws, &event); /* may free it */
    return verdict != WS_MORE;
}

bool ws_wants_input(const struct ws *ws) {
    return !ws->paused || ws->phase != PHASE_OPEN;
}

size_t ws_bytes_needed(const struct ws *ws) {
    return ws->needed;
}

/* -- time ------------------------------------------------------------------------------------- */

static void schedule_ping(struct ws *ws) {
    if (limits_of(ws)->ws_ping_ms > 0)
        connection_set_timer(ws->connection, limits_of(ws)->ws_ping_ms);
}

void ws_time_out(struct ws *ws) {
    if (ws->phase == PHASE_CLOSING)
        return connection_break(ws->connection);
    if (transport_is_unheard(&ws->connection->transport, limits_of(ws)->ws_dead_ms))
        return connection_break(ws->connection);
    /* What waits already will tell whether the peer is there. */
    if (outbox_size(&ws->connection->outbox) == 0)
        send_frame(ws, WS_OPCODE_PING, SLICE_LITERAL(""), NULL);
    schedule_ping(ws);
}

void ws_tell_progress(struct ws *ws) {
    if (ws->phase == PHASE_CLOSING)
        connection_set_timer(ws->connection, limits_of(ws)->ws_close_ms);
}

void ws_tell_drained(struct ws *ws) {
    if (ws->phase != PHASE_OPEN)
        return;
    if (ws->pong_waits)
        send_frame(ws, WS_OPCODE_PONG, slice_make(ws->pong, ws->pong_size), NULL);
    ws->pong_waits = false;
    if (ws->events.on_drained)
        ws->events.on_drained(ws->events.context);
}

/* -- what the owner calls --------------------------------------------------------------------- */

/* Section 4.2.2, step 5.4. */
static void append_accept(struct text *lines, struct slice key) {
    struct text together = {0};
    text_append(&together, key);
    text_append_text(&together, "258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    uint8_t digest[EVP_MAX_MD_SIZE], encoded[4 * EVP_MAX_MD_SIZE];
    unsigned digest_size;
    int done = EVP_Digest(together.data, together.size, digest, &digest_size, EVP_sha1(), NULL);
    assert(done == 1);
    EVP_EncodeBlock(encoded, digest, (int)digest_size);
    text_append_format(lines, "Sec-WebSocket-Accept: %s\r\n", (char *)encoded);
    text_finish(&together);
}

/* Takes the client's offer of compression, where there is one that can be kept. */
static void agree(struct ws *ws, struct http_request *request, struct text *lines) {
    struct http_server *server = ws->connection->server;
    struct ws_agreement agreement;
    struct slice offers = http_request_header(request, "Sec-WebSocket-Extensions");
    if (server->limits.ws_deflate == 0 || !offers.data || !ws_offer_judge(offers, &agreement))
        return;
    ws->window_bits = agreement.window_bits;
    ws->decoder.deflate = server->deflate;
    ws_offer_append_answer(&agreement, lines);
}

static void send_acceptance(struct ws *ws, struct http_request *request, const char *subprotocol,
                            const struct http_header *headers, size_t header_count) {
    struct text lines = {0}, head = {0};
    text_append_text(&lines, "Upgrade: websocket\r\nConnection: Upgrade\r\n");
    append_accept(&lines, fields_find(&request->parser, "Sec-WebSocket-Key", 0)->value);
    if (subprotocol)
        text_append_format(&lines, "Sec-WebSocket-Protocol: %s\r\n", subprotocol);
    agree(ws, request, &lines);
    struct answer answer = {101, headers, header_count, lines.data, request->added.data};
    reply_append_head(&head, request->connection->server, &answer);
    connection_send(request->connection, &(struct piece){text_slice(&head), NULL}, 1);
    text_finish(&lines);
    text_finish(&head);
}

struct ws *ws_accept(struct http_request *request, const char *subprotocol,
                     const struct http_header *headers, size_t header_count,
                     const struct ws_events *events) {
    assert(request->parser.wants_websocket && !request->begun);
    struct ws *ws = mem_zalloc(1, sizeof *ws);
    ws->connection = request->connection;
    ws->events = *events;
    ws->decoder.message_max = limits_of(ws)->ws_message;
    ws->decoder.fragments_max = limits_of(ws)->ws_fragments;
    send_acceptance(ws, request, subprotocol, headers, header_count);
    connection_become_websocket(ws->connection, ws);
    schedule_ping(ws);
    return ws;
}

/* One reference to what is sent in the place of message: that itself where it does not pay. */
static struct bytes *pack(struct ws *ws, struct bytes *message) {
    const struct http_server *server = ws->connection->server;
    struct bytes *packed = NULL;
    if (message->size >= server->limits.ws_deflate)
        packed = ws_deflate_pack(server->deflate, bytes_slice(message), ws->window_bits);
    return packed ? packed : bytes_ref(message);
}

/* Likewise; *packed is the same for everyone with the largest window. */
static struct bytes *pack_once(struct ws *ws, struct bytes *message, struct bytes **packed) {
    if (ws->window_bits == 0)
        return bytes_ref(message);
    if (!packed || ws->window_bits < WS_WINDOW_BITS_MAX)
        return pack(ws, message);
    if (!*packed)
        *packed = pack(ws, message);
    return bytes_ref(*packed);
}

size_t ws_send_shared(struct ws *ws, struct bytes *message, bool binary, struct bytes **packed) {
    ws->position = UINT64_MAX;
    if (ws->phase != PHASE_OPEN || ws->connection->broken)
        return 0;
    struct bytes *payload = pack_once(ws, message, packed);
    size_t queued =
        send_frame_with(ws, binary ? WS_OPCODE_BINARY : WS_OPCODE_TEXT,
                        payload != message ? WS_RSV1 : 0, bytes_slice(payload), payload);
    bytes_unref(payload);
    ws->position = ws->connection->outbox.handed;
    if (queued > limits_of(ws)->ws_queue) {
        char reason[WS_CONTROL_MAX];
        snprintf(reason, sizeof reason, "more than ws_queue_bytes = %zu wait to be read",
                 limits_of(ws)->ws_queue);
        begin_close(ws, WS_CODE_TRY_LATER, reason);
    }
    return queued;
}

size_t ws_send(struct ws *ws, struct bytes *payload, bool binary) {
    return ws_send_shared(ws, payload, binary, NULL);
}

size_t ws_queued(const struct ws *ws) {
    return outbox_size(&ws->connection->outbox);
}

uint64_t ws_position(const struct ws *ws) {
    return ws->position;
}

uint64_t ws_acknowledged(const struct ws *ws) {
    return transport_acknowledged(&ws->connection->transport);
}

void ws_close(struct ws *ws, uint16_t code, const char *reason) {
    assert(ws_code_may_be_sent(code));
    if (ws->phase == PHASE_OPEN)
        begin_close(ws, code, reason ? reason : "");
}

void ws_pause(struct ws *ws, bool paused) {
    ws->paused = paused;
    connection_kick(ws->connection);
}
