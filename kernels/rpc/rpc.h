/* rpc - the whole contract between gateway and warden: SOCK_SEQPACKET, one fixed struct a packet,
 * then a bounded tail of bytes, then descriptors.
 *
 * The gateway asks, each request with a number that its RPC_REPLY repeats; the warden also tells
 * events of its own accord. No packet holds a path of the host that came from a client: kernelspecs
 * and data folders are named by the number the warden gave them.
 *
 * Names: a jail by the session's UUID (16 bytes), a tree by a number that the gateway picks and
 * never uses twice. One jail has 1..n trees; restart ends one tree and starts another. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/slice.h"

enum {
    RPC_TAIL_MAX = 64 * 1024,
    RPC_FDS_MAX = 16,
    RPC_NAME_MAX = 128, /* kernelspec names, NUL included */
    RPC_OUTPUT_MAX = 4096,
    RPC_SPEC_FILES_MAX = 12,
    RPC_DIRECTORY_MAX = 4096, /* PATH_MAX: longer ones cannot be entered */
};

enum rpc_kind {
    /* gateway -> warden */
    RPC_READY = 1,   /* struct rpc_head: requests are answered from now on (the warden writes the
                      * ready file) */
    RPC_JAIL_CREATE, /* struct rpc_jail_create */
    RPC_JAIL_LIMITS, /* struct rpc_jail_create: new limits for a jail that lives */
    RPC_JAIL_END,    /* struct rpc_jail_end; the reply comes when nothing of it is left */
    RPC_TREE_START,  /* struct rpc_tree_start + tail: connection file, environment, directory */
    RPC_TREE_SIGNAL, /* struct rpc_tree_signal */
    RPC_TREE_KILL,   /* struct rpc_tree_kill; RPC_TREE_ENDED follows */
    /* warden -> gateway */
    RPC_REPLY = 64, /* struct rpc_reply */
    RPC_SPEC,       /* struct rpc_spec + one descriptor per file: at start and on SIGHUP */
    RPC_SPECS_END,  /* struct rpc_specs_end: all are told; those of an older generation are gone */
    RPC_TREE_SOCKETS, /* struct rpc_tree_sockets + five O_PATH descriptors */
    RPC_TREE_ENDED,   /* struct rpc_tree_ended + tail: the last bytes of its stdout and stderr */
    RPC_DATA,         /* struct rpc_data: one data folder; at start, before the first RPC_SPEC */
    RPC_TLS,          /* struct rpc_tls + its files: at start, before the first RPC_SPEC, and on
                       * SIGHUP; only where there is a certfile */
};

enum rpc_tree_kind { RPC_TREE_KERNEL = 1, RPC_TREE_COMMAND, RPC_TREE_TERMINAL, RPC_TREE_FILES };

/* How a kernel is reached. Its kernelspec says so (metadata.cellblock.transport). */
enum rpc_transport {
    RPC_TRANSPORT_IPC = 0, /* it makes the sockets of RPC_KERNEL_SOCKETS itself */
    RPC_TRANSPORT_TCP,     /* pid 1 makes them in its place; see rpc_tcp_port */
};

/* Why a tree ended. */
enum rpc_cause {
    RPC_CAUSE_EXIT = 1, /* its main process left: status is the exit status */
    RPC_CAUSE_SIGNAL,   /* status is the signal */
    RPC_CAUSE_KILLED,   /* RPC_TREE_KILL, RPC_JAIL_END or the warden's end */
    RPC_CAUSE_OOM,      /* want of memory */
    RPC_CAUSE_FAILED,   /* it never ran: the tail is a sentence */
};

struct rpc_head {
    uint32_t kind;   /* enum rpc_kind */
    uint32_t number; /* of a request, repeated by its reply; 0 for events */
};

/* 0 means the config's default. What is more than the config's max_ is refused. */
struct rpc_limits {
    uint64_t memory_bytes;
    uint64_t cpus_milli;
    uint64_t pids;
    uint64_t open_files;
    uint64_t workspace_bytes;
    uint64_t workspace_inodes;
};

struct rpc_jail_create {
    struct rpc_head head;
    uint8_t jail[16];
    struct rpc_limits limits;
    uint64_t data_mask; /* bit n: data folder number n */
};

struct rpc_jail_end {
    struct rpc_head head;
    uint8_t jail[16];
};

/* A reply without an error says that the tree was begun: RPC_TREE_ENDED follows in any case, with
 * RPC_CAUSE_FAILED where a step of its jail, or running its program, failed. With an error there is
 * no tree and no event. */
struct rpc_tree_start {
    struct rpc_head head;
    uint8_t jail[16];
    uint64_t tree;
    uint32_t kind; /* enum rpc_tree_kind */
    uint32_t spec; /* number of the kernelspec */
    /* The tail: connection_size bytes that become the connection file, then environment_size bytes
     * of "NAME=value\0" strings, already filtered by the gateway, then directory_size bytes: where
     * its main process is to start, from /home/user. A client's words: the warden opens nothing by
     * them, pid 1 of the tree does, which sees what the session sees (init/directory.h). */
    uint32_t connection_size;
    uint32_t environment_size;
    uint32_t directory_size;
    uint32_t reserved;
};

