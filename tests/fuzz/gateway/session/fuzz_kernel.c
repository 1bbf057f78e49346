/* fuzz_kernel - a kernel of the gateway between a warden, a kernel and clients of which none keeps
 * its rules, but for one client (the good one). Time and ZeroMQ are the target's (fake_loop.h,
 * fake_link.h). Input: steps, each a byte that names it and what it needs. Whatever is said in
 * whatever order: what the good client asked ends with an answer and an idle, whoever waits is told
 * once, and nothing is left when all is over. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "fake_link.h"
#include "fake_loop.h"
#include "msg/types.h"
#include "session/kernels.h"
#include "session/warden.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { KERNELS_MAX = 2, CLIENTS = 4, STEPS_MAX = 150, ASKED_MAX = 64, WAITERS_MAX = 64 };
enum { GOOD = 0, OPEN_MAX = 256, INPUT_MAX = 1024 };

struct client {
    struct kernel_client client;
    char kernel_id[64]; /* "": it is not attached */
    char session_id[8];
    uint64_t sent, acknowledged;
    size_t queued;
    bool is_deaf;
};

/* A request of the good client. */
struct asked {
    bool wants_end, has_reply, has_idle;
};

static struct {
    struct loop *loop;
    struct warden *warden;
    int fd; /* the warden's end */
    bool is_gone;
    struct kernels *kernels;
    char ids[KERNELS_MAX][64];
    struct client clients[CLIENTS];
    struct asked asked[ASKED_MAX];
    unsigned asked_count;
    struct kernel_waiter waiters[WAITERS_MAX];
    unsigned waiter_count, told;
    uint32_t open[OPEN_MAX]; /* numbers of requests to the warden */
    unsigned open_count;
    uint64_t last_tree;
} world;

static struct rpc_packet packet;

static uint8_t take_byte(struct slice *input) {
    if (!input->size)
        return 0;
    uint8_t byte = *input->data;
    *input = slice_from(*input, 1);
    return byte;
}

static struct slice take_counted(struct slice *input) {
    size_t size = take_byte(input);
    size = size < input->size ? size : input->size;
    struct slice taken = slice_make(input->data, size);
    *input = slice_from(*input, size);
    return taken;
}

static struct kernel *take_kernel(struct slice *input) {
    return kernels_find(world.kernels, world.ids[take_byte(input) % KERNELS_MAX]);
}

/* -- clients ---------------------------------------------------------------------------------- */

static struct client *client_of(struct kernel_client *client) {
    return LIST_ENTRY(client, struct client, client);
}

/* What the good client hears: parents are g0, g1, ... */
static void hear(struct outgoing *outgoing) {
    const struct msg_header *header;
    const struct msg *msg = outgoing_msg(outgoing, &header);
    struct msg_header parent;
    unsigned number;
    if (!msg || msg_header_parse(msg->parent_header, &parent, NULL) < 0)
        return;
    if (sscanf(parent.msg_id, "g%u", &number) == 1 && number < world.asked_count) {
        bool is_idle = msg->channel == MSG_IOPUB && strcmp(header->msg_type, "status") == 0 &&
                       memmem(msg->content.data, msg->content.size, "idle", 4);
        const struct msg_type *type = msg_type_from(slice_from_text(parent.msg_type));
        world.asked[number].has_idle |= is_idle;
        world.asked[number].has_reply |=
            msg->channel != MSG_IOPUB && type->reply && strcmp(type->reply, header->msg_type) == 0;
    }
    msg_header_finish(&parent);
}

static uint64_t on_message(struct kernel_client *base, struct outgoing *outgoing) {
    struct client *client = client_of(base);
    bool is_binary;
    struct bytes *frame = outgoing_encode(outgoing, base->encoding, &is_binary);
    assert(client->kernel_id[0] && frame);
    if (client == &world.clients[GOOD])
        hear(outgoing);
    if (client->is_deaf)
        return UINT64_MAX;
    client->sent += frame->size;
    if (client == &world.clients[GOOD])
        client->acknowledged = client->sent;
    return client->sent;
}

