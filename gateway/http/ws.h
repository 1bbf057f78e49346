/* ws - the connection's side of a WebSocket: what connection.c asks of it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct ws;

/* Takes frames from the inbox; true when there may be more to do. */
bool ws_advance(struct ws *ws);
/* False while the owner has paused it. */
bool ws_wants_input(const struct ws *ws);
/* How many bytes the frame takes that is being received; 0 where it is not known. */
size_t ws_bytes_needed(const struct ws *ws);
/* A ping, or the end of a closing handshake that the peer does not answer. */
void ws_time_out(struct ws *ws);
/* The peer took bytes that waited for it. */
void ws_tell_progress(struct ws *ws);
void ws_tell_drained(struct ws *ws);
/* The socket is closed: tells the owner, and frees the WebSocket. */
void ws_tell_gone(struct ws *ws);
/* The server ends: tells the peer, as far as it listens. */
void ws_say_goodbye(struct ws *ws);
