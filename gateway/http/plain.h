/* plain - a stream socket that never blocks, as it is. */
#pragma once

#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* Bytes received, 0 at the end of the stream, or a negative errno. */
static inline ssize_t plain_receive(int fd, void *buffer, size_t size) {
    ssize_t got;
    do
        got = recv(fd, buffer, size, 0);
    while (got < 0 && errno == EINTR);
    return got < 0 ? -errno : got;
}

/* Bytes taken by the socket, 0 where it is full, or a negative errno. */
static inline ssize_t plain_send(int fd, const struct iovec *iovecs, size_t count) {
    struct msghdr message = {.msg_iov = (struct iovec *)iovecs, .msg_iovlen = count};
    ssize_t sent;
    do
        sent = sendmsg(fd, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent >= 0)
        return sent;
    return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -errno;
}