static uint64_t acknowledged(struct kernel_client *client) {
    return client_of(client)->acknowledged;
}

static size_t queued(struct kernel_client *client) {
    return client_of(client)->queued;
}

static void on_end(struct kernel_client *client, enum reason reason) {
    (void)reason;
    client_of(client)->kernel_id[0] = 0;
}

static void attach(struct client *client, struct kernel *kernel, const char *session_id,
                   enum encoding encoding) {
    if (client->kernel_id[0])
        return;
    *client = (struct client){.client.encoding = encoding,
                              .client.on_message = on_message,
                              .client.acknowledged = acknowledged,
                              .client.queued = queued,
                              .client.on_end = on_end};
    snprintf(client->session_id, sizeof client->session_id, "%s", session_id);
    snprintf(client->kernel_id, sizeof client->kernel_id, "%s", kernel_id(kernel));
    client->client.session_id = client->session_id;
    kernel_attach(kernel, &client->client);
}

static void detach(struct client *client, enum departure departure) {
    struct kernel *kernel = kernels_find(world.kernels, client->kernel_id);
    if (!client->kernel_id[0])
        return;
    assert(kernel); /* who is attached is told of the end */
    kernel_detach(kernel, &client->client, departure);
    client->kernel_id[0] = 0;
}

static struct client *take_rude_client(struct slice *input) {
    return &world.clients[1 + take_byte(input) % (CLIENTS - 1)];
}

static void come(struct slice *input) {
    static const char *const sessions[] = {"", "a", "b", "ab"};
    struct client *client = take_rude_client(input);
    struct kernel *kernel = take_kernel(input);
    const char *session = sessions[take_byte(input) % 4];
    if (kernel)
        attach(client, kernel, session, take_byte(input) % ENCODING_COUNT);
}

static void leave(struct slice *input) {
    struct client *client = take_rude_client(input);
    detach(client, take_byte(input) % 3);
}

/* What has arrived, what waits, and whether it is sent anything at all. */
static void read_on(struct slice *input) {
    struct client *client = take_rude_client(input);
    struct kernel *kernel = kernels_find(world.kernels, client->kernel_id);
    uint8_t how = take_byte(input);
    client->acknowledged += (client->sent - client->acknowledged) * (how & 3) / 3;
    client->queued = how & 4 ? (size_t)1 << 20 : 0;
    client->is_deaf = how & 8;
    if (client->kernel_id[0] && !client->queued)
        kernel_catch_up(kernel, &client->client);
}

/* -- messages --------------------------------------------------------------------------------- */

static const char *const contents[] = {
    "{}",
    "{\"execution_state\":\"busy\"}",
    "{\"execution_state\":\"idle\"}",
    "{\"execution_state\":\"starting\"}",
    "{\"execution_state\":7}",
    "{\"status\":\"ok\"}",
    "{\"status\":\"error\",\"ename\":\"E\",\"evalue\":\"v\"}",
    "{\"name\":\"stdout\",\"text\":\"x\"}",
    "{\"name\":\"stdout\",\"text\":\"\xff\"}",
    "{\"restart\":true}",
    "{\"restart\":false}",
    "{\"x\":NaN}",
    "null",
    "",
    "}{",
};

static struct slice take_content(struct slice *input) {
    return slice_from_text(contents[take_byte(input) % (sizeof contents / sizeof *contents)]);
}

static const char *take_type(struct slice *input) {
    uint8_t id = take_byte(input);
    return id > MSG_TYPE_UNKNOWN ? "no_such" : msg_type_of(id)->name;
}

