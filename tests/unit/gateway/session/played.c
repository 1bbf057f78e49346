#include "played.h"

#include <assert.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include "base/cleanup.h"
#include "msg/build.h"
#include "msg/header.h"
#include "wire/multipart.h"
#include "wire/sign.h"

enum { PARTS_MAX = 64, LINGER_MS = 2000 };

static const enum msg_channel channel_of[CONNECTION_PORT_COUNT] = {
    [CONNECTION_SHELL] = MSG_SHELL,
    [CONNECTION_CONTROL] = MSG_CONTROL,
    [CONNECTION_STDIN] = MSG_STDIN,
    [CONNECTION_IOPUB] = MSG_IOPUB,
};

static const enum connection_port port_of[MSG_CHANNEL_COUNT] = {
    [MSG_SHELL] = CONNECTION_SHELL,
    [MSG_CONTROL] = CONNECTION_CONTROL,
    [MSG_STDIN] = CONNECTION_STDIN,
    [MSG_IOPUB] = CONNECTION_IOPUB,
};

/* -- saying ----------------------------------------------------------------------------------- */

static void send_part(void *socket, struct slice part, bool more) {
    int result = zmq_send(socket, part.data, part.size, more ? ZMQ_SNDMORE : 0);
    assert(result == (int)part.size);
}

void played_say(struct played *played, enum msg_channel channel, const char *msg_type,
                const struct asked *to, const char *parent, struct slice content) {
    char msg_id[64], signature[SIGN_HEX_SIZE];
    snprintf(msg_id, sizeof msg_id, "said-%u", ++played->said);
    struct msg_origin origin = {msg_id, played->session, "kernel", "2026-11-30T00:00:00.000000Z"};
    struct msg_built built =
        msg_build(channel, msg_type, &origin, slice_from_text(parent), (struct slice){0}, content);
    size_t size = signer_sign(played->signer, &built.msg, signature);
    void *socket = played->sockets[port_of[channel]];
    if (channel == MSG_IOPUB)
        send_part(socket, SLICE_LITERAL("kernel.topic"), true);
    else
        send_part(socket, slice_make(to->identity, to->identity_size), true);
    send_part(socket, SLICE_LITERAL(MULTIPART_DELIMITER), true);
    send_part(socket, slice_make(signature, size), true);
    send_part(socket, built.msg.header, true);
    send_part(socket, built.msg.parent_header, true);
    send_part(socket, built.msg.metadata, true);
    send_part(socket, built.msg.content, false);
    msg_built_finish(&built);
    loop_zmq_poke(played->watches[port_of[channel]]);
}

void played_say_raw(struct played *played, const struct slice *parts, size_t count) {
    for (size_t i = 0; i < count; i++)
        send_part(played->sockets[CONNECTION_IOPUB], parts[i], i + 1 < count);
    loop_zmq_poke(played->watches[CONNECTION_IOPUB]);
}

void played_status(struct played *played, const struct asked *to, const char *state) {
    cleanup_bytes struct bytes *content = msg_content_status(state);
    played_say(played, MSG_IOPUB, "status", to, to->header, bytes_slice(content));
}

void played_print(struct played *played, const struct asked *to, const char *words) {
    cleanup_text struct text content = {0};
    text_append_text(&content, "{\"name\":\"stdout\",\"text\":");
    text_append_json_string(&content, slice_from_text(words));
    text_append_text(&content, "}");
    played_say(played, MSG_IOPUB, "stream", to, to->header, text_slice(&content));
}

void played_reply(struct played *played, const struct asked *to, const char *status) {
    char msg_type[64], content[128];
    const char *end = strstr(to->msg_type, "_request");
    assert(end);
    snprintf(msg_type, sizeof msg_type, "%.*s_reply", (int)(end - to->msg_type), to->msg_type);
    snprintf(content, sizeof content, "{\"status\":\"%s\",\"implementation\":\"played\"}", status);
    played_say(played, to->channel, msg_type, to, to->header, slice_from_text(content));
}

void played_serve(struct played *played, const struct asked *to) {
    played_status(played, to, "busy");
    played_reply(played, to, "ok");
    played_status(played, to, "idle");
}

/* -- hearing ---------------------------------------------------------------------------------- */