struct rpc_tree_signal {
    struct rpc_head head;
    uint64_t tree;
    int32_t signal; /* sent to the process group of the tree's main process */
    uint32_t reserved;
};

struct rpc_tree_kill {
    struct rpc_head head;
    uint64_t tree;
};

struct rpc_reply {
    struct rpc_head head;
    struct err err; /* code 0: it was done */
};

struct rpc_spec {
    struct rpc_head head;
    uint32_t spec;       /* its number: stable while the warden lives */
    uint32_t generation; /* of this reading of the folders */
    uint32_t file_count; /* descriptors, kernel.json first */
    uint32_t transport;  /* enum rpc_transport */
    char name[RPC_NAME_MAX];
    char files[RPC_SPEC_FILES_MAX][64]; /* names within the kernelspec's folder */
};

struct rpc_specs_end {
    struct rpc_head head;
    uint32_t generation;
    uint32_t reserved;
};

/* Where it lies on the host is the warden's own business. */
struct rpc_data {
    struct rpc_head head;
    uint32_t data; /* its number, below 64: a bit of data_mask */
    uint32_t reserved;
    char name[RPC_NAME_MAX]; /* sessions find it at /data/NAME */
};

/* The files of the parameters certfile, keyfile and client_ca, open for reading, in this order. */
struct rpc_tls {
    struct rpc_head head;
    uint32_t has_key, has_client_ca; /* 0 or 1 */
};

/* The sockets in the order of enum connection_port (shell, iopub, stdin, control, hb), which is the
 * order of their port numbers 1..5 in the connection file. */
struct rpc_tree_sockets {
    struct rpc_head head;
    uint64_t tree;
};

struct rpc_tree_ended {
    struct rpc_head head;
    uint64_t tree;
    uint32_t cause; /* enum rpc_cause */
    int32_t status;
    uint64_t
        limit;     /* RPC_CAUSE_OOM: the session's, in bytes; 0: it was the host that had no more */
    uint64_t peak; /* RPC_CAUSE_OOM: the most that the session has used, in bytes */
};

/* Where a connection file says the sockets are, seen from inside: "ip" and the file itself. */
#define RPC_KERNEL_SOCKETS "/run/kernel/k"
#define RPC_CONNECTION_FILE "/run/kernel/connection.json"

/* The port of 127.0.0.1 in the session's own network where the kernel of a tree with
 * RPC_TRANSPORT_TCP has its socket number index (0 to 4, as their order above). Below the ports
 * that the host's kernel picks by itself, and others for each of 2000 trees on end: a tree never
 * meets what an earlier one of its session has left. */
static inline int rpc_tcp_port(uint64_t tree, int index) {
    return 20000 + (int)(tree % 2000) * 5 + index;
}

/* The descriptors with which the warden starts the gateway. */
enum {
    RPC_FD_WARDEN = 3, /* the socket of this contract */
    RPC_FD_PARAMS = 4, /* sealed memfd: every parameter, resolved (config/params.h) */
    RPC_FD_LISTEN = 5, /* the first of the bound sockets, in the order of the parameter listen */
};

/* The gateway's exit status where what it was given cannot work: another one could not either. */
enum { RPC_EXIT_CONFIG = 2 };

/* One packet, received. */
struct rpc_packet {
    union {
        struct rpc_head head;
        struct rpc_jail_create jail_create;
        struct rpc_jail_end jail_end;
        struct rpc_tree_start tree_start;
        struct rpc_tree_signal tree_signal;
        struct rpc_tree_kill tree_kill;
        struct rpc_reply reply;
        struct rpc_spec spec;
        struct rpc_specs_end specs_end;
        struct rpc_tree_sockets tree_sockets;
        struct rpc_tree_ended tree_ended;
        struct rpc_data data;
        struct rpc_tls tls;
    };
    size_t tail_size;
    size_t fd_count;
    int fds[RPC_FDS_MAX]; /* close-on-exec, owned; rpc_packet_close ends what was not taken */
    uint8_t tail[RPC_TAIL_MAX];
};

/* How large the struct of that kind is; 0 where there is no such kind. */
size_t rpc_body_size(uint32_t kind);
/* Sends body (a struct that begins with rpc_head, whose size its kind fixes), a tail and
 * descriptors (borrowed). -EAGAIN where the socket is non-blocking and full. */
int rpc_send(int fd, const void *body, struct slice tail, const int *fds, size_t fd_count,
             struct err *err);
/* Receives one packet into ret_packet. -EAGAIN where there is none, -EPIPE at the peer's end,
 * -EPROTO for a packet of an unknown kind, a wrong size, a cut one, or descriptors where the kind
 * has none; what it brought is closed then. */
int rpc_receive(int fd, struct rpc_packet *ret_packet, struct err *err);
void rpc_packet_close(struct rpc_packet *packet);
