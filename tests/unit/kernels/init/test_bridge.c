/* pid 1's bridge, with the test as gateway on one side and as kernel on the other, in a network
 * namespace of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "init/bridge.h"
#include "tree.h"

enum { FIRST_PORT = 20000, PATIENCE_MS = 60 * 1000 };

static char folder[] = "/tmp/test_bridge.XXXXXX";
static char sockets[64];
static int listeners[BRIDGE_PORTS];

/* -- the two sides */

static struct sockaddr_un unix_address(int index) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s-%d", sockets, index + 1);
    return address;
}

static void listen_on(int index) {
    const int on = 1;
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)(FIRST_PORT + index)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 128), 0);
    listeners[index] = fd;
}

/* -1 where nobody listens. */
static int try_connect(int index) {
    struct sockaddr_un address = unix_address(index);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

static void sleep_ms(int ms) {
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&time, NULL);
}

static int await_connect(int index) {
    for (int waited = 0; waited < PATIENCE_MS; waited += 5) {
        int fd = try_connect(index);
        if (fd >= 0)
            return fd;
        sleep_ms(5);
    }
    fail_msg("no socket %d", index + 1);
    return -1;
}

static bool is_ready(int fd, short events, int timeout_ms) {
    struct pollfd polled = {fd, events, 0};
    return poll(&polled, 1, timeout_ms) == 1;
}

static int await_accept(int index) {
    assert_true(is_ready(listeners[index], POLLIN, PATIENCE_MS));
    return accept4(listeners[index], NULL, NULL, SOCK_CLOEXEC);
}

/* The connections by which pid 1 looked whether somebody listens are the first ones. */
static int await_other_end(int index, int near) {
    static const char hello[] = "hello";
    char heard[sizeof hello] = "";
    assert_int_equal(send(near, hello, sizeof hello, MSG_NOSIGNAL), sizeof hello);
    for (;;) {
        int far = await_accept(index);
        assert_true(is_ready(far, POLLIN, PATIENCE_MS));
        if (recv(far, heard, sizeof heard, MSG_WAITALL) == sizeof heard) {
            assert_string_equal(heard, hello);
            return far;
        }
        close(far);
    }
}

static struct tree tree;

