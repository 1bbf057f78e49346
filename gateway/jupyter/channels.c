/* channels - a kernel's WebSocket, in both encodings. The upgrade is answered at once, with one
 * exception (see is_impatient); what is sent before the kernel is ready waits in the session. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "jupyter/exchange.h"
#include "jupyter/handlers.h"
#include "wire/ws_legacy.h"
#include "wire/ws_v1.h"

struct channels {
    struct kernel_client client; /* attached while kernel is set */
    struct jupyter *jupyter;
    struct ws *ws;
    struct kernel *kernel;
    char *session_id;
};

static struct ws *ws_of(const struct kernel_client *client) {
    return LIST_ENTRY(client, struct channels, client)->ws;
}

static uint64_t send_message(struct kernel_client *client, struct outgoing *outgoing) {
    bool binary;
    struct bytes *payload = outgoing_encode(outgoing, client->encoding, &binary);
    ws_send_shared(ws_of(client), payload, binary, &outgoing->packed[client->encoding]);
    return ws_position(ws_of(client));
}

static uint64_t acknowledged(struct kernel_client *client) {
    return ws_acknowledged(ws_of(client));
}

static size_t queued(struct kernel_client *client) {
    return ws_queued(ws_of(client));
}

/* 1000 is for what will not come back: a deleted kernel, and a socket whose place was taken
 * (JupyterLab does not reconnect then). */
static void end(struct kernel_client *client, enum reason reason) {
    struct channels *channels = LIST_ENTRY(client, struct channels, client);
    channels->kernel = NULL;
    ws_close(channels->ws, 1000,
             reason == REASON_NONE ? "a newer connection has the same session_id"
                                   : reason_entry(reason)->sentence);
}

static int decode(struct channels *channels, struct slice payload, bool binary,
                  struct slice *buffers, struct msg *ret_msg, struct err *err) {
    if (channels->client.encoding == ENCODING_V1 && binary)
        return ws_v1_decode(payload, buffers, ret_msg, err);
    return binary ? ws_legacy_decode_binary(payload, buffers, ret_msg, err)
                  : ws_legacy_decode_text(payload, ret_msg, err);
}

/* A kernel drops a request without these in silence, and its client would wait for ever. */
static int read_header(const struct msg *msg, struct msg_header *ret_header, struct err *err) {
    struct msg_header header;
    int result = msg_header_parse(msg->header, &header, err);
    if (result < 0)
        return result;
    if (*header.msg_id && *header.msg_type) {
        *ret_header = header;
        return 0;
    }
    result = err_set(err, EINVAL, "the header has no %s", *header.msg_id ? "msg_type" : "msg_id");
    msg_header_finish(&header);
    return result;
}

static void on_message(void *context, struct slice payload, bool binary) {
    struct channels *channels = context;
    static struct slice buffers[MSG_BUFFERS_MAX]; /* used by one call at a time on the one thread */
    struct msg msg;
    struct msg_header header = {0};
    struct err err;
    if (!channels->kernel)
        return; /* closing */
    int result = decode(channels, payload, binary, buffers, &msg, &err);
    if (result == -ENOENT)
        return; /* an unknown channel: ignored, as Jupyter does */
    if (result == 0)
        result = read_header(&msg, &header, &err);
    if (result < 0) {
        ws_close(channels->ws, 1007, err.text);
        return;
    }
    kernel_receive(channels->kernel, &channels->client, &msg, &header);
    msg_header_finish(&header);
}

/* A client that closes with 1000 means it. Everything else may come back: a lost connection, 1001
 * of a proxy that goes down, no code of jupyter_server when the browser's connection is lost, and
 * what was closed here since it was too slow: 1013, which clients do not say. */
static enum departure departure_of(uint16_t code) {
    if (code == 1000)
        return LEFT_FOR_GOOD;
    return code == 1013 ? LEFT_FOR_NOW : LEFT_SUDDENLY;
}

static void on_close(void *context, uint16_t code, struct slice reason) {
    (void)reason;
    struct channels *channels = context;
    if (channels->kernel)
        kernel_detach(channels->kernel, &channels->client, departure_of(code));
    mem_free(channels->session_id);
    mem_free(channels);
}

static void on_drained(void *context) {
    struct channels *channels = context;
    if (channels->kernel)
        kernel_catch_up(channels->kernel, &channels->client);
}

