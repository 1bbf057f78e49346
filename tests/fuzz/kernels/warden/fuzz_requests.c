/* fuzz_requests - the warden below a gateway that strangers have taken over, with jails that are
 * none (fake_jail.h). Input: steps, each a byte that names it and what it needs: packets of the
 * gateway, ends and reports of processes, files in the folders of kernels' sockets, failures of the
 * machine, time. Whatever is asked: each request has one answer, no limit is passed, and nothing is
 * left when all has ended. */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"
#include "fake_jail.h"
#include "folder.h"
#include "warden/limits.h"
#include "warden/sockets.h"
#include "warden/tree.h"
#include "warden/warden.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { KERNELS_MAX = 3, STEPS_MAX = 200 };

static struct {
    struct warden warden;
    int gateway;              /* the gateway's end of the link */
    struct rpc_packet packet; /* what it received last */
    unsigned asked, answered; /* requests */
    bool is_broken;           /* it broke the contract */
} world;

/* -- what stands in for main.c and gateway.c -------------------------------------------------- */

void warden_end(struct warden *warden, int exit_status) {
    warden->is_ending = true;
    warden->exit_status = exit_status;
}

static void check_answer(const struct rpc_packet *packet) {
    if (packet->head.kind == RPC_REPLY) {
        world.answered++;
        assert(packet->head.number != 0);
        assert(packet->reply.err.code == 0 || packet->reply.err.text[0]);
    } else if (packet->head.kind == RPC_TREE_ENDED) {
        assert(packet->tree_ended.cause >= RPC_CAUSE_EXIT);
        assert(packet->tree_ended.cause <= RPC_CAUSE_FAILED);
    } else if (packet->head.kind == RPC_TREE_SOCKETS) {
        struct stat info;
        assert(packet->fd_count == 5);
        for (size_t i = 0; i < packet->fd_count; i++)
            assert(fstat(packet->fds[i], &info) == 0 && S_ISSOCK(info.st_mode));
    }
}

void gateway_flush(struct warden *warden) {
    struct err err;
    int result = outbox_flush(&warden->gateway.outbox, warden->gateway.link.fd, &err);
    assert(result == 0 && outbox_is_empty(&warden->gateway.outbox));
    while (rpc_receive(world.gateway, &world.packet, &err) == 0) {
        check_answer(&world.packet);
        rpc_packet_close(&world.packet);
    }
}

/* As gateway.c hears what the gateway sends; true where it went on. */
static void hear(void) {
    struct warden *warden = &world.warden;
    struct err err = {0};
    int result = rpc_receive(warden->gateway.link.fd, &warden->packet, &err);
    if (result == 0) {
        struct rpc_head head = warden->packet.head;
        result = request_answer(warden, &err);
        rpc_packet_close(&warden->packet);
        bool is_request = head.kind <= RPC_TREE_KILL && head.number;
        assert(result == (is_request ? 0 : -EPROTO));
        world.asked += is_request;
    }
    assert(result == 0 || result == -EPROTO || result == -EPIPE);
    world.is_broken = world.is_broken || result < 0;
}

/* -- steps ------------------------------------------------------------------------------------ */

static uint8_t take_byte(struct slice *input) {
    if (!input->size)
        return 0;
    uint8_t byte = *input->data;
    *input = slice_from(*input, 1);
    return byte;
}

static struct slice take(struct slice *input, size_t size) {
    size = size < input->size ? size : input->size;
    struct slice taken = slice_make(input->data, size);
    *input = slice_from(*input, size);
    return taken;
}

/* Bytes with a byte of their count before them. */
static struct slice take_counted(struct slice *input) {
    return take(input, take_byte(input));
}

static void say_to_warden(const void *packet, size_t size) {
    if (size && send(world.gateway, packet, size, MSG_NOSIGNAL) > 0)
        hear();
}

/* Anything as a packet: its size in two bytes, then it. */
static void send_raw(struct slice *input) {
    size_t size = take_byte(input);
    size |= (size_t)take_byte(input) << 8;
    struct slice packet = take(input, size);
    say_to_warden(packet.data, packet.size);
}

/* The others are packets of the right shape, which follow rpc.h: only what they say is the input's.
 */
static struct rpc_head head_of(enum rpc_kind kind) {
    return (struct rpc_head){kind, world.asked + 1};
}

static void send_ready(struct slice *input) {
    (void)input;
    struct rpc_head body = head_of(RPC_READY);
    say_to_warden(&body, sizeof body);
}

/* One limit is a power of two. */
static void send_create(struct slice *input) {
    uint8_t what = take_byte(input);
    struct rpc_jail_create body = {
        .head = head_of(what & 1 ? RPC_JAIL_LIMITS : RPC_JAIL_CREATE),
        .jail = {take_byte(input)},
        .data_mask = take_byte(input),
    };
    uint64_t *limits = (uint64_t *)&body.limits;
    limits[(what >> 1) % (sizeof body.limits / sizeof *limits)] =
        1ULL << take_byte(input) % 64 & ~1;
    say_to_warden(&body, sizeof body);
}