static int set_up(void **state) {
    (void)state;
    if (!mkdtemp(strcpy(folder, "/tmp/test_bridge.XXXXXX")))
        return -1;
    snprintf(sockets, sizeof sockets, "%s/k", folder);
    memset(listeners, -1, sizeof listeners);
    tree = tree_start_bridge("exec sleep 1000", FIRST_PORT, sockets);
    tree_await_start(&tree);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    char command[128];
    for (int i = 0; i < BRIDGE_PORTS; i++)
        if (listeners[i] >= 0)
            close(listeners[i]);
    /* It still obeys. */
    tree_order(&tree, SIGTERM);
    tree_await_report(&tree);
    assert_int_equal(tree_report.kind, INIT_SIGNALED);
    assert_int_equal(tree_finish(&tree), 0);
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

/* Both ends of one connection. */
static void connect_through(int index, int *ret_near, int *ret_far) {
    if (listeners[index] < 0)
        listen_on(index);
    *ret_near = await_connect(index);
    *ret_far = await_other_end(index, *ret_near);
}

static void expect_end(int fd) {
    char byte;
    assert_true(is_ready(fd, POLLIN, PATIENCE_MS));
    assert_int_equal(recv(fd, &byte, 1, 0), 0);
}

static void expect_text(int fd, const char *text) {
    char heard[64] = "";
    assert_true(is_ready(fd, POLLIN, PATIENCE_MS));
    assert_int_equal(recv(fd, heard, strlen(text), MSG_WAITALL), strlen(text));
    assert_string_equal(heard, text);
}

/* Processor time of pid 1 in ticks. */
static long ticks(void) {
    char path[64], line[1024] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", tree.pid);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    fclose(file);
    long user = 0, system = 0;
    sscanf(strrchr(line, ')') + 2, "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld %ld", &user,
           &system);
    return user + system;
}

/* A loop that gets a tenth of a processor only would have taken more. */
static void expect_rest(void) {
    long before = ticks();
    sleep_ms(500);
    assert_true(ticks() - before <= sysconf(_SC_CLK_TCK) / 30);
}

static long resident_kib(void) {
    char path[64], line[256];
    long size = -1;
    snprintf(path, sizeof path, "/proc/%d/status", tree.pid);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        sscanf(line, "VmRSS: %ld", &size);
    fclose(file);
    return size;
}

/* -- tests */

static void makes_a_socket_once_somebody_listens(void **state) {
    (void)state;
    for (int i = 0; i < BRIDGE_PORTS - 1; i++)
        listen_on(i);
    for (int i = 0; i < BRIDGE_PORTS - 1; i++)
        close(await_connect(i));
    const struct sockaddr_un last = unix_address(BRIDGE_PORTS - 1);
    assert_int_equal(access(last.sun_path, F_OK), -1);
    listen_on(BRIDGE_PORTS - 1);
    close(await_connect(BRIDGE_PORTS - 1));
    expect_rest(); /* nothing is tried any more */
}

static void goes_on_without_a_name_that_is_taken(void **state) {
    (void)state;
    const struct sockaddr_un taken = unix_address(2);
    assert_int_equal(symlink("/does/not/exist", taken.sun_path), 0);
    for (int i = 0; i < BRIDGE_PORTS; i++)
        listen_on(i);
    for (int i = 0; i < BRIDGE_PORTS; i++)
        if (i != 2)
            close(await_connect(i));
    assert_int_equal(access("/does", F_OK), -1);
}

static void fill_pattern(uint8_t *data, size_t size, unsigned seed) {
    for (size_t i = 0; i < size; i++)
        data[i] = (uint8_t)(seed = seed * 1103515245 + 12345);
}

/* More than any buffer on the way, both ways at once. */
static void passes_everything_both_ways(void **state) {
    (void)state;
    enum { SIZE = 16 << 20 };
    int fds[2];
    uint8_t *said[2] = {malloc(SIZE), malloc(SIZE)}, *heard[2] = {malloc(SIZE), malloc(SIZE)};
    size_t sent[2] = {0, 0}, received[2] = {0, 0};
    connect_through(0, &fds[0], &fds[1]);
    for (unsigned i = 0; i < 2; i++)
        fill_pattern(said[i], SIZE, i + 1);
    while (received[0] < SIZE || received[1] < SIZE) {
        struct pollfd polled[2];
        for (int i = 0; i < 2; i++)
            polled[i] =
                (struct pollfd){fds[i], (short)(POLLIN | (sent[i] < SIZE ? POLLOUT : 0)), 0};
        assert_true(poll(polled, 2, PATIENCE_MS) > 0);
        for (int i = 0; i < 2; i++) {
            ssize_t in = recv(fds[i], heard[i] + received[i], SIZE - received[i], MSG_DONTWAIT);
            ssize_t out = send(fds[i], said[i] + sent[i], SIZE - sent[i], MSG_DONTWAIT);
            assert_true(received[i] == SIZE || in != 0);
            received[i] += in > 0 ? (size_t)in : 0;
            sent[i] += out > 0 ? (size_t)out : 0;
        }
    }
    for (int i = 0; i < 2; i++) {
        assert_memory_equal(heard[i], said[1 - i], SIZE);
        free(heard[i]);
        free(said[1 - i]);
        close(fds[i]);
    }
}

static void passes_each_half_of_an_end(void **state) {
    (void)state;
    for (int way = 0; way < 2; way++) {
        int near, far;
        connect_through(0, &near, &far);
        int first = way ? far : near, second = way ? near : far;
        assert_int_equal(send(first, "last words", 10, 0), 10);
        shutdown(first, SHUT_WR);
        expect_text(second, "last words");
        expect_end(second);
        assert_int_equal(send(second, "an answer", 9, 0), 9);
        expect_text(first, "an answer");
        close(second);
        expect_end(first);
        close(first);
    }
}

static void ends_what_has_no_other_side(void **state) {
    (void)state;
    int near, far;
    connect_through(0, &near, &far);
    close(near); /* while the kernel goes on holding its own */
    expect_end(far);
    connect_through(1, &near, &far);
    close(listeners[1]);
    listeners[1] = -1;
    int late = await_connect(1);
    expect_end(late);
    close(late);
    close(near);
    close(far);
}

/* A kernel that holds on to connections of clients who have left takes no places by that. */
static void keeps_no_place_for_who_is_gone(void **state) {
    (void)state;
    int near, far[2 * BRIDGE_PAIRS];
    for (int i = 0; i < 2 * BRIDGE_PAIRS; i++) {
        connect_through(0, &near, &far[i]);
        close(near);
        expect_end(far[i]);
    }
    for (int i = 0; i < 2 * BRIDGE_PAIRS; i++)
        close(far[i]);
}

/* What one side does not take is not read of the other: it waits there. patience: so many times 10
 * ms without a byte are the end. */
static size_t fill_up(int fd, int patience) {
    static const uint8_t block[65536];
    size_t total = 0;
    /* Full, and full still once pid 1 has had its turn. */
    for (int quiet = 0; quiet < patience;) {
        ssize_t count = send(fd, block, sizeof block, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count > 0)
            quiet = 0;
        else
            quiet += !is_ready(fd, POLLOUT, 10);
        total += count > 0 ? (size_t)count : 0;
        assert_true(total < 64 << 20);
    }
    return total;
}

static void holds_back_who_is_not_heard(void **state) {
    (void)state;
    static uint8_t block[65536];
    int near, far;
    connect_through(0, &near, &far);
    size_t total = fill_up(near, 20), heard = 0;
    expect_rest();
    close(near); /* with bytes on the way, which still come, and no other way left */
    expect_rest();
    for (ssize_t count; (count = recv(far, block, sizeof block, 0)) > 0;)
        heard += (size_t)count;
    assert_int_equal(heard, total);
    close(far);
}

/* More connections than there are places wait, whoever holds those. */
static void bounds_what_a_session_can_make_it_hold(void **state) {
    (void)state;
    enum { CROWD = 2 * BRIDGE_PAIRS };
    int near[CROWD], far[CROWD], count = 0;
    listen_on(0);
    near[0] = await_connect(0);
    far[0] = await_other_end(0, near[0]);
    for (int i = 1; i < CROWD; i++) {
        struct sockaddr_un address = unix_address(0);
        near[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        int result = connect(near[i], (struct sockaddr *)&address, sizeof address);
        if (i < BRIDGE_PAIRS) {
            assert_int_equal(result, 0);
            far[i] = await_other_end(0, near[i]);
            fill_up(near[i], 1);
        } else if (result == 0) {
            count++;
        }
    }
    assert_true(count < CROWD - BRIDGE_PAIRS); /* only those that the queue has room for */
    assert_false(is_ready(listeners[0], POLLIN, 200));
    expect_rest();
    assert_true(resident_kib() < 8 * 1024);
    close(far[0]);
    expect_end(near[0]);
    close(near[0]);
    /* Now one of those that wait has its turn. */
    far[0] = await_accept(0);
    for (int i = 0; i < CROWD; i++) {
        if (i > 0)
            close(near[i]);
        if (i < BRIDGE_PAIRS)
            close(far[i]);
    }
    int later_near, later_far;
    later_near = await_connect(0);
    later_far = await_other_end(0, later_near);
    close(later_near);
    close(later_far);
}

/* Loopback alone, and up. */
static int enter_own_network(void) {
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    if (unshare(CLONE_NEWNET) < 0)
        return -1;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int result = ioctl(fd, SIOCSIFFLAGS, &request);
    close(fd);
    return result;
}

int main(void) {
    if (geteuid() != 0)
        return 77;
    if (enter_own_network() < 0)
        return 1;
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(makes_a_socket_once_somebody_listens, set_up, tear_down),
        cmocka_unit_test_setup_teardown(goes_on_without_a_name_that_is_taken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(passes_everything_both_ways, set_up, tear_down),
        cmocka_unit_test_setup_teardown(passes_each_half_of_an_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ends_what_has_no_other_side, set_up, tear_down),
        cmocka_unit_test_setup_teardown(keeps_no_place_for_who_is_gone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(holds_back_who_is_not_heard, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bounds_what_a_session_can_make_it_hold, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
