/* events - what the warden waits for: descriptors, one at a time. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct source {
    int fd;
    void (*ready)(struct source *source, uint32_t events); /* EPOLLIN, EPOLLOUT, EPOLLHUP, ... */
};

struct events {
    int epoll_fd;
};

int events_init(struct events *events, struct err *err);
void events_finish(struct events *events);
/* mask as for epoll_ctl. The source must stay where it is until it is removed. */
int events_add(const struct events *events, struct source *source, uint32_t mask, struct err *err);
void events_change(const struct events *events, struct source *source, uint32_t mask);
/* Before its descriptor is closed. A source that is removed is not called any more. */
void events_remove(const struct events *events, struct source *source);
/* Waits for one event and calls its source; -1 waits without end. Returns early on time. */
void events_wait(const struct events *events, int timeout_ms);

/* CLOCK_MONOTONIC in milliseconds. */
int64_t events_now_ms(void);
