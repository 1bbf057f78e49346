/* Each test is a child that puts the filter on: what must be refused is, and what the gateway's
 * libraries need still works. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

#include "gateway/filter.h"

/* cmocka's own assertions would jump into the parent's test. */
#define need(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, strerror(errno));  \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

/* How a child ended that ran body behind the filter; it skips atexit, where LeakSanitizer waits. */
static int behind_filter(void (*body)(void)) {
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct err err = {0};
        if (filter_install(&err) < 0) {
            fprintf(stderr, "%s\n", err.text);
            _exit(1);
        }
        body();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

/* -- refused ------------------------------------------------------------------------------------
 */

#define CALL(name) SYS_##name, #name

/* Arguments under which each would do no harm if it were let through. */
static const struct {
    long number;
    const char *name;
    long a, b, c;
} refused[] = {
    {CALL(execve), 0, 0, 0},
    {CALL(execveat), -1, 0, 0},
    {CALL(clone), SIGCHLD, 0, 0},
    {CALL(ptrace), 16 /* PTRACE_ATTACH */, 0, 0},
    {CALL(process_vm_readv), 0, 0, 0},
    {CALL(process_vm_writev), 0, 0, 0},
    {CALL(pidfd_open), 1, 0, 0},
    {CALL(pidfd_getfd), -1, 0, 0},
    {CALL(pidfd_send_signal), -1, 0, 0},
    {CALL(kill), 0x3fffffff, 0, 0},
    {CALL(tkill), 0x3fffffff, 0, 0},
    {CALL(rt_sigqueueinfo), 0x3fffffff, 0, 0},
    {CALL(mount), 0, 0, 0},
    {CALL(umount2), 0, 0, 0},
    {CALL(pivot_root), 0, 0, 0},
    {CALL(chroot), 0, 0, 0},
    {CALL(open_tree), -1, 0, 0},
    {CALL(move_mount), -1, 0, -1},
    {CALL(fsopen), 0, 0, 0},
    {CALL(fsmount), -1, 0, 0},
    {CALL(mount_setattr), -1, 0, 0},
    {CALL(unshare), 0, 0, 0},
    {CALL(setns), -1, 0, 0},
    {CALL(open_by_handle_at), -1, 0, 0},
    {CALL(mknodat), -1, 0, 0},
    {CALL(bpf), -1, 0, 0},
    {CALL(perf_event_open), 0, 0, 0},
    {CALL(userfaultfd), -1, 0, 0},
    {CALL(io_uring_setup), 0, 0, 0},
    {CALL(io_uring_enter), -1, 0, 0},
    {CALL(io_uring_register), -1, 0, 0},
    {CALL(keyctl), -1, 0, 0},
    {CALL(add_key), 0, 0, 0},
    {CALL(request_key), 0, 0, 0},
    {CALL(seccomp), -1, 0, 0},
    {CALL(kexec_load), 0, 0, 0},
    {CALL(init_module), 0, 0, 0},
    {CALL(finit_module), -1, 0, 0},
    {CALL(delete_module), 0, 0, 0},
    {CALL(swapon), 0, 0, 0},
    {CALL(syslog), -1, 0, 0},
    {CALL(clock_settime), -1, 0, 0},
    {CALL(sethostname), 0, -1, 0},
    {CALL(personality), 0xffffffff, 0, 0},
    {CALL(capset), 0, 0, 0},
    {CALL(setuid), -1, 0, 0},
    {CALL(setresuid), -1, -1, -1},
    {CALL(setgroups), -1, 0, 0},
    {CALL(fchmodat), -1, 0, 0},
    {CALL(fchownat), -1, 0, 0},
#ifdef __x86_64__
    {CALL(fork), 0, 0, 0},
    {CALL(vfork), 0, 0, 0},
    {CALL(iopl), 0, 0, 0},
    {CALL(ioperm), 0, 0, 0},
    {CALL(modify_ldt), -1, 0, 0},
    {CALL(mknod), 0, 0, 0},
#endif
};

static void call_refused(void) {
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        errno = 0;
        long r = syscall(refused[i].number, refused[i].a, refused[i].b, refused[i].c, 0, 0, 0);
        if (r == 0 && getpid() != syscall(SYS_getpid))
            _exit(1); /* a child that fork made after all */
        if (r != -1 || errno != EPERM) {
            fprintf(stderr, "%s: %ld %s\n", refused[i].name, r, strerror(errno));
            _exit(1);
        }
    }
}

