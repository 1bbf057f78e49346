/* kernel_parts - what the files of one kernel share: how it starts and ends (kernel_life.c,
 * kernel_fate.c) and what passes through it (kernel_take.c, kernel_hear.c, kernel_say.c,
 * kernel_clients.c, kernel_seats.c). Nobody else includes this. */
#pragma once

#include "base/text.h"
#include "msg/build.h"
#include "session/backlog.h"
#include "session/ids.h"
#include "session/kernel.h"
#include "session/kernels.h"
#include "session/link.h"
#include "session/pending.h"
#include "session/warden.h"

enum life {
    LIFE_JAILING,   /* the warden makes the jail */
    LIFE_LAUNCHING, /* the tree starts; its sockets are awaited */
    LIFE_LINKING,   /* ZeroMQ connects */
    LIFE_PROBING,   /* the kernel's first answers are awaited */
    LIFE_READY,
    LIFE_DRAINING, /* its processes are gone; its last messages are read */
    LIFE_STOPPING, /* the warden kills the tree, for a restart or after a failure */
    LIFE_DEAD,
    LIFE_ENDING, /* the warden ends the jail; kernels_find does not find it */
    LIFE_COUNT
};

/* What makes a kernel go from one state to another. */
enum happening {
    JAIL_MADE,
    JAIL_REFUSED,
    TREE_REFUSED,
    LINKED,
    LINK_FAILED,
    ANSWERED,
    TREE_ENDED,
    DRAINED,
    TIMED_OUT,
    DISOBEYED, /* what was interrupted goes on */
    FLOODED,
    RESTART,
    DELETE,
    HAPPENING_COUNT
};

/* What follows a kernel's end. */
enum sequel {
    SEQUEL_DEATH,   /* it stays as it is until somebody restarts or deletes it */
    SEQUEL_REVIVAL, /* it is started again by itself */
    SEQUEL_RESTART, /* it is started again since a client asked for it */
    SEQUEL_REMOVAL, /* it is deleted */
    SEQUEL_COUNT
};

/* Why the kernel ends or has ended. */
struct fate {
    enum reason reason; /* REASON_NONE: a restart follows */
    char *sentence;     /* UTF-8, whatever the kernel printed */
};

/* A message that waits for the kernel to be ready. */
struct waiting_message {
    struct list link;
    struct msg msg; /* into data */
    struct slice *buffers;
    size_t size;
    uint8_t data[];
};

/* A client's place: it stays for a session_id whose client is gone. */
struct seat {
    struct list link;
    char *session_id;             /* "": it goes with its client */
    struct kernel_client *client; /* NULL: gone */
    struct backlog backlog;
    size_t look_at_bytes; /* of what was sent: then it is asked what has arrived */
    int64_t gone_ms;
};

struct kernel {
    struct list link; /* of kernels->all */
    struct kernels *kernels;
    const struct kernels_context *context;
    uint8_t uuid[ID_BYTES];
    char id[ID_TEXT_SIZE];
    char *spec_name;
    uint32_t spec_number;
    bool interrupt_by_message;
    enum rpc_transport transport;
    struct bytes *environment, *directory;
    int64_t launch_timeout_ms, idle_most_ms;
    struct rpc_limits limits;
    uint64_t data_mask;
    json_t *parameters;

    enum life life;
    struct fate fate;
    enum { JAIL_NONE, JAIL_ASKED, JAIL_THERE } jail;
    uint64_t tree; /* 0: none */
    bool signal_asked;
    unsigned calls; /* requests to the warden whose answers will name this kernel */
    struct link *link_to_kernel;
    char key[ID_TEXT_SIZE];      /* signs its messages */
    struct loop_timer *deadline; /* of a launch */
    struct loop_timer *probe;
    bool shell_answered, iopub_answered, was_ready, starts_again;
    unsigned revivals;            /* in a row */
    struct loop_timer *stable;    /* ends the row */
    char *last_end;               /* why it was revived; NULL: it was not */
    struct loop_timer *obedience; /* of an interrupt */
    uint64_t interrupted;         /* the number of the request that is to end */
    struct list waiters;          /* for the end of a start, a restart or a deletion */

