/* guest - a client that the test plays. Its log holds a line for each message it is sent:
 * "iopub status:busy a", where a is the parent's msg_id ("-" without one). */
#pragma once

#include "rig.h"

struct guest {
    struct kernel_client client;
    struct kernel *kernel; /* NULL while it is not attached */
    char session_id[64];
    struct text log;
    unsigned heard;   /* messages */
    unsigned unheard; /* how many of them its TCP has not acknowledged */
    size_t queued;    /* bytes that wait for it */
    bool is_closing;  /* nothing is sent to it any more */
    bool keeps_no_log;
    int ended;                 /* calls of on_end */
    enum reason reason;        /* of the last one */
    char session[512];         /* of the last message's header */
    struct text seen_metadata; /* of all messages */
    char *evalue;              /* of the last error, on iopub or in a reply */
};

/* session_id "" is none. */
void guest_attach(struct guest *guest, struct kernel *kernel, const char *session_id);
/* The same with so many bytes in its queue. */
void guest_attach_with(struct guest *guest, struct kernel *kernel, const char *session_id,
                       size_t queued);
/* The same, a client of text alone. */
void guest_attach_for_text(struct guest *guest, struct kernel *kernel, const char *session_id);
/* Its connection is lost. */
void guest_leave(struct guest *guest);
/* Leaves for good, where it has not been sent away, and forgets. */
void guest_finish(struct guest *guest);
/* Sends a message with an empty content; the header's session is "s-" and the guest's session_id.
 */
void guest_ask(struct guest *guest, enum msg_channel channel, const char *msg_type,
               const char *msg_id);
/* The same with everything chosen. */
void guest_ask_as(struct guest *guest, enum msg_channel channel, const char *msg_type,
                  const char *msg_id, const char *session, struct slice content);
/* Whether line is in the log; how often. */
unsigned guest_count(const struct guest *guest, const char *line);
void guest_forget_log(struct guest *guest);
static inline const char *guest_log(const struct guest *guest) {
    return guest->log.data ? guest->log.data : "";
}
