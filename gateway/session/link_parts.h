/* link_parts - what the files of the link share: link.c (its life, what is sent), link_connect.c
 * and link_read.c. Nobody else includes this. */
#pragma once

#include <sys/types.h>

#include "base/list.h"
#include "session/ids.h"
#include "session/link.h"
#include "session/parcel.h"
#include "wire/connection.h"
#include "wire/sign.h"

/* How many times message_max a part of a message may have, until ZeroMQ reads no more of it. */
enum { LINK_PARTS_OF_A_MESSAGE = 4 };

struct wire {
    struct link *link;
    enum msg_channel channel;
    void *socket, *monitor;
    struct loop_zmq *watch, *monitor_watch;
    int target;     /* O_PATH descriptor of the kernel's socket, -1 once connected */
    int connection; /* ZeroMQ's own descriptor: looked at, never used */
    ino_t inode;    /* of that connection, since its number may be reused */
    bool connected;
};

enum link_phase { LINK_CONNECTING, LINK_LINKED, LINK_DRAINING };

struct link {
    struct loop *loop;
    void *zmq;
    int64_t message_max; /* bytes */
    struct link_events events;
    struct signer *signer;
    struct flow *flow;
    struct wire wires[MSG_CHANNEL_COUNT];
    enum link_phase phase;
    bool is_watched;          /* LINK_LINKED: the timer looks for what the kernel closed */
    struct loop_timer *timer; /* see on_timer */
    int64_t retry_ms;         /* until the next try to connect */
    int64_t drain_until_ms;
    unsigned lost_checks; /* one after another that found a connection closed */
    char identity[ID_TEXT_SIZE];
};

/* link.c */
/* All wires are connected. */
void link_on_connected(struct link *link);

/* link_connect.c */
extern const enum connection_port link_ports[MSG_CHANNEL_COUNT];
/* Makes the sockets that can be made; armed anew by the link's timer while there are others. */
void link_connect_next(struct link *link);
void link_finish_monitor(struct wire *wire);

/* link_read.c */
/* Reads its share of what is there; false where nothing is left. */
bool link_read(struct wire *wire);