static void send_end(struct slice *input) {
    struct rpc_jail_end body = {.head = head_of(RPC_JAIL_END), .jail = {take_byte(input)}};
    say_to_warden(&body, sizeof body);
}

/* The tail's three parts; what they are said to be may be a lie. */
static void send_start(struct slice *input) {
    struct rpc_tree_start body = {
        .head = head_of(RPC_TREE_START),
        .jail = {take_byte(input)},
        .tree = take_byte(input),
        .kind = RPC_TREE_KERNEL + take_byte(input) % 2,
        .spec = take_byte(input) % 4,
    };
    uint32_t lie = take_byte(input);
    uint8_t packet[sizeof body + 3 * UINT8_MAX];
    size_t size = sizeof body;
    uint32_t *const sizes[] = {&body.connection_size, &body.environment_size, &body.directory_size};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct slice part = take_counted(input);
        if (part.size)
            memcpy(packet + size, part.data, part.size);
        size += part.size;
        *sizes[i] = (uint32_t)part.size + (lie >> 2 * i & 3) * 0x7fffffff;
    }
    memcpy(packet, &body, sizeof body);
    say_to_warden(packet, size);
}

static void send_signal(struct slice *input) {
    struct rpc_tree_signal body = {
        .head = head_of(RPC_TREE_SIGNAL),
        .tree = take_byte(input),
        .signal = (int8_t)take_byte(input),
    };
    say_to_warden(&body, sizeof body);
}

static void send_kill(struct slice *input) {
    struct rpc_tree_kill body = {.head = head_of(RPC_TREE_KILL), .tree = take_byte(input)};
    say_to_warden(&body, sizeof body);
}

static struct fake_process *process_of(uint8_t number) {
    struct fake_process *process = &fake_processes[number % FAKE_PROCESSES_MAX];
    return process->event >= 0 && process->link >= 0 ? process : NULL;
}

