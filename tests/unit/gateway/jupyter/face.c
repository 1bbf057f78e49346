#include "face.h"

#include <sys/mman.h>
#include <unistd.h>

/* -- what the http room would do -------------------------------------------------------------- */

static struct slice absent_or(const char *text) {
    return text ? slice_from_text(text) : (struct slice){0};
}

struct slice http_request_method(const struct http_request *request) {
    return slice_from_text(request->method);
}

struct slice http_request_path(const struct http_request *request) {
    return slice_from_text(request->path);
}

struct slice http_request_query(const struct http_request *request) {
    return absent_or(request->query);
}

const struct http_peer *http_request_peer(const struct http_request *request) {
    static const struct http_peer nobody;
    (void)request;
    return &nobody;
}
struct slice http_request_header(const struct http_request *request, const char *name) {
    if (strcmp(name, "Authorization") == 0)
        return absent_or(request->authorization);
    if (strcmp(name, "User-Agent") == 0)
        return absent_or(request->user_agent);
    if (strcmp(name, "Origin") == 0)
        return absent_or(request->origin);
    if (strcmp(name, "Host") == 0)
        return absent_or(request->host);
    if (strcmp(name, "If-None-Match") == 0)
        return absent_or(request->if_none_match);
    assert_string_equal(name, "Sec-WebSocket-Protocol");
    return absent_or(request->subprotocols);
}

struct slice http_request_body(const struct http_request *request) {
    return request->body;
}

bool http_request_is_websocket(const struct http_request *request) {
    return request->is_websocket;
}

void http_request_set_context(struct http_request *request, void *context,
                              void (*on_gone)(void *context)) {
    request->context = context;
    request->on_gone = on_gone;
}

void http_request_add_header(struct http_request *request, const char *name, const char *value) {
    assert_int_equal(request->answers, 0);
    text_append_format(&request->added, "%s: %s\n", name, value);
}

void http_reply(struct http_request *request, int status, const struct http_header *headers,
                size_t header_count, struct bytes *body) {
    struct text lines = {0};
    assert_int_equal(request->answers++, 0); /* exactly once */
    request->status = status;
    text_append_text(&lines, "");
    for (size_t i = 0; i < header_count; i++)
        text_append_format(&lines, "%s: %s\n", headers[i].name, headers[i].value);
    text_append(&lines, text_slice(&request->added));
    request->headers = lines.data;
    request->content = body ? bytes_ref(body) : NULL;
    if (body)
        request->json = json_loadb((const char *)body->data, body->size, 0, NULL);
    if (strstr(lines.data, "application/json"))
        assert_non_null(request->json);
}

struct ws *ws_accept(struct http_request *request, const char *subprotocol,
                     const struct http_header *headers, size_t header_count,
                     const struct ws_events *events) {
    (void)headers, (void)header_count;
    assert_int_equal(request->answers++, 0);
    request->status = 101;
    request->ws = mem_zalloc(1, sizeof *request->ws);
    request->ws->events = *events;
    request->ws->subprotocol = subprotocol ? mem_strdup(subprotocol) : NULL;
    return request->ws;
}

size_t ws_send_shared(struct ws *ws, struct bytes *payload, bool binary, struct bytes **packed) {
    (void)packed;
    if (ws->code)
        return 0;
    ws->count++;
    text_append_text(&ws->sent, binary ? "binary " : "text ");
    text_append(&ws->sent, bytes_slice(payload));
    text_append_text(&ws->sent, "\n");
    return 0;
}

size_t ws_queued(const struct ws *ws) {
    (void)ws;
    return 0;
}

uint64_t ws_position(const struct ws *ws) {
    return ws->code ? UINT64_MAX : ws->sent.size;
}

uint64_t ws_acknowledged(const struct ws *ws) {
    return ws->sent.size - ws->unacknowledged;
}

void ws_close(struct ws *ws, uint16_t code, const char *reason) {
    if (ws->code)
        return;
    ws->code = code;
    snprintf(ws->reason, sizeof ws->reason, "%s", reason);
}

/* -- clients ---------------------------------------------------------------------------------- */

void ask_whole(struct face *face, struct http_request *request) {
    jupyter_on_request(face->jupyter, request);
}

void ask(struct face *face, struct http_request *request, const char *method, const char *path,
         const char *body) {
    *request = (struct http_request){.method = method,
                                     .path = path,
                                     .authorization = "token secret",
                                     .body = slice_from_text(body ? body : "")};
    ask_whole(face, request);
}

void request_leave(struct http_request *request) {
    assert_int_equal(request->answers, 0);
    if (request->on_gone)
        request->on_gone(request->context);
    request->answers = 1; /* an answer now would be a mistake */
}

