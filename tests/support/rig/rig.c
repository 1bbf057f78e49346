#include "rig/rig.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

struct stashed {
    struct stashed *next;
    struct rpc_packet packet;
};

/* -- the folder */

static void copy_program(const struct rig *rig, const char *programs, const char *from,
                         const char *to) {
    char command[512];
    snprintf(command, sizeof command, "cp %s/%s %s/%s", programs, from, rig->folder, to);
    if (system(command) != 0)
        abort();
}

static void listen_for_gateways(struct rig *rig) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/driver.sock", rig->folder);
    rig->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(rig->listener, (struct sockaddr *)&address, sizeof address) < 0 ||
        listen(rig->listener, 8) < 0 || chmod(address.sun_path, 0777) < 0)
        abort();
}

void rig_init(struct rig *rig, const char *programs) {
    *rig = (struct rig){.link = -1, .params = -1, .listen = -1, .driver = -1};
    rig->packet = mem_alloc(sizeof *rig->packet);
    strcpy(rig->folder, "/tmp/cellblock-rig.XXXXXX");
    char path[128];
    if (!mkdtemp(rig->folder) || chmod(rig->folder, 0755) < 0)
        abort();
    snprintf(path, sizeof path, "%s/kernels", rig->folder);
    if (mkdir(path, 0755) < 0)
        abort();
    /* User ids that no other test on this machine has. */
    rig->uid_base = 10000000 + (uint32_t)getpid() * 1000;
    copy_program(rig, programs, "cellblock-warden", "cellblock-warden");
    copy_program(rig, programs, "cellblock-init", "cellblock-init");
    copy_program(rig, programs, "fake-gateway", "cellblock-gateway");
    copy_program(rig, programs, "probe", "probe");
    listen_for_gateways(rig);
}

void rig_add_spec(const struct rig *rig, const char *name, const char *argv, const char *more) {
    char path[256];
    snprintf(path, sizeof path, "%s/kernels/%s", rig->folder, name);
    mkdir(path, 0755);
    strcat(path, "/kernel.json");
    FILE *file = fopen(path, "we");
    if (!file)
        abort();
    fprintf(file, "{\"display_name\": \"%s\", \"language\": \"none\", \"argv\": [\"", name);
    for (; *argv; argv++)
        fputs(*argv == '|' ? "\", \"" : (char[]){*argv, 0}, file);
    fprintf(file, "\"]%s}", more ? more : "");
    fclose(file);
}

void rig_finish(struct rig *rig) {
    char command[320];
    close(rig->listener);
    /* The log accounts for processes that the warden killed (tests/support/check_reports). */
    snprintf(command, sizeof command,
             "[ -z \"$TEST_LOGS\" ] || [ ! -e %s/log ] || cp %s/log \"$TEST_LOGS\"/rig-%d.log; rm "
             "-rf %s",
             rig->folder, rig->folder, (int)rig->warden, rig->folder);
    if (system(command) != 0)
        abort();
    mem_free(rig->packet);
}

/* -- the warden and its gateways */

static void fail(struct rig *rig, const char *what) {
    fprintf(stderr, "rig: %s did not come\n%s", what, rig_log(rig));
    kill(rig->warden, SIGTERM);
    abort();
}

static void await_readable(struct rig *rig, int fd, const char *what) {
    struct pollfd polled = {fd, POLLIN, 0};
    if (poll(&polled, 1, RIG_WAIT_MS) != 1)
        fail(rig, what);
}

void rig_await_gateway(struct rig *rig) {
    await_readable(rig, rig->listener, "a gateway");
    rig->driver = accept4(rig->listener, NULL, NULL, SOCK_CLOEXEC);
    await_readable(rig, rig->driver, "a gateway's descriptors");
    int fds[3];
    struct iovec part = {&rig->gateway, sizeof rig->gateway};
    union {
        struct cmsghdr align;
        char space[CMSG_SPACE(sizeof fds)];
    } control;
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    if (recvmsg(rig->driver, &message, MSG_CMSG_CLOEXEC) <= 0 || !CMSG_FIRSTHDR(&message))
        fail(rig, "a gateway's descriptors");
    memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fds);
    rig->link = fds[0];
    rig->params = fds[1];
    rig->listen = fds[2];
}

static void close_gateway_fds(struct rig *rig) {
    int *fds[] = {&rig->link, &rig->params, &rig->listen, &rig->driver};
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++) {
        if (*fds[i] >= 0)
            close(*fds[i]);
        *fds[i] = -1;
    }
    while (rig->first) {
        struct stashed *stashed = rig->first;
        rig->first = stashed->next;
        rpc_packet_close(&stashed->packet);
        mem_free(stashed);
    }
    rig->last = NULL;
}

void rig_drop_gateway(struct rig *rig) {
    close_gateway_fds(rig);
}

