/* fake-gateway - stands in for the gateway: hands the descriptors it was started with to the test
 * that waits at driver.sock in its own folder, and stays until that test or the warden lets go. */
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "rpc/rpc.h"

static int reach_driver(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    ssize_t size = readlink("/proc/self/exe", address.sun_path, sizeof address.sun_path - 1);
    char *slash = size > 0 ? strrchr(address.sun_path, '/') : NULL;
    if (!slash)
        return -1;
    strcpy(slash, "/driver.sock");
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    return connect(fd, (struct sockaddr *)&address, sizeof address) == 0 ? fd : -1;
}

static int hand_over(int driver) {
    const int fds[] = {RPC_FD_WARDEN, RPC_FD_PARAMS, RPC_FD_LISTEN};
    pid_t pid = getpid();
    struct iovec part = {&pid, sizeof pid};
    union {
        struct cmsghdr align;
        char space[CMSG_SPACE(sizeof fds)];
    } control = {0};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof fds);
    memcpy(CMSG_DATA(rights), fds, sizeof fds);
    return sendmsg(driver, &message, 0) == (ssize_t)sizeof pid ? 0 : -1;
}

int main(void) {
    int driver = reach_driver();
    if (driver < 0 || hand_over(driver) < 0)
        return 3;
    struct pollfd polled[] = {{driver, POLLIN, 0}, {RPC_FD_WARDEN, POLLRDHUP, 0}};
    while (poll(polled, 2, -1) < 0 || !(polled[0].revents || polled[1].revents))
        ;
    /* Not by return: a leak checker's helper process would outlive a gateway that is killed then.
     */
    _exit(polled[0].revents ? 5 : 0);
}