/* What pid 1 says of its program, which is a word of ours, but for the output. */
static void report(struct slice *input) {
    struct fake_process *process = process_of(take_byte(input));
    struct init_report report = {.kind = INIT_STARTED + take_byte(input) % 4};
    report.value = 1 + take_byte(input) % 64;
    struct slice output = take_counted(input);
    if (output.size)
        memcpy(report.output, output.data, output.size);
    if (process)
        send(process->link, &report, INIT_REPORT_HEAD + output.size, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void end_process(struct slice *input) {
    struct fake_process *process = process_of(take_byte(input));
    uint8_t status = take_byte(input);
    if (process)
        fake_process_end(process, status & 0x80 ? (status & 0x7f) << 8 : status & 0x3f);
}

/* A few of these are more changes of a folder than the warden looks at. By turns of two names, as
 * inotify tells of what repeats itself once. */
static void churn(const char *path) {
    char other[128];
    snprintf(other, sizeof other, "%s-other", path);
    for (int i = 0; i < 300; i++) {
        const char *name = i % 2 ? path : other;
        mkfifo(name, 0644);
        unlink(name);
    }
}

/* A kernel puts something into the folder of its sockets. */
static void put_file(struct slice *input) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    uint8_t what = take_byte(input);
    char *path = address.sun_path;
    if (!fake_run_folder[0])
        return;
    snprintf(path, sizeof address.sun_path, "%s/k%c%u", fake_run_folder, what & 8 ? ':' : '-',
             1 + (what & 7) % 6);
    if (what >> 4 == 1) {
        (void)!symlink("/proc/self/fd/0", path);
    } else if (what >> 4 == 2) {
        mkfifo(path, 0644);
    } else if (what >> 4 == 3) {
        unlink(path);
    } else if (what >> 4 == 4) {
        churn(path);
    } else {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        (void)!bind(fd, (const struct sockaddr *)&address, sizeof address);
        close(fd);
    }
}

static void let_fail(struct slice *input) {
    fake_failures = take_byte(input) | (uint32_t)take_byte(input) << 8;
}

/* Memory was short in one of the jails. */
static void run_out(struct slice *input) {
    uint8_t number = take_byte(input);
    struct jail *jail;
    list_for_each (jail, &world.warden.jails, link)
        if (jail->id[0] == number && jail->group.oom_fd >= 0)
            (void)!write(jail->group.oom_fd, &(uint64_t){1}, sizeof(uint64_t));
}

static void turn(struct slice *input) {
    for (int i = take_byte(input) % 8; i >= 0; i--)
        events_wait(&world.warden.events, 0);
    jails_tick(&world.warden);
}

static void (*const steps[])(struct slice *) = {
    send_raw, send_ready,  send_create, send_end, send_start, send_signal, send_kill,
    report,   end_process, put_file,    let_fail, run_out,    turn,
};

/* -- begin and end ---------------------------------------------------------------------------- */

static void add_specs(struct specs *specs) {
    static struct spec items[2];
    items[0] = (struct spec){.name = (char *)"one",
                             .folder = (char *)"/f",
                             .prefix = (char *)"",
                             .bin = (char *)"/usr/bin",
                             .number = 1,
                             .generation = 1};
    items[1] = items[0];
    items[1].number = 2;
    items[1].generation = 0; /* it is gone */
    static char *argv[] = {(char *)"kernel", (char *)"{connection_file}", NULL};
    items[0].argv = (struct strings){argv, 2};
    *specs = (struct specs){.items = items, .count = 2, .generation = 1};
}

static const struct params params = {.max_kernels = KERNELS_MAX,
                                     .memory_bytes = 512 << 20,
                                     .max_memory_bytes = 1 << 30,
                                     .pids = 256,
                                     .max_pids = 256,
                                     .open_files = 1024,
                                     .max_open_files = 1024,
                                     .workspace_bytes = 1 << 20,
                                     .max_workspace_bytes = 1 << 20,
                                     .workspace_inodes = 100,
                                     .max_workspace_inodes = 100,
                                     .tmp_bytes = 1 << 20};

static void begin(void) {
    struct warden *warden = &world.warden;
    struct err err;
    int ends[2];
    memset(&world, 0, offsetof(typeof(world), packet));
    world.asked = world.answered = 0;
    world.is_broken = false;
    warden->params = params;
    warden->params.python = (char *)"";
    list_init(&warden->jails);
    outbox_init(&warden->gateway.outbox);
    uids_init(&warden->uids, getuid() + 1, KERNELS_MAX + 1);
    assert(events_init(&warden->events, &err) == 0 && sockets_init(warden, &err) == 0);
    assert(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
    warden->gateway.link.fd = ends[0];
    world.gateway = ends[1];
    add_specs(&warden->specs);
    warden->data.items[0] =
        (struct data_folder){(char *)"sets", "/usr/share", (char *)"/usr/share"};
    warden->data.count = 1;
    fake_begin();
}

static void check(void) {
    size_t count = 0;
    struct jail *jail;
    list_for_each (jail, &world.warden.jails, link) {
        struct rpc_limits limits;
        count += !jail->is_ending;
        assert(jail->tree_count <= TREES_MAX);
        assert(limits_resolve(&params, &jail->limits, &limits, NULL) == 0);
        assert((jail->data_mask & ~(uint64_t)1) == 0);
    }
    assert(count == world.warden.jail_count && count <= KERNELS_MAX);
}

static void end_trees(const struct jail *jail, bool is_all) {
    struct tree *tree;
    list_for_each (tree, &jail->trees, link)
        for (size_t i = 0; i < FAKE_PROCESSES_MAX; i++)
            if (fake_processes[i].event == tree->process.fd && fake_processes[i].link >= 0 &&
                (tree->is_killed || is_all))
                fake_process_end(&fake_processes[i], SIGKILL);
}

/* Ends those processes of trees that were killed, or all, and hears of it. */
static void end_processes(bool is_all) {
    struct jail *jail;
    list_for_each (jail, &world.warden.jails, link)
        end_trees(jail, is_all);
    if (list_is_empty(&world.warden.jails))
        return;
    for (int i = 0; i < 4 * FAKE_PROCESSES_MAX; i++)
        events_wait(&world.warden.events, 0);
}

static bool is_one_ending(void) {
    struct jail *jail;
    list_for_each (jail, &world.warden.jails, link)
        if (jail->is_ending)
            return true;
    return false;
}

/* A group that was not empty is tried again, after a while. */
static void await_endings(void) {
    for (int tries = 0; is_one_ending(); tries++) {
        int wait_ms = jails_tick(&world.warden);
        assert(tries < 1000);
        events_wait(&world.warden.events, wait_ms < 0 ? 0 : wait_ms);
    }
}

static void end(void) {
    struct warden *warden = &world.warden;
    fake_failures = 0;
    end_processes(false);
    await_endings();
    assert(world.answered == world.asked);
    jails_end_all(warden);
    end_processes(true);
    await_endings();
    assert(list_is_empty(&warden->jails) && warden->jail_count == 0);
    fake_end();
    close(warden->folders.fd);
    close(warden->gateway.link.fd);
    close(world.gateway);
    events_finish(&warden->events);
    uids_finish(&warden->uids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct slice input = slice_make(data, size);
    folder_path();
    int64_t live_before = mem_live();
    int free_before = dup(0);
    close(free_before);
    begin();
    for (int i = 0; i < STEPS_MAX && input.size && !world.is_broken; i++) {
        steps[take_byte(&input) % (sizeof steps / sizeof *steps)](&input);
        check();
    }
    end();
    int free_after = dup(0);
    close(free_after);
    assert(free_after == free_before && mem_live() == live_before);
    return 0;
}