static void become_warden(const struct rig *rig, const char *const *arguments) {
    char program[128], base[32], kernels[128], ready[128], log[128];
    snprintf(program, sizeof program, "%s/cellblock-warden", rig->folder);
    snprintf(base, sizeof base, "%u", rig->uid_base);
    snprintf(kernels, sizeof kernels, "%s/kernels", rig->folder);
    snprintf(ready, sizeof ready, "%s/ready", rig->folder);
    snprintf(log, sizeof log, "%s/log", rig->folder);
    const char *argv[32] = {"cellblock-warden",
                            "--listen",
                            "127.0.0.1:0",
                            "--kernels",
                            kernels,
                            "--uid-base",
                            base,
                            "--uid-count",
                            "900",
                            "--max-kernels",
                            "60",
                            "--ready-file",
                            ready};
    size_t count = 13;
    for (; arguments && *arguments && count < 31; arguments++)
        argv[count++] = *arguments;
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0644);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    /* More groups than anybody below it may have. */
    if (setgroups(2, (const gid_t[]){0, 1}) < 0)
        _exit(126);
    char *environment[] = {"HOME=/root", "SECRET_OF_THE_WARDEN=1", "PATH=/usr/bin:/bin", NULL};
    execve(program, (char **)argv, environment);
    _exit(127);
}

void rig_start(struct rig *rig, const char *const *arguments) {
    rig->warden = fork();
    if (rig->warden == 0)
        become_warden(rig, arguments);
    rig_await_gateway(rig);
}

int rig_await_end(struct rig *rig) {
    int status;
    for (int waited = 0; waitpid(rig->warden, &status, WNOHANG) == 0; waited += 5) {
        if (waited > RIG_WAIT_MS)
            fail(rig, "the warden's end");
        usleep(5000);
    }
    close_gateway_fds(rig);
    return status;
}

int rig_stop(struct rig *rig) {
    kill(rig->warden, SIGTERM);
    return rig_await_end(rig);
}

/* A report's first line is "start PROGRAM TAG PID". */
static void note_killed(const char *name, const char *start) {
    char path[4096], line[128] = "";
    snprintf(path, sizeof path, "%s/%s", CELLBLOCK_REPORT_DIR, name);
    FILE *file = fopen(path, "r+e");
    if (file && fgets(line, sizeof line, file) && strncmp(line, start, strlen(start)) == 0) {
        fseek(file, 0, SEEK_END);
        fputs("killed by a test\n", file);
    }
    if (file)
        fclose(file);
}

static void note_all_killed(const char *start) {
    DIR *folder = CELLBLOCK_REPORT_DIR[0] ? opendir(CELLBLOCK_REPORT_DIR) : NULL;
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        note_killed(entry->d_name, start);
    if (folder)
        closedir(folder);
}

int rig_kill(struct rig *rig, uint8_t id) {
    char start[64];
    kill(rig->warden, SIGKILL);
    int status = rig_await_end(rig);
    while (rig_count_processes(rig) > 0)
        usleep(5000);
    snprintf(start, sizeof start, "start warden - %d\n", rig->warden);
    note_all_killed(start);
    snprintf(start, sizeof start, "start init %02x000000-0000-", id);
    note_all_killed(start);
    return status;
}

/* -- packets */

static bool take_stashed(struct rig *rig, uint32_t kind) {
    struct stashed **at = &rig->first, *previous = NULL;
    while (*at && (*at)->packet.head.kind != kind) {
        previous = *at;
        at = &(*at)->next;
    }
    struct stashed *found = *at;
    if (!found)
        return false;
    *at = found->next;
    if (rig->last == found)
        rig->last = previous;
    *rig->packet = found->packet;
    mem_free(found);
    return true;
}

static void stash(struct rig *rig) {
    struct stashed *stashed = mem_alloc(sizeof *stashed);
    stashed->packet = *rig->packet;
    stashed->next = NULL;
    if (rig->last)
        rig->last->next = stashed;
    else
        rig->first = stashed;
    rig->last = stashed;
}

/* The next packet from the socket. */
static void receive(struct rig *rig, const char *what) {
    struct err err;
    int result;
    do {
        await_readable(rig, rig->link, what);
        result = rpc_receive(rig->link, rig->packet, &err);
    } while (result == -EAGAIN);
    if (result < 0)
        fail(rig, what);
}

struct rpc_packet *rig_await(struct rig *rig, uint32_t kind) {
    if (take_stashed(rig, kind))
        return rig->packet;
    char what[32];
    snprintf(what, sizeof what, "packet %u", kind);
    for (receive(rig, what); rig->packet->head.kind != kind; receive(rig, what))
        stash(rig);
    return rig->packet;
}

int rig_request(struct rig *rig, void *body, struct slice tail, struct err *ret_err) {
    struct rpc_head *head = body;
    head->number = ++rig->number;
    struct err err;
    if (rpc_send(rig->link, body, tail, NULL, 0, &err) < 0)
        fail(rig, err.text);
    rig_await(rig, RPC_REPLY);
    if (rig->packet->head.number != rig->number)
        fail(rig, "the reply to this request");
    if (ret_err)
        *ret_err = rig->packet->reply.err;
    return -rig->packet->reply.err.code;
}

