/* rig - the real warden in a folder of its own, with the test in the gateway's place. Every wait
 * has an end, at which the test program aborts with a line. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "rpc/rpc.h"

enum { RIG_FOLDER_MAX = 64, RIG_WAIT_MS = 30000 };

struct rig {
    char folder[RIG_FOLDER_MAX]; /* programs, kernels/, ready, log */
    uint32_t uid_base;
    pid_t warden, gateway;
    int listener, driver;     /* driver.sock, and the fake gateway's connection to it */
    int link, params, listen; /* what the warden gave the gateway */
    uint32_t number;
    uint64_t last_probe;
    struct rpc_packet *packet; /* the last one received */
    struct stashed *first, *last;
};

/* Makes the folder; programs is where the build put them. */
void rig_init(struct rig *rig, const char *programs);
/* Adds the kernelspec name: argv is its words, separated by "|"; more is JSON behind it (", ...").
 */
void rig_add_spec(const struct rig *rig, const char *name, const char *argv, const char *more);
/* Starts the warden and waits for the fake gateway. arguments end in NULL and may be NULL. */
void rig_start(struct rig *rig, const char *const *arguments);
/* Waits for the next fake gateway. */
void rig_await_gateway(struct rig *rig);
/* Lets go of the fake gateway, which then leaves with exit status 5. */
void rig_drop_gateway(struct rig *rig);
/* SIGTERM; waits; returns the wait status. */
int rig_stop(struct rig *rig);
/* SIGKILL to the warden; waits; returns the wait status. What dies with it without a word, it and
 * pid 1 of trees in the jail id, is noted in the reports as killed by a test. */
int rig_kill(struct rig *rig, uint8_t id);
/* Waits for the warden's own end. */
int rig_await_end(struct rig *rig);
/* Removes the folder. */
void rig_finish(struct rig *rig);

/* Sends a request (its number is set here) and waits for its answer, which goes to ret_err. Events
 * that come before are kept for rig_await. */
int rig_request(struct rig *rig, void *body, struct slice tail, struct err *ret_err);
/* Waits for the next packet of that kind; others that come before are kept. It is rig->packet. */
struct rpc_packet *rig_await(struct rig *rig, uint32_t kind);

/* How many packets of that kind came and were not awaited yet. */
size_t rig_count_kept(const struct rig *rig, uint32_t kind);

/* The number of the kernelspec name, from RPC_SPEC packets (kept for the next call). */
uint32_t rig_find_spec(struct rig *rig, const char *name);
/* A jail of default limits, its id made of one byte. */
void rig_create_jail(struct rig *rig, uint8_t id);
int rig_end_jail(struct rig *rig, uint8_t id);
int rig_start_tree(struct rig *rig, uint8_t id, uint64_t tree, const char *spec,
                   const char *connection, struct slice environment, struct err *ret_err);
/* Starts a tree and waits for its end; its output is in rig->packet. */
struct rpc_tree_ended rig_run(struct rig *rig, uint8_t id, uint64_t tree, const char *spec);
/* Runs the probe program in a jail (words separated by "|") and waits; what it printed. Anything
 * but exit status 0 ends the test. */
const char *rig_probe(struct rig *rig, uint8_t id, const char *words);
/* The output of the tree whose end is rig->packet, NUL-terminated. */
const char *rig_output(struct rig *rig);

/* The warden's log so far; static. */
const char *rig_log(const struct rig *rig);
/* How many descriptors the warden has. */
int rig_count_fds(const struct rig *rig);
/* How many processes of the rig's user ids there are (zombies too). */
int rig_count_processes(const struct rig *rig);