static void refuses_what_an_intruder_needs(void **state) {
    (void)state;
    assert_int_equal(behind_filter(call_refused), 0);
}

static void open_sockets(void) {
    for (int family = 0; family < 64; family++) {
        bool allowed = family == AF_UNIX || family == AF_INET || family == AF_INET6;
        int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (allowed)
            need(fd >= 0 || errno == EAFNOSUPPORT); /* a machine without IPv6 */
        else
            need(fd == -1 && errno == EPERM);
        close(fd);
    }
    need(syscall(SYS_socket, 0x100000000 | AF_NETLINK, SOCK_RAW, 0) == -1 && errno == EPERM);
    need(syscall(SYS_socket, -1, SOCK_RAW, 0) == -1 && errno == EPERM);
    int pair[2];
    need(socketpair(AF_TIPC, SOCK_STREAM, 0, pair) == -1 && errno == ENOSYS);
}

static void opens_three_families_of_sockets(void **state) {
    (void)state;
    assert_int_equal(behind_filter(open_sockets), 0);
}

/* What a library may try and must be told is not there; and the dangerous half of what is. */
static void call_absent(void) {
    need(syscall(1000) == -1 && errno == ENOSYS);
    need(syscall(SYS_clone3, NULL, 0) == -1 && errno == ENOSYS);
    need(syscall(SYS_clone, CLONE_THREAD | CLONE_NEWUSER, 0, 0, 0, 0) == -1 && errno == ENOSYS);
    need(ioctl(0, TIOCSTI, "x") == -1 && errno == ENOSYS);
    need(ioctl(0, SIOCSIFFLAGS, "x") == -1 && errno == ENOSYS);
    need(prctl(PR_SET_DUMPABLE, 1) == -1 && errno == ENOSYS);
    need(prctl(PR_SET_PTRACER, 1) == -1 && errno == ENOSYS);
    need(system("true") != 0);
    errno = 0;
    need(fork() == -1 && errno == EPERM);
}

static void says_that_the_rest_is_not_there(void **state) {
    (void)state;
    assert_int_equal(behind_filter(call_absent), 0);
}

#ifdef __x86_64__

static void call_32_bit(void) {
    long number = 20, r; /* getpid there */
    __asm__ volatile("int $0x80" : "=a"(r) : "a"(number) : "memory", "r8", "r9", "r10", "r11");
    (void)r;
}

static void call_x32(void) {
    syscall(0x40000000 | SYS_getpid);
}

static void kills_calls_of_other_architectures(void **state) {
    (void)state;
    void (*const bodies[])(void) = {call_32_bit, call_x32};
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        int status = behind_filter(bodies[i]);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), SIGSYS);
    }
}

#endif

static void probe(void) {
    char text[256] = "";
    FILE *out = fmemopen(text, sizeof text, "w");
    filter_probe(out);
    fclose(out);
    need(strcmp(text, "execve EPERM\nfork EPERM\nptrace EPERM\nmount EPERM\nnetlink EPERM\n") == 0);
}

static void the_probe_is_refused(void **state) {
    (void)state;
    assert_int_equal(behind_filter(probe), 0);
}

/* -- allowed ------------------------------------------------------------------------------------
 */

static void *touch(void *argument) {
    char *memory = malloc(1 << 20);
    memset(memory, 1, 1 << 20);
    pthread_setname_np(pthread_self(), "touch");
    *(int *)argument += memory[12345];
    free(memory);
    return NULL;
}