static void ask(struct client *client, enum msg_channel channel, const char *msg_id,
                const char *type, struct slice content) {
    struct kernel *kernel = kernels_find(world.kernels, client->kernel_id);
    struct msg_header header;
    if (!client->kernel_id[0])
        return;
    cleanup_mem char *json =
        mem_format("{\"msg_id\":\"%s\",\"msg_type\":\"%s\",\"session\":\"s\",\"date\":%s}", msg_id,
                   type, channel == MSG_CONTROL ? "1.5" : "\"2026-01-01T00:00:00Z\"");
    struct msg msg = {.channel = channel,
                      .header = slice_from_text(json),
                      .parent_header = SLICE_LITERAL("{}"),
                      .metadata = SLICE_LITERAL("{}"),
                      .content = content};
    int result = msg_header_parse(msg.header, &header, NULL);
    assert(result == 0);
    if (*header.msg_type) /* as channels.c demands */
        kernel_receive(kernel, &client->client, &msg, &header);
    msg_header_finish(&header);
}

static void ask_rudely(struct slice *input) {
    struct client *client = take_rude_client(input);
    enum msg_channel channel = take_byte(input) % MSG_CHANNEL_COUNT;
    char msg_id[8];
    snprintf(msg_id, sizeof msg_id, "r%u", take_byte(input) % 4);
    const char *type = take_type(input);
    ask(client, channel, msg_id, type, take_content(input));
}

static void ask_well(struct slice *input) {
    struct client *client = &world.clients[GOOD];
    enum msg_channel channel = take_byte(input) & 1 ? MSG_CONTROL : MSG_SHELL;
    const char *type = take_type(input);
    struct slice content = take_content(input);
    char msg_id[8];
    if (world.asked_count == ASKED_MAX || !client->kernel_id[0])
        return;
    snprintf(msg_id, sizeof msg_id, "g%u", world.asked_count);
    bool is_request = msg_type_from(slice_from_text(type))->reply != NULL;
    world.asked[world.asked_count++] = (struct asked){.wants_end = is_request};
    ask(client, channel, msg_id, type, content);
}

/* -- the kernel ------------------------------------------------------------------------------- */

static void say(struct slice *input) {
    struct link *link = fake_link_find(take_byte(input));
    enum msg_channel channel = take_byte(input) % MSG_CHANNEL_COUNT;
    const char *type = take_type(input);
    uint8_t parent = take_byte(input);
    cleanup_mem char *header =
        mem_format("{\"msg_id\":\"k\",\"msg_type\":\"%s\",\"session\":\"%s\"}", type,
                   parent & 0x20 ? "k" : "kernel");
    struct slice content = take_content(input), buffer = take_counted(input);
    if (!link)
        return;
    struct slice heard = fake_link_heard(link, parent);
    cleanup_mem char *copy = mem_copy_text(heard.data, heard.size);
    struct msg msg = {.channel = channel,
                      .header = slice_from_text(header),
                      .parent_header = parent & 0x40 ? SLICE_LITERAL("{}") : slice_from_text(copy),
                      .metadata = SLICE_LITERAL("{}"),
                      .content = content,
                      .buffers = &buffer,
                      .buffer_count = buffer.size > 0};
    fake_link_say(link, &msg);
}

static void link_up_or_down(struct slice *input) {
    static void (*const acts[])(struct link *) = {fake_link_connect, fake_link_fail,
                                                  fake_link_drain};
    struct link *link = fake_link_find(take_byte(input));
    uint8_t what = take_byte(input);
    if (link)
        acts[what % 3](link);
}

static void hold(struct slice *input) {
    struct link *link = fake_link_find(take_byte(input));
    uint8_t what = take_byte(input);
    if (link)
        fake_link_hold(link, what & 1, what & 2 ? 1 << 20 : 0);
}

/* -- the warden ------------------------------------------------------------------------------- */

static void receive_requests(void) {
    while (rpc_receive(world.fd, &packet, NULL) == 0) {
        assert(packet.head.kind <= RPC_TREE_KILL && packet.head.number);
        if (packet.head.kind == RPC_TREE_START)
            world.last_tree = packet.tree_start.tree;
        if (world.open_count < OPEN_MAX)
            world.open[world.open_count++] = packet.head.number;
        rpc_packet_close(&packet);
    }
}

static void tell(const void *body, struct slice tail, const int *fds, size_t fd_count) {
    struct err err;
    rpc_send(world.fd, body, tail, fds, fd_count, &err);
    fake_loop_turn(world.loop);
}