static void forget(struct asked *asked) {
    mem_free(asked->msg_id);
    mem_free(asked->msg_type);
    mem_free(asked->header);
    mem_free(asked->content);
    mem_free(asked);
}

static void keep(struct played *played, struct asked *asked) {
    played->asked = mem_realloc(played->asked, (played->asked_count + 1) * sizeof *played->asked);
    played->asked[played->asked_count++] = asked;
}

/* An answer that it gives by itself, or a request that is kept. */
static void take(struct played *played, struct asked *asked, const char *username) {
    bool is_info = strcmp(asked->msg_type, "kernel_info_request") == 0;
    bool is_probe = strcmp(username, "gateway") == 0;
    if (is_info)
        *(is_probe ? &played->probes : &played->infos) += 1;
    if (is_info && !played->rig->mute)
        played_serve(played, asked);
    if (is_info && is_probe)
        forget(asked);
    else
        keep(played, asked);
}

static void hear(struct played *played, enum msg_channel channel, const struct slice *parts,
                 size_t count) {
    struct slice signature;
    struct msg msg;
    struct msg_header header;
    struct err err;
    size_t identities;
    if (multipart_read(parts, count, &identities, &signature, &msg, &err) < 0 ||
        signer_verify(played->signer, &msg, signature, &err) < 0 ||
        msg_header_parse(msg.header, &header, &err) < 0)
        fail_msg("the played kernel: %s", err.text);
    assert_int_equal(identities, 1);
    struct asked *asked = mem_alloc(sizeof *asked);
    *asked = (struct asked){.channel = channel,
                            .msg_id = mem_strdup(header.msg_id),
                            .msg_type = mem_strdup(header.msg_type),
                            .header = mem_copy_text(msg.header.data, msg.header.size),
                            .content = mem_copy_text(msg.content.data, msg.content.size),
                            .identity_size = parts[0].size};
    memcpy(asked->identity, parts[0].data, parts[0].size);
    take(played, asked, header.username);
    msg_header_finish(&header);
}

static bool hear_one(struct played *played, int port) {
    zmq_msg_t parts[PARTS_MAX];
    struct slice slices[PARTS_MAX];
    size_t count = 0;
    for (int more = 1; more; count++) {
        assert(count < PARTS_MAX);
        zmq_msg_init(&parts[count]);
        if (zmq_msg_recv(&parts[count], played->sockets[port], ZMQ_DONTWAIT) < 0)
            return false;
        more = zmq_msg_more(&parts[count]);
        slices[count] = slice_make(zmq_msg_data(&parts[count]), zmq_msg_size(&parts[count]));
    }
    if (port != CONNECTION_IOPUB) /* there it is a subscription */
        hear(played, channel_of[port], slices, count);
    for (size_t i = 0; i < count; i++)
        zmq_msg_close(&parts[i]);
    return true;
}

void played_listen(void *context) {
    struct played *played = context;
    for (int port = 0; port < CONNECTION_HB && !played->deaf; port++)
        while (played->sockets[port] && hear_one(played, port))
            ;
    for (int port = 0; port < CONNECTION_HB && !played->deaf; port++)
        if (played->watches[port])
            loop_zmq_poke(played->watches[port]);
}

/* -- life ------------------------------------------------------------------------------------- */

struct played *played_create(struct rig *rig, const struct rpc_packet *start) {
    const struct rpc_tree_start *body = &start->tree_start;
    struct played *played = mem_zalloc(1, sizeof *played);
    played->rig = rig;
    played->tree = body->tree;
    played->spec = body->spec;
    memcpy(played->jail, body->jail, sizeof played->jail);
    struct slice tail = slice_make(start->tail, start->tail_size);
    assert_int_equal(tail.size,
                     body->connection_size + body->environment_size + body->directory_size);
    assert_int_equal(tail.data[tail.size - 1], 0);
    played->environment_size = body->environment_size;
    played->environment = mem_copy_text(tail.data + body->connection_size, body->environment_size);
    tail.size = body->connection_size;
    struct err err;
    if (connection_read(tail, &played->connection, &err) < 0)
        fail_msg("%s", err.text);
    played->signer = signer_create(slice_from_text(played->connection.key));
    snprintf(played->session, sizeof played->session, "kernel-session-%llu",
             (unsigned long long)played->tree);
    list_append(&rig->played, &played->link);
    return played;
}

