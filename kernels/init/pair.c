/* pair - see pair.h. Its one complication: an end has two halves. "I say no more" is passed on
 * behind the last byte while the other way stays open; an end that is gone both ways makes poll
 * return for ever, so it is polled for no longer than until that is seen. */
#include "init/pair.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

void pair_begin_take(struct pair *pair, int a, int b) {
    pair->is_used = true;
    pair->fds[0] = a;
    pair->fds[1] = b;
    for (int i = 0; i < 2; i++) {
        pair->is_gone[i] = false;
        pair->flows[i].at = pair->flows[i].end = 0;
        pair->flows[i].is_over = pair->flows[i].is_told = false;
    }
}

static bool is_empty(const struct flow *flow) {
    return flow->at == flow->end;
}

void pair_fill(const struct pair *pair, struct pollfd ret_polled[2]) {
    for (int i = 0; i < 2; i++) {
        const struct flow *in = &pair->flows[i], *out = &pair->flows[1 - i];
        bool reads = !in->is_over && is_empty(in), writes = !is_empty(out);
        /* Without either, the rest of its end is awaited, which poll tells unasked. */
        bool waits = reads || writes || (in->is_over && !pair->is_gone[i]);
        ret_polled[i].fd = waits ? pair->fds[i] : -1;
        ret_polled[i].events = (short)((reads ? POLLIN : 0) | (writes ? POLLOUT : 0));
        ret_polled[i].revents = 0;
    }
}

static bool is_later(void) {
    return errno == EAGAIN || errno == EINTR;
}

/* False where the socket is broken. */
static bool fill(struct flow *flow, int from) {
    static const int on = 1;
    ssize_t count = recv(from, flow->data, sizeof flow->data, MSG_DONTWAIT);
    if (count < 0)
        return is_later();
    flow->at = 0;
    flow->end = (size_t)count;
    flow->is_over = count == 0;
    /* A kernel that did not turn Nagle's algorithm off holds its next bytes back until these are
     * acknowledged, which would take 40 ms. Fails for the unix socket. */
    setsockopt(from, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
    return true;
}

static bool drain(struct flow *flow, int to) {
    if (!is_empty(flow)) {
        ssize_t count =
            send(to, flow->data + flow->at, flow->end - flow->at, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count < 0)
            return is_later();
        flow->at += (size_t)count;
    }
    if (is_empty(flow) && flow->is_over && !flow->is_told) {
        shutdown(to, SHUT_WR);
        flow->is_told = true;
    }
    return true;
}

static void finish(struct pair *pair) {
    close(pair->fds[0]);
    close(pair->fds[1]);
    pair->is_used = false;
}

bool pair_serve(struct pair *pair, const struct pollfd polled[2]) {
    bool goes_on = true;
    for (int i = 0; i < 2; i++) {
        struct flow *flow = &pair->flows[i];
        if ((polled[i].revents & (POLLHUP | POLLERR)) && flow->is_over)
            pair->is_gone[i] = true;
        if (polled[i].revents && !flow->is_over && is_empty(flow))
            goes_on = goes_on && fill(flow, pair->fds[i]);
        goes_on = goes_on && drain(flow, pair->fds[1 - i]);
    }
    for (int i = 0; i < 2; i++) /* nobody is there who would take what comes from the other */
        if (pair->is_gone[i] && pair->flows[i].is_told)
            goes_on = false;
    if (goes_on && !(pair->flows[0].is_told && pair->flows[1].is_told))
        return true;
    finish(pair);
    return false;
}
