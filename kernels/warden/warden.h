/* warden - what the files of this room share: the one struct of the process.
 *
 * main.c is the table of contents; requests.c answers the gateway; jails.c, tree_start.c and
 * trees.c make and end what it asks for; gateway.c keeps a gateway alive. */
#pragma once

#include <stdbool.h>

#include "base/list.h"
#include "config/params.h"
#include "jail/jail.h"
#include "rpc/rpc.h"
#include "warden/data.h"
#include "warden/events.h"
#include "warden/listen.h"
#include "warden/outbox.h"
#include "warden/specs.h"
#include "warden/tls_files.h"
#include "warden/uids.h"

struct gateway {
    pid_t pid;             /* 0: none runs */
    struct source process; /* its pidfd */
    struct source link;
    struct outbox outbox;
    bool is_ready;
    int64_t kill_at_ms;   /* it was asked to leave; 0: it was not */
    int64_t start_at_ms;  /* when the next one may start */
    int64_t deaths_ms[5]; /* the last ones, oldest first */
};

struct warden {
    struct params params;
    struct events events;
    struct source signals;
    struct source folders; /* inotify: the socket folders of trees that have not told theirs yet */
    struct gateway gateway;
    struct data data;
    struct specs specs;
    struct tls_files tls_files;
    struct strings said; /* which trees are bound (bound.h) */
    struct uids uids;
    struct list jails;
    size_t jail_count; /* of those that are not ending */
    struct listeners listeners;
    int init_fd; /* pid 1's program, sealed */
    struct jail_prepared *prepared;
    bool is_announced; /* the ready file is written */
    bool is_ending;
    int exit_status;
    struct rpc_packet packet; /* the one being answered */
};

/* A session's jail. */
struct jail {
    struct warden *warden;
    struct list link;
    uint8_t id[16];
    struct rpc_limits limits; /* resolved */
    uint64_t data_mask;       /* its data folders */
    uid_t user;
    int net_fd, ipc_fd;
    struct jail_kept workspace, temporary;
    struct jail_group group;
    struct source oom;     /* group.oom_fd */
    int64_t look_at_ms;    /* for victims of the memory limit; 0: not */
    int look_again_ms;     /* how long to wait after that look */
    int64_t remove_at_ms;  /* when to try again to be gone; 0: not */
    int64_t give_up_at_ms; /* then it is given up; 0: nothing was tried yet */
    struct list trees;
    size_t tree_count;
    bool is_ending;
    uint32_t end_number; /* of the RPC_JAIL_END to answer; 0: none waits */
};

/* -- main.c */
/* Ends the gateway and every jail, then the process, with the status of the first call. */
void warden_end(struct warden *warden, int exit_status);

/* -- jails.c */
int jail_create(struct warden *warden, const struct rpc_jail_create *request, struct err *err);
int jail_change_limits(struct warden *warden, const struct rpc_jail_create *request,
                       struct err *err);
/* NULL where there is none, or it is ending. */
struct jail *jail_find(struct warden *warden, const uint8_t id[16]);
/* The size of /tmp, and of each tree's /dev/shm, under these limits. */
uint64_t jail_temporary_bytes(const struct jail *jail, const struct rpc_limits *limits);
/* Kills its trees; the answer to end_number follows when nothing is left (0: to nobody). */
void jail_end(struct jail *jail, uint32_t end_number);
/* To be called when a tree of a jail that ends is gone. */
void jail_end_if_empty(struct jail *jail);
void jails_end_all(struct warden *warden);
/* What is due at this time; returns how long nothing will be (ms, -1: no end is known). */
int jails_tick(struct warden *warden);

/* -- oom.c */
/* Notices what the memory limit ends in the jail's trees, and says so. */
int oom_watch(struct jail *jail, struct err *err);
void oom_unwatch(struct jail *jail);
/* To be called at look_at_ms. */
void oom_look(struct jail *jail);

/* -- tree_start.c */
int tree_start(struct warden *warden, const struct rpc_packet *request, struct err *err);

/* -- trees.c */
int tree_signal(struct warden *warden, const struct rpc_tree_signal *request, struct err *err);
int tree_kill(struct warden *warden, const struct rpc_tree_kill *request, struct err *err);
void trees_kill_all(struct jail *jail);

/* -- requests.c */
/* Answers warden->packet. -EPROTO where the gateway breaks the contract: it is not to be trusted
 * any more. */
int request_answer(struct warden *warden, struct err *err);
void reply_later(struct warden *warden, uint32_t number, const struct err *err);

/* -- gateway.c */
int gateway_start(struct warden *warden, struct err *err);
/* Asks it to leave; kills it after a while. */
void gateway_end(struct warden *warden);
void gateway_kill(struct warden *warden, const char *why);
/* Sends what waits in the outbox; to be called after something was put there. */
void gateway_flush(struct warden *warden);
/* What is due at this time; returns how long nothing will be (ms, -1: no end is known). */
int gateway_tick(struct warden *warden);
