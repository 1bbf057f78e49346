/* events - see events.h. One event a turn: what a callback frees cannot be called after it. */
#include "warden/events.h"

#include <assert.h>
#include <errno.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

int events_init(struct events *events, struct err *err) {
    events->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    return events->epoll_fd < 0 ? err_errno(err, errno, "epoll_create1") : 0;
}

void events_finish(struct events *events) {
    close(events->epoll_fd);
}

int events_add(const struct events *events, struct source *source, uint32_t mask, struct err *err) {
    struct epoll_event event = {.events = mask, .data.ptr = source};
    if (epoll_ctl(events->epoll_fd, EPOLL_CTL_ADD, source->fd, &event) < 0)
        return err_errno(err, errno, "watch descriptor %d", source->fd);
    return 0;
}

void events_change(const struct events *events, struct source *source, uint32_t mask) {
    struct epoll_event event = {.events = mask, .data.ptr = source};
    int result = epoll_ctl(events->epoll_fd, EPOLL_CTL_MOD, source->fd, &event);
    assert(result == 0);
}

void events_remove(const struct events *events, struct source *source) {
    int result = epoll_ctl(events->epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
    assert(result == 0);
}

void events_wait(const struct events *events, int timeout_ms) {
    struct epoll_event event;
    int count = epoll_wait(events->epoll_fd, &event, 1, timeout_ms);
    assert(count >= 0 || errno == EINTR);
    if (count != 1)
        return;
    struct source *source = event.data.ptr;
    source->ready(source, event.events);
}

int64_t events_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