    struct list seats;
    size_t buffered_bytes; /* unsent in all backlogs */
    struct loop_timer *arrivals, *absences;
    bool arrivals_watched;
    struct pending pending;
    struct list waiting; /* waiting_message, until LIFE_READY */
    size_t waiting_bytes;
    char own_session[ID_TEXT_SIZE]; /* of the gateway's own requests to the kernel */
    char *kernel_session;           /* of the kernel's last message, for what is said in its name */
    struct bytes *info;             /* content of its last kernel_info_reply */
    char *busy_with; /* msg_id of what keeps it busy beside requests; NULL: nothing */
    bool shutdown_asked, shutdown_restarts; /* by a client's shutdown_request */
    unsigned refused, left_out, dropped;    /* messages; see kernel_complain */
    unsigned pressed_looks;                 /* see flood.c */
    int64_t last_activity_us, active_ms;    /* the same moment on both clocks (ids.h, loop.h) */
    bool was_seen_dead;                     /* see cull.c */
};

/* kernel_life.c */
struct kernel *kernel_create(struct kernels *kernels, const struct kernels_context *context,
                             const struct kernel_start *start);
void kernel_destroy(struct kernel *kernel);
void kernel_on_sockets(struct kernel *kernel, struct rpc_packet *packet);
void kernel_on_tree_ended(struct kernel *kernel, const struct rpc_packet *packet);
/* The kernel said something that answers the gateway's own requests. */
void kernel_on_answer(struct kernel *kernel, enum msg_channel channel);
/* The gateway holds so many bytes, and this kernel, which is linked, goes on sending. */
void kernel_on_flood(struct kernel *kernel, size_t held);
/* A client sent a shutdown_request. */
void kernel_on_shutdown(struct kernel *kernel, bool restarts);
/* Deletes it, with a sentence for its clients and the operator. */
void kernel_evict(struct kernel *kernel, const char *sentence);
/* Its processes are gone or about to be, and nobody asked for a restart: its fate says why. */
bool kernel_is_doomed(const struct kernel *kernel);
/* For link events. */
void kernel_on_linked(void *context);
void kernel_on_link_failed(void *context, const struct err *err);
void kernel_on_drained(void *context);

void kernel_happen(struct kernel *kernel, enum happening happening);
/* err->code 0: what they wait for was done. */
void kernel_tell_waiters(struct kernel *kernel, const struct err *err);

/* kernel_interrupt.c */
/* What was interrupted still runs. */
bool kernel_heeds_not(const struct kernel *kernel);
/* The time that a client gave it is over. */
void kernel_on_obedience(void *kernel);

/* kernel_warden.c */
/* Each makes life what it begins. */
void kernel_create_jail(struct kernel *kernel);
void kernel_start_tree(struct kernel *kernel);
void kernel_kill_tree(struct kernel *kernel);
/* The kernel is freed when it is done. */
void kernel_end_jail(struct kernel *kernel);
/* One at a time: another before the warden's answer is the same one. */
void kernel_signal(struct kernel *kernel, int signal);
void kernel_forget_tree(struct kernel *kernel);

/* kernel_fate.c */
/* REASON_NONE says that it is to start again. */
void kernel_set_fate(struct kernel *kernel, enum reason reason, struct slice sentence);
/* Makes the fate what RPC_TREE_ENDED tells: the cause, a signal's name, and of a kernel that never
 * became ready its last words. Where it was to be killed, for a restart or since something is
 * wrong, its own end came first or not at all. */
void kernel_read_fate(struct kernel *kernel, const struct rpc_packet *packet);
/* Of a kernel that is doomed. */
enum sequel kernel_sequel(const struct kernel *kernel);

