/* pair - two connected sockets whose bytes are passed on to each other. */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PAIR_BUFFER_BYTES = 64 * 1024 };

/* What was read of one socket and is not yet written to the other. */
struct flow {
    size_t at, end;
    bool is_over; /* nothing more comes */
    bool is_told; /* and the other side knows */
    uint8_t data[PAIR_BUFFER_BYTES];
};

struct pair {
    bool is_used;
    int fds[2];
    bool is_gone[2];      /* it takes nothing any more either */
    struct flow flows[2]; /* flows[i] comes from fds[i] */
};

/* Takes over both. */
void pair_begin_take(struct pair *pair, int a, int b);
/* What to poll for; a negative descriptor, which poll leaves alone, where that is nothing. */
void pair_fill(const struct pair *pair, struct pollfd ret_polled[2]);
/* Passes on what there is, a buffer each way at most. False once nothing more can come: then both
 * are closed. */
bool pair_serve(struct pair *pair, const struct pollfd polled[2]);