void request_finish(struct http_request *request) {
    mem_free(request->headers);
    text_finish(&request->added);
    bytes_unref(request->content);
    json_decref(request->json);
    *request = (struct http_request){0};
}

const char *answer_text(const struct http_request *request, const char *name) {
    const char *value = json_string_value(json_object_get(request->json, name));
    return value ? value : "";
}

void expect_error(const struct http_request *request, int status, const char *code) {
    assert_int_equal(request->answers, 1);
    if (request->status != status || strcmp(answer_text(request, "code"), code) != 0)
        fail_msg("%s %s: %d %s", request->method, request->path, request->status,
                 request->content ? (const char *)request->content->data : "");
    assert_true(*answer_text(request, "reason") && *answer_text(request, "message"));
    assert_non_null(strstr(request->headers, "Content-Type: application/json\n"));
}

void ws_receive(struct ws *ws, struct slice payload, bool binary) {
    ws->events.on_message(ws->events.context, payload, binary);
}

void ws_leave(struct ws *ws) {
    ws->events.on_close(ws->events.context, ws->code ? (uint16_t)ws->code : 1006,
                        (struct slice){0});
    text_finish(&ws->sent);
    mem_free(ws->subprotocol);
    mem_free(ws);
}

/* -- the face --------------------------------------------------------------------------------- */

static int make_file(const char *content) {
    int fd = memfd_create("test", MFD_CLOEXEC);
    assert_int_equal(write(fd, content, strlen(content)), (ssize_t)strlen(content));
    return fd;
}

static struct rpc_packet packet; /* 64 KiB */

static void prepare_spec(const char *name, const char *json) {
    packet = (struct rpc_packet){0};
    packet.spec = (struct rpc_spec){.head.kind = RPC_SPEC, .spec = 7};
    snprintf(packet.spec.name, sizeof packet.spec.name, "%s", name);
    packet.fds[packet.fd_count++] = make_file(json);
}

static void add_prepared(struct face *face) {
    struct err err;
    if (specs_add(&face->specs, &face->parameters, &packet, &err) < 0)
        fail_msg("%s", err.text);
    rpc_packet_close(&packet);
}

void face_add_spec(struct face *face, const char *name, ...) {
    prepare_spec(name, "{\"argv\":[\"a\"],\"display_name\":\"A\",\"language\":\"l\"}");
    va_list files;
    va_start(files, name);
    for (const char *file; (file = va_arg(files, const char *));) {
        snprintf(packet.spec.files[packet.fd_count], 64, "%s", file);
        packet.fds[packet.fd_count++] = make_file(file);
    }
    va_end(files);
    add_prepared(face);
}

void face_add_spec_with(struct face *face, const char *name, const char *parameters) {
    char *json = mem_format("{\"argv\":[\"a\"],\"display_name\":\"A\",\"language\":\"l\","
                            "\"metadata\":{\"cellblock\":%s}}",
                            parameters);
    prepare_spec(name, json);
    mem_free(json);
    add_prepared(face);
}

static unsigned count_connections(void *context) {
    (void)context;
    return 5;
}

void face_begin(struct face *face) {
    rig_begin(&face->rig);
    face->rig.params.default_kernel = "played";
    face->rig.params.base_url = "";
    face->rig.params.kernel_env_bytes = 1000;
    face->rig.params.kernel_env_value_bytes = 500;
    face->rig.params.session_label_bytes = 100;
    face->rig.params.max_session_names = 3;
    face->rig.params.session_name_bytes = 100;
    face->rig.params.memory_bytes = 512 << 20;
    face->rig.params.max_memory_bytes = 3ULL << 30;
    face->rig.params.pids = face->rig.params.max_pids = 256;
    face->data = (struct data_names){.names = {[0] = "sets", [3] = "books"}};
    face->parameters = (struct parameters_context){&face->rig.params, &face->data};
    face->specs = (struct specs){0};
    face->auth = (struct auth){.token = SLICE_LITERAL("secret")};
    struct jupyter_context context = {.loop = face->rig.loop,
                                      .auth = &face->auth,
                                      .params = &face->rig.params,
                                      .specs = &face->specs,
                                      .parameters = &face->parameters,
                                      .kernels = face->rig.kernels,
                                      .connections = count_connections};
    face->jupyter = jupyter_create(&context);
    face_add_spec(face, "played", "logo-64x64.png", "kernel.js", "logo-svg.svg", NULL);
}

void face_end(struct face *face) {
    jupyter_destroy(face->jupyter);
    specs_finish(&face->specs);
    rig_end(&face->rig);
}