/* kernel_seats.c */
/* The seat of session_id, without a client; NULL where there is none. */
struct seat *seat_find(struct kernel *kernel, const char *session_id);
struct seat *seat_create(struct kernel *kernel, const char *session_id);
void seat_destroy(struct kernel *kernel, struct seat *seat);
/* Its client is gone: what has not arrived waits for another; kernel_on_absences says how long.
 * is_sudden: by itself, perhaps since it could not take what it was being sent. */
void seat_leave(struct kernel *kernel, struct seat *seat, bool is_sudden);
/* Sends to its client what waits, as far as there is room. */
void seat_catch_up(struct kernel *kernel, struct seat *seat);
/* Hands a message to everyone, or to one seat. */
void kernel_deliver(struct kernel *kernel, struct seat *seat, struct outgoing *outgoing);
/* Forgets half of what is kept for the absent, in the middle of it: memory is short. */
void kernel_shed(struct kernel *kernel);
/* Forgets seats that are empty too long, or one too many. */
void kernel_on_absences(void *kernel);
/* Asks what has arrived. */
void kernel_on_arrivals(void *kernel);

/* kernel_clients.c */
/* Something was done with it now. What counts, is what jupyter_server counts: messages whose type,
 * or whose parent's type, is tracked (msg/types.def). */
void kernel_note_activity(struct kernel *kernel);
void kernel_send_away(struct kernel *kernel, enum reason reason);

/* kernel_say.c */
/* A message in the kernel's name. */
struct said {
    char date[MSG_DATE_SIZE], msg_id[ID_TEXT_SIZE];
    struct msg_built built;
    struct msg_header header;
    struct outgoing outgoing;
};
void said_begin(struct said *said, const struct kernel *kernel, enum msg_channel channel,
                const char *msg_type, struct slice parent_header, struct slice metadata,
                struct slice content);
/* What is said in the place of a message that cannot be sent: on iopub words on stderr, else an
 * answer that is an error. header, which is msg's, lives as long as said. */
void said_begin_instead(struct said *said, const struct kernel *kernel, const struct msg *msg,
                        const struct msg_header *header, const char *sentence);
void said_finish(struct said *said);
/* Says it to one seat, or to everyone where it is NULL. */
void kernel_say(struct kernel *kernel, struct seat *seat, enum msg_channel channel,
                const char *msg_type, struct slice parent_header, struct slice metadata,
                struct slice content);
/* Likewise; parent_header may be empty. */
void kernel_say_status(struct kernel *kernel, struct seat *seat, const char *state,
                       struct slice parent_header);
/* Its parent is none of a request that counts, so that JupyterLab does not heed it: a JupyterLab
 * that knows a kernel to be dead refuses to restart it. */
void kernel_say_dead(struct kernel *kernel, struct seat *seat);
/* One request's end (DESIGN rule 1): iopub error, reply with status "error", iopub idle; of these
 * what the kernel has not said itself. */
void kernel_say_end(struct kernel *kernel, const struct request *request, enum reason reason,
                    const char *sentence);
/* Ends everything that is open or waits. */
void kernel_end_requests(struct kernel *kernel, enum reason reason, const char *sentence);
/* Tells the operator the 1st, 2nd, 4th, 8th, ... time, since a stranger says how often it is. */
void kernel_complain(struct kernel *kernel, unsigned *times, const char *sentence);
/* Sends a request of the gateway's own; its answers are not shown to clients. */
void kernel_ask(struct kernel *kernel, enum msg_channel channel, const char *msg_type);

/* kernel_hear.c */
extern const struct link_events kernel_link_events;

/* kernel_take.c */
/* Sends what waited; drops it. */
void kernel_send_waiting(struct kernel *kernel);
void kernel_drop_waiting(struct kernel *kernel);

/* kernels.c */
uint64_t kernels_next_tree(struct kernels *kernels, struct kernel *kernel);
/* A kernel has said something. */
void kernels_note_traffic(struct kernels *kernels);
void kernels_forget_tree(struct kernels *kernels, uint64_t tree);
void kernels_hide(struct kernels *kernels, struct kernel *kernel);
void kernels_remove(struct kernels *kernels, struct kernel *kernel);
