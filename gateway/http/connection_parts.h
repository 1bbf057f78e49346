/* connection_parts - what connection.c and connection_steps.c share. */
#pragma once

#include "http/connection.h"

/* Each is called from an entry alone. */
struct step {
    /* Does what can be done with what has been received; true when there may be more to do. */
    bool (*advance)(struct connection *);
    /* The peer sent its last byte, and advance has nothing more to do. */
    void (*finish)(struct connection *);
    void (*time_out)(struct connection *);
};
extern const struct step connection_steps[];

/* -- connection_steps.c ----------------------------------------------------------------------- */

/* The first state, of a connection with and without TLS. */
void connection_begin_handshake(struct connection *connection);
void connection_begin_requests(struct connection *connection);
/* Who forgot the s of https is told so in the words that it understands. */
void connection_refuse_plain(struct connection *connection);
/* Receiving failed with this negative errno. */
void connection_note_failure(struct connection *connection, int error);

/* -- connection.c ----------------------------------------------------------------------------- */

void connection_set_state(struct connection *connection, enum connection_state state);
/* Tells the owner, who may ask what the peer has acknowledged, and closes the socket. */
void connection_drop(struct connection *connection);
/* Likewise, and what the peer has not acknowledged is not sent any more: the owner may have counted
 * it as lost, and say it again elsewhere. */
void connection_drop_unsent(struct connection *connection);
void connection_drop_request(struct connection *connection);
/* Answers with the refusal as JSON; the connection closes behind it. */
void connection_turn_down(struct connection *connection, const struct refusal *refusal);