static void use_threads(void) {
    int count = 0;
    for (int i = 0; i < 8; i++) {
        pthread_t thread;
        need(pthread_create(&thread, NULL, touch, &count) == 0);
        need(pthread_join(thread, NULL) == 0);
    }
    need(count == 8);
}

static void threads_work(void **state) {
    (void)state;
    assert_int_equal(behind_filter(use_threads), 0);
}

static void use_libc(void) {
    time_t now = time(NULL);
    struct tm parts;
    need(localtime_r(&now, &parts));
    need(isatty(0) || errno != EPERM);
    FILE *file = fopen("/proc/self/status", "re");
    char line[256];
    need(file && fgets(line, sizeof line, file));
    fclose(file);
    int fd = memfd_create("spill", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    need(fd >= 0 && ftruncate(fd, 65536) == 0 && pwrite(fd, "x", 1, 65535) == 1);
    char *memory = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    need(memory != MAP_FAILED && memory[65535] == 'x' && munmap(memory, 65536) == 0);
    close(fd);
    fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    need(fd >= 0 && posix_fallocate(fd, 0, 4096) == 0);
    close(fd);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    need(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
    fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    need(fd >= 0 && raise(SIGTERM) == 0);
    struct signalfd_siginfo info;
    need(read(fd, &info, sizeof info) == sizeof info && info.ssi_signo == SIGTERM);
    close(fd);
}

static void libc_works(void **state) {
    (void)state;
    assert_int_equal(behind_filter(use_libc), 0);
}

static void abort_still_aborts(void **state) {
    (void)state;
    int status = behind_filter(abort);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
}

static void count(evutil_socket_t fd, short what, void *context) {
    (void)fd, (void)what;
    ++*(int *)context;
}

/* A descriptor crosses a socket pair, the loop sees the packet and a timer. */
static void use_libevent(void) {
    struct event_base *base = event_base_new();
    need(base && strcmp(event_base_get_method(base), "epoll") == 0);
    int pair[2], seen = 0;
    need(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
    struct event *ready = event_new(base, pair[0], EV_READ, count, &seen);
    struct event *timer = evtimer_new(base, count, &seen);
    need(event_add(ready, NULL) == 0 && event_add(timer, &(struct timeval){0, 1000}) == 0);
    char control[CMSG_SPACE(sizeof(int))] = {0}, byte = 'x';
    struct msghdr packet = {.msg_iov = &(struct iovec){&byte, 1},
                            .msg_iovlen = 1,
                            .msg_control = control,
                            .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&packet);
    *header = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(header), &pair[1], sizeof(int));
    need(sendmsg(pair[1], &packet, 0) == 1);
    need(event_base_dispatch(base) == 1 && seen == 2);
    need(recvmsg(pair[0], &packet, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&packet));
    event_free(ready);
    event_free(timer);
    event_base_free(base);
}

static void libevent_works(void **state) {
    (void)state;
    assert_int_equal(behind_filter(use_libevent), 0);
}

/* Made before the filter, which allows no mkdir. */
static char zmq_folder[] = "/tmp/cellblock-filter-XXXXXX";

/* As the gateway does it: a path through /proc/self/fd, a monitor, and messages of all sizes. */
static void use_libzmq(void) {
    char endpoint[80], through[80];
    snprintf(endpoint, sizeof endpoint, "ipc://%s/k-1", zmq_folder);
    void *context = zmq_ctx_new();
    zmq_ctx_set(context, ZMQ_MAX_SOCKETS, 4096);
    void *router = zmq_socket(context, ZMQ_ROUTER), *dealer = zmq_socket(context, ZMQ_DEALER);
    need(zmq_bind(router, endpoint) == 0);
    need(zmq_socket_monitor(dealer, "inproc://monitor", ZMQ_EVENT_CONNECTED) == 0);
    void *monitor = zmq_socket(context, ZMQ_PAIR);
    need(zmq_connect(monitor, "inproc://monitor") == 0);
    int fd = open(endpoint + strlen("ipc://"), O_PATH | O_CLOEXEC);
    snprintf(through, sizeof through, "ipc:///proc/self/fd/%d", fd);
    need(fd >= 0 && zmq_connect(dealer, through) == 0);
    need(zmq_recv(monitor, through, sizeof through, 0) > 0);
    static char sent[300000], received[300000];
    for (size_t size = 1; size <= sizeof sent; size *= 12) {
        need(zmq_send(dealer, sent, size, 0) == (int)size);
        need(zmq_recv(router, received, sizeof received, 0) > 0);
        need(zmq_recv(router, received, sizeof received, 0) == (int)size);
    }
    zmq_close(monitor);
    zmq_close(router);
    zmq_close(dealer);
    need(zmq_ctx_term(context) == 0);
    need(unlink(endpoint + strlen("ipc://")) == 0 || errno == ENOENT);
}

static void libzmq_works(void **state) {
    (void)state;
    assert_non_null(mkdtemp(zmq_folder));
    int status = behind_filter(use_libzmq);
    char path[80];
    snprintf(path, sizeof path, "%s/k-1", zmq_folder);
    unlink(path); /* still there where the child broke off */
    rmdir(zmq_folder);
    assert_int_equal(status, 0);
}

static X509 *sign_own(EVP_PKEY *key) {
    X509 *certificate = X509_new();
    X509_NAME *name = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const uint8_t *)"localhost", -1, -1, 0);
    X509_set_issuer_name(certificate, name);
    X509_set_pubkey(certificate, key);
    X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    need(X509_sign(certificate, key, EVP_sha256()) > 0);
    return certificate;
}

