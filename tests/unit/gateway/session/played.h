/* played - a kernel that the test plays: ZeroMQ sockets in a folder of their own. It answers
 * kernel_info_requests by itself; everything else is kept, and the test says what comes of it. */
#pragma once

#include "msg/msg.h"
#include "rig.h"
#include "wire/connection.h"

struct asked {
    enum msg_channel channel;
    char *msg_id, *msg_type, *header, *content;
    uint8_t identity[256];
    size_t identity_size;
};

struct played {
    struct list link; /* of rig->played */
    struct rig *rig;
    uint64_t tree;
    uint8_t jail[16];
    char *environment; /* "NAME=value\0" strings */
    size_t environment_size;
    uint32_t spec;
    struct connection connection;
    char folder[64];
    void *sockets[CONNECTION_PORT_COUNT];
    struct loop_zmq *watches[CONNECTION_PORT_COUNT];
    struct signer *signer;
    char session[64];
    unsigned said, probes, infos; /* messages; kernel_info_requests of the gateway and of clients */
    int last_signal;
    bool deaf; /* reads nothing; with rig->small_queues ZeroMQ reads next to nothing for it */
    struct asked **asked; /* what is not answered by itself, in order */
    size_t asked_count;
};

struct played *played_create(struct rig *rig, const struct rpc_packet *start);
/* Its processes are gone, without a word to the gateway. */
void played_destroy(struct played *played);
/* Binds the sockets and gives them to the gateway. */
void played_hand_over(struct played *played);
/* The newest tree; one by its number. NULL where there is none. */
struct played *played_newest(struct rig *rig);
struct played *played_find(struct rig *rig, uint64_t tree);
/* The n-th request with that msg_id, NULL where it has not come. */
struct asked *played_nth(struct played *played, const char *msg_id, size_t n);
#define played_got(played, msg_id) played_nth(played, msg_id, 0)

/* Reads what has come; the loop calls it. */
void played_listen(void *played);

/* Says a message; parent is a header as JSON, to may be NULL on iopub. */
void played_say(struct played *played, enum msg_channel channel, const char *msg_type,
                const struct asked *to, const char *parent, struct slice content);
/* Sends these parts on iopub as they are. */
void played_say_raw(struct played *played, const struct slice *parts, size_t count);
void played_status(struct played *played, const struct asked *to, const char *state);
void played_print(struct played *played, const struct asked *to, const char *words);
void played_reply(struct played *played, const struct asked *to, const char *status);
/* busy, reply ok, idle. */
void played_serve(struct played *played, const struct asked *to);
/* Closes its sockets and lives on. */
void played_hang_up(struct played *played);
/* Its processes end; what it said still arrives. RPC_CAUSE_OOM with status 0 was the host's memory,
 * else a limit of 512 MiB. */
void played_die(struct played *played, enum rpc_cause cause, int status, const char *tail);