/* Whether a comma-separated header offers the subprotocol. */
static bool offers(struct slice list, const char *wanted) {
    while (list.size > 0) {
        const uint8_t *comma = memchr(list.data, ',', list.size);
        struct slice item = slice_make(list.data, comma ? (size_t)(comma - list.data) : list.size);
        list = comma ? slice_from(list, item.size + 1) : (struct slice){0};
        while (item.size && (*item.data == ' ' || *item.data == '\t'))
            item = slice_from(item, 1);
        while (item.size && (item.data[item.size - 1] == ' ' || item.data[item.size - 1] == '\t'))
            item.size--;
        if (slice_equal_text(item, wanted))
            return true;
    }
    return false;
}

/* GatewayKernelClient (nbclient, papermill, nbconvert) waits 40 s for its upgrade, but takes a
 * kernel for dead that has not answered kernel_info one second after it; so its upgrade is held
 * until the kernel is ready. Nor does it understand an error as that answer, but it shows a refused
 * upgrade whole; and it dies on a binary frame. It is known by what it leaves out: nobody else has
 * neither a query, credentials, a subprotocol nor a User-Agent. */
static bool is_impatient(const struct http_request *request) {
    static const char *const named[] = {"Authorization", "Sec-WebSocket-Protocol", "User-Agent"};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (http_request_header(request, named[i]).data)
            return false;
    return http_request_query(request).size == 0;
}

/* Whether the client dies on binary frames: it says so, or the operator does for all that do not.
 */
static bool wants_text_only(const struct jupyter *jupyter, const struct http_request *request) {
    cleanup_mem char *asked = http_query_get(http_request_query(request), "text_only");
    if (asked)
        return strcmp(asked, "true") == 0 || strcmp(asked, "1") == 0;
    return jupyter->context.params->ws_text_only || is_impatient(request);
}

static enum encoding encoding_for(const struct jupyter *jupyter,
                                  const struct http_request *request) {
    if (offers(http_request_header(request, "Sec-WebSocket-Protocol"), WS_V1_SUBPROTOCOL))
        return ENCODING_V1;
    return wants_text_only(jupyter, request) ? ENCODING_TEXT : ENCODING_LEGACY;
}

static void open_channels(struct jupyter *jupyter, struct http_request *request,
                          struct kernel *kernel) {
    struct channels *channels = mem_zalloc(1, sizeof *channels);
    char *session_id = http_query_get(http_request_query(request), "session_id");
    channels->jupyter = jupyter;
    channels->session_id = session_id ? session_id : mem_strdup("");
    channels->kernel = kernel;
    channels->client = (struct kernel_client){.session_id = channels->session_id,
                                              .encoding = encoding_for(jupyter, request),
                                              .on_message = send_message,
                                              .acknowledged = acknowledged,
                                              .queued = queued,
                                              .on_end = end};
    struct ws_events events = {.on_message = on_message,
                               .on_close = on_close,
                               .on_drained = on_drained,
                               .context = channels};
    bool is_v1 = channels->client.encoding == ENCODING_V1;
    channels->ws = ws_accept(request, is_v1 ? WS_V1_SUBPROTOCOL : NULL, NULL, 0, &events);
    kernel_attach(kernel, &channels->client);
}

static void answer_upgrade(struct kernel_waiter *waiter, const struct err *err) {
    struct waiting_request *waiting = LIST_ENTRY(waiter, struct waiting_request, waiter);
    struct kernel *kernel = kernels_find(waiting->jupyter->context.kernels, waiting->id);
    if (err->code == ECANCELED || !kernel)
        reply_error(waiting->request, 404, "kernel_not_found", "Kernel does not exist: %s",
                    waiting->id);
    else if (err->code)
        reply_error(waiting->request, 500, "kernel_dead", "%s", err->text);
    else
        open_channels(waiting->jupyter, waiting->request, kernel);
    waiting_request_free(waiting);
}

void channels_get(struct exchange *exchange) {
    struct http_request *request = exchange->request;
    struct kernel *kernel = find_kernel(exchange);
    if (!kernel)
        return;
    if (!http_request_is_websocket(request))
        reply_error(request, 400, "not_a_websocket", "this path is for WebSocket upgrades alone");
    else if (is_impatient(request) && kernel_is_dead(kernel))
        reply_error(request, 500, "kernel_dead", "%s", kernel_reason(kernel));
    else if (is_impatient(request) && kernel_is_starting(kernel))
        kernel_await_start(kernel,
                           &waiting_request_create(exchange, kernel, answer_upgrade)->waiter);
    else
        open_channels(exchange->jupyter, request, kernel);
}