static void bind_socket(struct played *played, int port) {
    static const int types[CONNECTION_PORT_COUNT] = {ZMQ_ROUTER, ZMQ_XPUB, ZMQ_ROUTER, ZMQ_ROUTER,
                                                     ZMQ_REP};
    char endpoint[128];
    int none = 0;
    snprintf(endpoint, sizeof endpoint, "ipc://%s/k-%d", played->folder, port + 1);
    bool is_plain = port == CONNECTION_IOPUB && played->rig->plain_pub;
    void *socket = zmq_socket(played->rig->zmq_of_kernels, is_plain ? ZMQ_PUB : types[port]);
    zmq_setsockopt(socket, ZMQ_SNDHWM, &none, sizeof none);
    /* What was sent is sent on after a close, but where libzmq finds no end with a peer that left.
     */
    int linger_ms = LINGER_MS;
    zmq_setsockopt(socket, ZMQ_LINGER, &linger_ms, sizeof linger_ms);
    int received = played->rig->small_queues ? 1 : none;
    zmq_setsockopt(socket, ZMQ_RCVHWM, &received, sizeof received);
    int result = zmq_bind(socket, endpoint);
    assert_int_equal(result, 0);
    played->sockets[port] = socket;
    played->watches[port] = loop_zmq_create(played->rig->loop, socket, played_listen, played);
}

void played_hang_up(struct played *played) {
    for (int port = 0; port < CONNECTION_PORT_COUNT; port++) {
        loop_zmq_destroy(played->watches[port]);
        if (played->sockets[port])
            zmq_close(played->sockets[port]);
        played->sockets[port] = NULL;
        played->watches[port] = NULL;
    }
}

void played_hand_over(struct played *played) {
    int fds[CONNECTION_PORT_COUNT];
    char path[128];
    snprintf(played->folder, sizeof played->folder, "/tmp/test-session-XXXXXX");
    assert_non_null(mkdtemp(played->folder));
    for (int port = 0; port < CONNECTION_PORT_COUNT; port++) {
        bind_socket(played, port);
        snprintf(path, sizeof path, "%s/k-%d", played->folder, port + 1);
        fds[port] = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        assert_true(fds[port] >= 0);
    }
    struct rpc_tree_sockets body = {.head.kind = RPC_TREE_SOCKETS, .tree = played->tree};
    rig_send(played->rig, &body, (struct slice){0}, fds, CONNECTION_PORT_COUNT);
    for (int port = 0; port < CONNECTION_PORT_COUNT; port++) {
        close(fds[port]);
        snprintf(path, sizeof path, "%s/k-%d", played->folder, port + 1);
        unlink(path); /* the descriptor is enough */
    }
    rmdir(played->folder);
}

void played_destroy(struct played *played) {
    played_hang_up(played);
    for (size_t i = 0; i < played->asked_count; i++)
        forget(played->asked[i]);
    mem_free(played->asked);
    mem_free(played->environment);
    connection_finish(&played->connection);
    signer_destroy(played->signer);
    list_remove(&played->link);
    mem_free(played);
}

void played_die(struct played *played, enum rpc_cause cause, int status, const char *tail) {
    struct rpc_tree_ended body = {
        .head.kind = RPC_TREE_ENDED, .tree = played->tree, .cause = cause, .status = status};
    if (cause == RPC_CAUSE_OOM) {
        body.limit = status ? 512ULL << 20 : 0;
        body.peak = (512ULL << 20) - 4096;
    }
    struct rig *rig = played->rig;
    played_destroy(played);
    rig_send(rig, &body, slice_from_text(tail), NULL, 0);
}

struct played *played_newest(struct rig *rig) {
    if (list_is_empty(&rig->played))
        return NULL;
    return LIST_ENTRY(rig->played.previous, struct played, link);
}

struct played *played_find(struct rig *rig, uint64_t tree) {
    struct played *played;
    list_for_each (played, &rig->played, link)
        if (played->tree == tree)
            return played;
    return NULL;
}

struct asked *played_nth(struct played *played, const char *msg_id, size_t n) {
    for (size_t i = 0; i < played->asked_count; i++)
        if (strcmp(played->asked[i]->msg_id, msg_id) == 0 && n-- == 0)
            return played->asked[i];
    return NULL;
}