static void answer_oldest(int code) {
    struct rpc_reply reply = {.head = {RPC_REPLY, world.open[0]}};
    if (!world.open_count)
        return;
    if (code)
        err_set(&reply.err, code, "no");
    memmove(world.open, world.open + 1, --world.open_count * sizeof *world.open);
    tell(&reply, (struct slice){0}, NULL, 0);
}

static void answer(struct slice *input) {
    receive_requests();
    answer_oldest(take_byte(input) & 1 ? ENOENT : 0);
}

/* The newest trees are meant more often than others. */
static uint64_t take_tree(struct slice *input) {
    receive_requests();
    return world.last_tree - take_byte(input) % 3;
}

static void give_sockets(struct slice *input) {
    struct rpc_tree_sockets body = {.head.kind = RPC_TREE_SOCKETS, .tree = take_tree(input)};
    const int fds[] = {0, 0, 0, 0, 0};
    tell(&body, (struct slice){0}, fds, 5 - take_byte(input) % 6);
}

static void end_tree(struct slice *input) {
    struct rpc_tree_ended body = {.head.kind = RPC_TREE_ENDED,
                                  .tree = take_tree(input),
                                  .cause = take_byte(input) % 8,
                                  .status = (int8_t)take_byte(input),
                                  .limit = take_byte(input) & 1 ? 1 << 20 : 0};
    tell(&body, take_counted(input), NULL, 0);
}

/* Anything; a packet that breaks the contract is the end of it. */
static void send_raw(struct slice *input) {
    struct slice raw = take_counted(input);
    if (raw.size && send(world.fd, raw.data, raw.size, MSG_NOSIGNAL) > 0)
        fake_loop_turn(world.loop);
}

static void on_event(void *context, struct rpc_packet *event) {
    (void)context;
    if (event->head.kind == RPC_TREE_SOCKETS || event->head.kind == RPC_TREE_ENDED)
        kernels_on_event(world.kernels, event);
}

static void on_gone(void *context, const struct err *err) {
    (void)context;
    assert(err->code == EPROTO || err->code == EPIPE);
    world.is_gone = true;
}

/* -- what is asked of a kernel ---------------------------------------------------------------- */

static void on_told(struct kernel_waiter *waiter, const struct err *err) {
    assert(waiter >= world.waiters && waiter < world.waiters + world.waiter_count);
    assert(waiter->done && (err->code == 0 || err->text[0]));
    waiter->done = NULL; /* once */
    world.told++;
}

static struct kernel_waiter *make_waiter(void) {
    struct kernel_waiter *waiter = &world.waiters[world.waiter_count++];
    *waiter = (struct kernel_waiter){.done = on_told};
    list_init(&waiter->link);
    return waiter;
}

static void on_trouble(const char *id, const char *sentence) {
    assert(*id && *sentence);
}

static struct spec specs[] = {{.name = (char *)"one", .number = 1},
                              {.name = (char *)"two", .number = 2, .interrupt_by_message = true}};

static void start(struct slice *input) {
    uint8_t which = take_byte(input) % KERNELS_MAX;
    struct kernel_start with = {.spec = &specs[which]};
    struct kernel *kernel;
    struct err err;
    if (kernels_find(world.kernels, world.ids[which]))
        return;
    int result = kernels_start(world.kernels, &with, &kernel, &err);
    assert(result == 0 || result == -EDQUOT);
    if (result < 0)
        return;
    snprintf(world.ids[which], sizeof world.ids[which], "%s", kernel_id(kernel));
    if (which == 0 && world.asked_count == 0)
        attach(&world.clients[GOOD], kernel, "good", ENCODING_V1);
}

static void interrupt(struct slice *input) {
    struct kernel *kernel = take_kernel(input);
    int64_t grace_ms = take_byte(input) & 1 ? 50 : 0;
    struct err err;
    if (!kernel)
        return;
    int result = kernel_interrupt(kernel, grace_ms, &err);
    assert(result == 0 || result == -EBUSY || result == -ESRCH);
}