size_t rig_count_kept(const struct rig *rig, uint32_t kind) {
    size_t count = 0;
    for (const struct stashed *at = rig->first; at; at = at->next)
        count += at->packet.head.kind == kind;
    return count;
}

uint32_t rig_find_spec(struct rig *rig, const char *name) {
    for (const struct stashed *at = rig->first; at; at = at->next)
        if (at->packet.head.kind == RPC_SPEC && strcmp(at->packet.spec.name, name) == 0)
            return at->packet.spec.spec;
    for (;;) {
        receive(rig, name);
        bool is_it =
            rig->packet->head.kind == RPC_SPEC && strcmp(rig->packet->spec.name, name) == 0;
        uint32_t number = rig->packet->spec.spec;
        stash(rig);
        if (is_it)
            return number;
    }
}

void rig_create_jail(struct rig *rig, uint8_t id) {
    struct rpc_jail_create create = {.head.kind = RPC_JAIL_CREATE, .jail = {id}};
    struct err err;
    if (rig_request(rig, &create, (struct slice){0}, &err) < 0)
        fail(rig, err.text);
}

int rig_end_jail(struct rig *rig, uint8_t id) {
    struct rpc_jail_end end = {.head.kind = RPC_JAIL_END, .jail = {id}};
    return rig_request(rig, &end, (struct slice){0}, NULL);
}

int rig_start_tree(struct rig *rig, uint8_t id, uint64_t tree, const char *spec,
                   const char *connection, struct slice environment, struct err *ret_err) {
    struct rpc_tree_start start = {.head.kind = RPC_TREE_START,
                                   .jail = {id},
                                   .tree = tree,
                                   .kind = RPC_TREE_KERNEL,
                                   .spec = rig_find_spec(rig, spec),
                                   .connection_size = (uint32_t)strlen(connection),
                                   .environment_size = (uint32_t)environment.size};
    char tail[8192];
    memcpy(tail, connection, start.connection_size);
    if (environment.size)
        memcpy(tail + start.connection_size, environment.data, environment.size);
    return rig_request(rig, &start, slice_make(tail, start.connection_size + environment.size),
                       ret_err);
}

struct rpc_tree_ended rig_run(struct rig *rig, uint8_t id, uint64_t tree, const char *spec) {
    struct err err;
    if (rig_start_tree(rig, id, tree, spec, "{}", (struct slice){0}, &err) < 0)
        fail(rig, err.text);
    rig_await(rig, RPC_TREE_ENDED);
    return rig->packet->tree_ended;
}

const char *rig_output(struct rig *rig) {
    rig->packet->tail[rig->packet->tail_size] = 0;
    return (const char *)rig->packet->tail;
}

const char *rig_probe(struct rig *rig, uint8_t id, const char *words) {
    char name[32], argv[4096];
    uint64_t tree = ++rig->last_probe + 1000000;
    snprintf(name, sizeof name, "probe%llu", (unsigned long long)tree);
    snprintf(argv, sizeof argv, "%s/probe|%s", rig->folder, words);
    rig_add_spec(rig, name, argv, NULL);
    kill(rig->warden, SIGHUP);
    struct rpc_tree_ended ended = rig_run(rig, id, tree, name);
    const char *output = rig_output(rig);
    if (ended.cause != RPC_CAUSE_EXIT || ended.status != 0) {
        fprintf(stderr, "cause %u, status %d: %s\n", ended.cause, ended.status, output);
        fail(rig, words);
    }
    return output;
}

/* -- looking at it from outside */

const char *rig_log(const struct rig *rig) {
    static char log[65536];
    char path[128];
    snprintf(path, sizeof path, "%s/log", rig->folder);
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = read(fd, log, sizeof log - 1);
    log[size > 0 ? size : 0] = 0;
    return log;
}

static int count_entries(const char *path) {
    DIR *folder = opendir(path);
    int count = -2;
    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return count;
}

int rig_count_fds(const struct rig *rig) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd", rig->warden);
    return count_entries(path);
}

int rig_count_processes(const struct rig *rig) {
    DIR *folder = opendir("/proc");
    int count = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[300];
        struct stat info;
        snprintf(path, sizeof path, "/proc/%s", entry->d_name);
        bool is_process = entry->d_name[0] >= '1' && entry->d_name[0] <= '9';
        /* An undumpable process belongs to root there; its status tells. */
        strcat(path, "/status");
        FILE *file = is_process && stat(path, &info) == 0 ? fopen(path, "re") : NULL;
        char line[256];
        unsigned uid = 0;
        while (file && fgets(line, sizeof line, file) && sscanf(line, "Uid: %u", &uid) != 1)
            ;
        count += uid >= rig->uid_base && uid < rig->uid_base + 1000;
        if (file)
            fclose(file);
    }
    closedir(folder);
    return count;
}
