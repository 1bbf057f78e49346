#include "rig.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <event2/event.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#include "played.h"

enum { TICK_MS = 2, SETTLE_TURNS = 20, STALL_MS = 500, NEVER_MS = 100 * RIG_LIMIT_MS };

static struct text *troubles;

static void on_trouble(const char *kernel_id, const char *sentence) {
    assert_int_equal(strlen(kernel_id), 36);
    text_append_format(troubles, "%s\n", sentence);
}

int rig_count_descriptors(void) {
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

/* -- the played warden ------------------------------------------------------------------------ */

void rig_send(struct rig *rig, const void *body, struct slice tail, const int *fds, size_t count) {
    struct err err;
    if (rpc_send(rig->fd, body, tail, fds, count, &err) < 0)
        fail_msg("%s", err.text);
}

static void reply(struct rig *rig, uint32_t number, int code, const char *sentence) {
    struct rpc_reply body = {.head = {RPC_REPLY, number}};
    if (code)
        err_set(&body.err, code, "%s", sentence);
    rig_send(rig, &body, (struct slice){0}, NULL, 0);
}

static struct rig_jail *find_jail(struct rig *rig, const uint8_t id[16]) {
    struct rig_jail *jail;
    list_for_each (jail, &rig->jails, link)
        if (memcmp(jail->id, id, sizeof jail->id) == 0)
            return jail;
    return NULL;
}

/* What a request needs is not there; what is asked for is there already. */
static int check_jail(struct rig *rig, const struct rpc_packet *packet) {
    if (packet->head.kind == RPC_JAIL_CREATE)
        return find_jail(rig, packet->jail_create.jail) ? EEXIST : 0;
    if (packet->head.kind == RPC_JAIL_END || packet->head.kind == RPC_TREE_START)
        return find_jail(rig, packet->jail_end.jail) ? 0 : ENOENT;
    return 0;
}

static void create_jail(struct rig *rig, const struct rpc_packet *packet) {
    struct rig_jail *jail = mem_zalloc(1, sizeof *jail);
    memcpy(jail->id, packet->jail_create.jail, sizeof jail->id);
    jail->limits = packet->jail_create.limits;
    jail->data_mask = packet->jail_create.data_mask;
    list_append(&rig->jails, &jail->link);
}

static void end_jail(struct rig *rig, const struct rpc_packet *packet) {
    struct rig_jail *jail = find_jail(rig, packet->jail_end.jail);
    struct played *played;
    list_for_each (played, &rig->played, link)
        if (memcmp(played->jail, jail->id, sizeof jail->id) == 0)
            played_die(played, RPC_CAUSE_KILLED, 0, "");
    list_remove(&jail->link);
    mem_free(jail);
}

static void start_tree(struct rig *rig, const struct rpc_packet *packet) {
    struct played *played = played_create(rig, packet);
    if (!rig->no_sockets)
        played_hand_over(played);
}

static void signal_tree(struct rig *rig, const struct rpc_packet *packet) {
    struct played *played = played_find(rig, packet->tree_signal.tree);
    if (played)
        played->last_signal = packet->tree_signal.signal;
}

static void kill_tree(struct rig *rig, const struct rpc_packet *packet) {
    struct played *played = played_find(rig, packet->tree_kill.tree);
    if (played)
        played_die(played, RPC_CAUSE_KILLED, 0, "");
}

static void (*const acts[RIG_KINDS])(struct rig *, const struct rpc_packet *) = {
    [RPC_JAIL_CREATE] = create_jail, [RPC_JAIL_END] = end_jail,   [RPC_TREE_START] = start_tree,
    [RPC_TREE_SIGNAL] = signal_tree, [RPC_TREE_KILL] = kill_tree,
};

static void act(struct rig *rig, const struct rpc_packet *packet) {
    int code = check_jail(rig, packet);
    if (packet->head.kind == rig->refused_kind)
        reply(rig, packet->head.number, ENOSPC, rig->refusal);
    else if (code)
        reply(rig, packet->head.number, code, strerror(code));
    else if (packet->head.kind == RPC_JAIL_END) { /* answered when nothing is left of it */
        end_jail(rig, packet);
        reply(rig, packet->head.number, 0, "");
    } else {
        reply(rig, packet->head.number, 0, "");
        acts[packet->head.kind](rig, packet);
    }
}

static void on_packet(void *context) {
    struct rig *rig = context;
    struct err err;
    if (rpc_receive(rig->fd, &rig->packet, &err) < 0)
        fail_msg("the played warden: %s", err.text);
    uint32_t kind = rig->packet.head.kind;
    assert_true(kind < RIG_KINDS && acts[kind]);
    assert_int_not_equal(rig->packet.head.number, 0);
    rig->received[kind]++;
    if (kind != rig->held_kind) {
        act(rig, &rig->packet);
        return;
    }
    assert_false(rig->is_held);
    rig->held = rig->packet;
    rig->is_held = true;
}

void rig_answer_held(struct rig *rig) {
    assert_true(rig->is_held);
    rig->is_held = false;
    rig->held_kind = 0;
    act(rig, &rig->held);
}

/* -- turning ---------------------------------------------------------------------------------- */

static void on_tick(void *context) {
    (void)context;
}

void rig_begin_wait(struct rig *rig) {
    rig->waited_ms = 0;
}

bool rig_turn(struct rig *rig) {
    int64_t begin_ms = loop_now_ms(rig->loop);
    loop_timer_start(rig->tick, TICK_MS);
    event_base_loop(loop_base(rig->loop), EVLOOP_ONCE);
    int64_t turn_ms = loop_now_ms(rig->loop) - begin_ms;
    rig->waited_ms += turn_ms < STALL_MS ? turn_ms : STALL_MS;
    return rig->waited_ms < RIG_LIMIT_MS;
}

static bool is_quiet(int fd) {
    int waiting;
    int result = ioctl(fd, FIONREAD, &waiting);
    assert(result == 0);
    return waiting == 0;
}

void rig_settle(struct rig *rig) {
    rig_begin_wait(rig);
    for (int quiet = 0; quiet < SETTLE_TURNS; quiet = is_quiet(rig->fd) ? quiet + 1 : 0)
        assert_true(rig_turn(rig));
}

/* -- kernels ---------------------------------------------------------------------------------- */

struct kernel *rig_start(struct rig *rig) {
    struct kernel_start start = {.spec = &rig->spec};
    struct kernel *kernel;
    struct err err;
    if (kernels_start(rig->kernels, &start, &kernel, &err) < 0)
        fail_msg("%s", err.text);
    return kernel;
}

struct kernel *rig_start_ready(struct rig *rig) {
    struct kernel *kernel = rig_start(rig);
    UNTIL(rig, !is_state(kernel, "starting"));
    if (kernel_reason(kernel))
        fail_msg("%s", kernel_reason(kernel));
    return kernel;
}

static void count_told(struct kernel_waiter *base, const struct err *err) {
    struct waiter *waiter = LIST_ENTRY(base, struct waiter, waiter);
    waiter->told++;
    waiter->code = err->code;
    snprintf(waiter->text, sizeof waiter->text, "%s", err->code ? err->text : "");
}

struct kernel_waiter *waiter_init(struct waiter *waiter) {
    *waiter = (struct waiter){.waiter.done = count_told};
    list_init(&waiter->waiter.link);
    return &waiter->waiter;
}

/* -- begin and end ---------------------------------------------------------------------------- */

static void on_event(void *context, struct rpc_packet *packet) {
    struct rig *rig = context;
    kernels_on_event(rig->kernels, packet);
}

static void on_gone(void *context, const struct err *err) {
    (void)context;
    fail_msg("the warden is gone: %s", err->text);
}

static void begin_rooms(struct rig *rig, int fd) {
    struct warden_events events = {on_event, on_gone, rig};
    rig->warden = warden_create_take(rig->loop, fd, &events);
    struct kernels_context context = {rig->loop, rig->zmq, rig->warden, &rig->params, on_trouble};
    rig->kernels = kernels_create(&context);
}

void rig_begin(struct rig *rig) {
    memset(rig, 0, sizeof *rig);
    rig->memory = mem_live();
    rig->descriptors = rig_count_descriptors();
    troubles = &rig->troubles;
    rig->params = (struct params){.max_kernels = 300,
                                  .gateway_memory_bytes = (uint64_t)1 << 40,
                                  .launch_timeout_ms = NEVER_MS,
                                  .grace_ms = NEVER_MS,
                                  .session_pending_requests = 10000,
                                  .session_pending_bytes = 64 << 20,
                                  .session_buffer_bytes = 64 << 20,
                                  .session_buffer_ms = 3600000,
                                  .session_buffers = 8,
                                  .ws_queue_bytes = 64 << 20,
                                  .cull_interval_ms = 3600000};
    rig->spec = (struct spec){.name = "played", .number = 7};
    rig->loop = loop_create();
    rig->tick = loop_timer_create(rig->loop, on_tick, NULL);
    rig->zmq = zmq_ctx_new();
    rig->zmq_of_kernels = zmq_ctx_new();
    list_init(&rig->jails);
    list_init(&rig->played);
    int fds[2];
    int result = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds);
    assert_int_equal(result, 0);
    rig->fd = fds[1];
    rig->watch = loop_watch_create(rig->loop, rig->fd, on_packet, rig);
    begin_rooms(rig, fds[0]);
}

void rig_end(struct rig *rig) {
    kernels_destroy(rig->kernels);
    warden_destroy(rig->warden);
    struct played *played;
    list_for_each (played, &rig->played, link)
        played_destroy(played);
    struct rig_jail *jail;
    list_for_each (jail, &rig->jails, link)
        mem_free(jail);
    loop_watch_destroy(rig->watch);
    close(rig->fd);
    zmq_ctx_term(rig->zmq);
    zmq_ctx_term(rig->zmq_of_kernels);
    loop_timer_destroy(rig->tick);
    loop_destroy(rig->loop);
    text_finish(&rig->troubles);
    assert_int_equal(mem_live(), rig->memory);
    assert_int_equal(rig_count_descriptors(), rig->descriptors);
}
