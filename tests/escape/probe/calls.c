/* calls - system calls that lead out of a jail or into the kernel's depths: each is tried for real,
 * with arguments that would work for somebody who may. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe/probe.h"

static void say(const char *name, long result) {
    printf("%s %s\n", name, result < 0 ? strerrorname_np(errno) : "ok");
}

static long clone_with(unsigned long flags) {
    long pid = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        _exit(0);
    if (pid > 0)
        waitpid((pid_t)pid, NULL, 0);
    return pid;
}

static long clone3_with(unsigned long flags) {
    struct clone_args args = {.flags = flags, .exit_signal = SIGCHLD};
    long pid = syscall(SYS_clone3, &args, sizeof args);
    if (pid == 0)
        _exit(0);
    if (pid > 0)
        waitpid((pid_t)pid, NULL, 0);
    return pid;
}

static long type_into_terminal(unsigned long request) {
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    grantpt(master);
    unlockpt(master);
    int slave = open(ptsname(master), O_RDWR);
    return syscall(SYS_ioctl, slave, request, "x");
}

static long name_a_file(void) {
    struct {
        struct file_handle head;
        char space[128];
    } handle = {.head.handle_bytes = sizeof handle.space};
    int mount;
    return name_to_handle_at(AT_FDCWD, "/usr", &handle.head, &mount, 0);
}

static long empty_capset(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[2] = {{.effective = 1U << CAP_CHOWN, .permitted = ~0U}};
    return syscall(SYS_capset, &header, sets);
}

static long count_cycles(void) {
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE, .size = sizeof attr};
    return syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static long read_self(void) {
    char from = 'x', to;
    struct iovec local = {&to, 1}, remote = {&from, 1};
    return syscall(SYS_process_vm_readv, getpid(), &local, 1, &remote, 1, 0);
}

/* calls: name and outcome of each. */
int probe_calls(char **argv) {
    (void)argv;
    say("mount", mount("none", "/tmp", "tmpfs", 0, NULL));
    say("umount", umount2("/", MNT_DETACH));
    say("chroot", chroot("/tmp"));
    say("pivot_root", syscall(SYS_pivot_root, ".", "."));
    say("open_tree", open_tree(AT_FDCWD, "/usr", 0));
    say("fsopen", fsopen("tmpfs", 0));
    say("unshare", unshare(CLONE_NEWUSER));
    say("clone", clone_with(CLONE_NEWUSER));
    say("clone3", clone3_with(CLONE_NEWUSER));
    say("setns", setns(open("/proc/self/ns/net", O_RDONLY), 0));
    say("ptrace", ptrace(PTRACE_TRACEME, 0, 0, 0));
    say("process_vm_readv", read_self());
    say("kcmp", syscall(SYS_kcmp, getpid(), getpid(), 0, 0, 0));
    say("keyctl", syscall(SYS_keyctl, 0, -3, 0));
    say("add_key", syscall(SYS_add_key, "user", "x", "x", 1, -3));
    say("bpf", syscall(SYS_bpf, 0, NULL, 0));
    say("perf_event_open", count_cycles());
    say("userfaultfd", syscall(SYS_userfaultfd, 1));
    say("io_uring_setup", syscall(SYS_io_uring_setup, 8, (char[256]){0}));
    say("memfd_secret", syscall(SYS_memfd_secret, 0));
    say("name_to_handle_at", name_a_file());
    struct rlimit core = {0, 0};
    say("core_limit", setrlimit(RLIMIT_CORE, &core));
    getrlimit(RLIMIT_CORE, &core);
    printf("core_limit_is %d\n", (int)core.rlim_cur);
    say("other_limit", setrlimit(RLIMIT_NOFILE, &(struct rlimit){50, 50}));
    say("personality", syscall(SYS_personality, 0x0400000));
    say("sethostname", sethostname("x", 1));
    say("setuid", setuid(0));
    say("setgroups", setgroups(1, (gid_t[]){0}));
    say("capset", empty_capset());
    say("mknod", mknod("/tmp/device", S_IFCHR | 0600, 0));
    say("mkfifo", mkfifo("/tmp/fifo", 0600));
    say("merge", prctl(67, 1, 0, 0, 0));
    say("sti", type_into_terminal(TIOCSTI));
    say("sti_high", type_into_terminal(TIOCSTI | 1UL << 32));
    say("af_alg", socket(38, SOCK_SEQPACKET, 0));
    say("af_vsock", socket(40, SOCK_STREAM, 0));
    say("af_packet", socket(AF_PACKET, SOCK_RAW, 0));
    say("netlink_generic", socket(AF_NETLINK, SOCK_RAW, 16));
    say("netlink_route", socket(AF_NETLINK, SOCK_RAW, 0));
    say("raw", socket(AF_INET, SOCK_RAW, 1));
    say("unknown", syscall(100000));
    return 0;
}

static void *set_flag(void *flag) {
    *(int *)flag = 1;
    return NULL;
}

/* work: threads, children, pseudo-terminals. */
int probe_work(char **argv) {
    (void)argv;
    pthread_t thread;
    int flag = 0;
    if (pthread_create(&thread, NULL, set_flag, &flag) == 0)
        pthread_join(thread, NULL);
    printf("thread %d\n", flag);
    printf("shell %d\n", system("test -d /usr && exit 3") >> 8);
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    printf("terminal %s\n", master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0 &&
                                    open(ptsname(master), O_RDWR | O_NOCTTY) >= 0
                                ? "ok"
                                : strerrorname_np(errno));
    return 0;
}