static void restart(struct slice *input) {
    struct kernel *kernel = take_kernel(input);
    if (kernel && world.waiter_count < WAITERS_MAX)
        kernel_restart(kernel, make_waiter());
}

static void await(struct slice *input) {
    struct kernel *kernel = take_kernel(input);
    if (kernel && kernel_is_starting(kernel) && world.waiter_count < WAITERS_MAX)
        kernel_await_start(kernel, make_waiter());
}

static void delete (struct slice *input) {
    struct kernel *kernel = take_kernel(input);
    if (kernel)
        kernel_delete(kernel, world.waiter_count < WAITERS_MAX ? make_waiter() : NULL);
}

static void pass_time(struct slice *input) {
    static const int64_t times_ms[] = {0, 1, 20, 100, 600, 3000, 11000, 70000};
    fake_loop_pass(world.loop, times_ms[take_byte(input) % 8]);
}

static void (*const steps[])(struct slice *) = {
    start,   answer,   give_sockets, link_up_or_down, say,   ask_well, ask_rudely, come, leave,
    read_on, end_tree, interrupt,    restart,         await, delete,   pass_time,  hold, send_raw,
};

/* -- begin and end ---------------------------------------------------------------------------- */

static const struct params params = {.max_kernels = KERNELS_MAX,
                                     .gateway_memory_bytes = (uint64_t)1 << 40,
                                     .launch_timeout_ms = 10000,
                                     .grace_ms = 500,
                                     .session_pending_requests = 20,
                                     .session_pending_bytes = 1 << 20,
                                     .session_buffer_bytes = 4096,
                                     .session_buffer_ms = 60000,
                                     .session_buffers = 2,
                                     .ws_queue_bytes = 2400,
                                     .cull_interval_ms = 10000,
                                     .restart_limit = 2,
                                     .stable_start_ms = 2000};

static void begin(void) {
    int ends[2];
    memset(&world, 0, sizeof world);
    world.loop = loop_create();
    int result = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
    assert(result == 0);
    world.fd = ends[1];
    fcntl(world.fd, F_SETFL, O_NONBLOCK);
    struct warden_events events = {on_event, on_gone, NULL};
    world.warden = warden_create_take(world.loop, ends[0], &events);
    struct kernels_context context = {
        .loop = world.loop, .warden = world.warden, .params = &params, .on_trouble = on_trouble};
    world.kernels = kernels_create(&context);
}

/* Every kernel is deleted by a warden that does what it is asked. */
static void finish_well(void) {
    for (unsigned i = 0; i < KERNELS_MAX; i++)
        delete (&(struct slice){(const uint8_t[]){(uint8_t)i}, 1});
    for (receive_requests(); world.open_count; receive_requests()) {
        answer_oldest(0);
        fake_loop_pass(world.loop, 5); /* what waited for room in the socket */
    }
    assert(kernels_count(world.kernels) == 0);
    assert(world.told == world.waiter_count);
    for (unsigned i = 0; i < CLIENTS; i++)
        assert(!world.clients[i].kernel_id[0]);
    for (unsigned i = 0; i < world.asked_count; i++)
        assert(!world.asked[i].wants_end || (world.asked[i].has_reply && world.asked[i].has_idle));
}

static void end(void) {
    for (unsigned i = 0; i < CLIENTS; i++)
        detach(&world.clients[i], LEFT_FOR_GOOD);
    kernels_destroy(world.kernels);
    warden_destroy(world.warden);
    close(world.fd);
    loop_destroy(world.loop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct slice input = slice_make(data, size);
    if (size > INPUT_MAX)
        return 0;
    int free_before = dup(0);
    close(free_before);
    begin();
    for (int i = 0; i < STEPS_MAX && input.size && !world.is_gone; i++)
        steps[take_byte(&input) % (sizeof steps / sizeof *steps)](&input);
    if (!world.is_gone)
        finish_well();
    end();
    int free_after = dup(0);
    close(free_after);
    assert(free_after == free_before && mem_live() == 0);
    return 0;
}