static SSL *connect_end(SSL_CTX *context, BIO *end, bool is_server) {
    SSL *ssl = SSL_new(context);
    SSL_set_bio(ssl, end, end);
    if (is_server)
        SSL_set_accept_state(ssl);
    else
        SSL_set_connect_state(ssl);
    return ssl;
}

static void use_openssl(void) {
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = sign_own(key);
    SSL_CTX *server_context = SSL_CTX_new(TLS_server_method());
    SSL_CTX *client_context = SSL_CTX_new(TLS_client_method());
    need(SSL_CTX_use_certificate(server_context, certificate) == 1);
    need(SSL_CTX_use_PrivateKey(server_context, key) == 1);
    need(SSL_CTX_set_default_verify_paths(client_context) == 1);
    BIO *left, *right;
    need(BIO_new_bio_pair(&left, 0, &right, 0) == 1);
    SSL *server = connect_end(server_context, left, true);
    SSL *client = connect_end(client_context, right, false);
    for (int i = 0; i < 10 && !(SSL_is_init_finished(server) && SSL_is_init_finished(client));
         i++) {
        SSL_do_handshake(client);
        SSL_do_handshake(server);
    }
    char byte = 0;
    need(SSL_write(client, "x", 1) == 1 && SSL_read(server, &byte, 1) == 1 && byte == 'x');
    SSL_free(client);
    SSL_free(server);
    SSL_CTX_free(client_context);
    SSL_CTX_free(server_context);
    X509_free(certificate);
    EVP_PKEY_free(key);
}

static void openssl_works(void **state) {
    (void)state;
    assert_int_equal(behind_filter(use_openssl), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_what_an_intruder_needs),
        cmocka_unit_test(opens_three_families_of_sockets),
        cmocka_unit_test(says_that_the_rest_is_not_there),
#ifdef __x86_64__
        cmocka_unit_test(kills_calls_of_other_architectures),
#endif
        cmocka_unit_test(the_probe_is_refused),
        cmocka_unit_test(threads_work),
        cmocka_unit_test(libc_works),
        cmocka_unit_test(abort_still_aborts),
        cmocka_unit_test(libevent_works),
        cmocka_unit_test(libzmq_works),
        cmocka_unit_test(openssl_works),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
