#include "fake_jail.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"
#include "jail/jail.h"
#include "warden/greet.h"
#include "warden/home.h"
#include "warden/say.h"
#include "warden/spawn.h"

struct fake_process fake_processes[FAKE_PROCESSES_MAX];
uint32_t fake_failures;
char fake_run_folder[64];
static int fake_alive; /* groups, kept mounts and processes */
static unsigned run_count;

static void name_run_folder(unsigned number) {
    snprintf(fake_run_folder, sizeof fake_run_folder, "%s/run%u", folder_path(), number);
}

void fake_begin(void) {
    for (size_t i = 0; i < FAKE_PROCESSES_MAX; i++)
        fake_processes[i].event = fake_processes[i].link = -1;
    fake_failures = 0;
    fake_run_folder[0] = 0;
}

void fake_end(void) {
    assert(fake_alive == 0);
    for (; run_count > 0; run_count--) {
        name_run_folder(run_count - 1);
        folder_remove(fake_run_folder);
    }
}

/* Whether this call is one that fails. */
static int fail(const char *what, struct err *err) {
    bool is_failing = fake_failures & 1;
    fake_failures >>= 1;
    return is_failing ? err_set(err, EIO, "%s: as asked", what) : 0;
}

static int open_nothing(int *ret_fd) {
    *ret_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    assert(*ret_fd >= 0);
    return 0;
}

/* -- groups */

int jail_group_init(struct jail_group *group, struct jail_prepared *prepared, const char *name,
                    const struct jail_limits *limits, struct err *err) {
    int result = fail("group", err);
    *group = (struct jail_group){.prepared = prepared, .limits = *limits, .oom_fd = -1};
    snprintf(group->name, sizeof group->name, "%s", name);
    if (result < 0)
        return result;
    fake_alive++;
    return open_nothing(&group->oom_fd);
}

int jail_group_change(struct jail_group *group, const struct jail_limits *limits, struct err *err) {
    int result = fail("limits", err);
    if (result == 0)
        group->limits = *limits;
    return result;
}

void jail_group_hear(const struct jail_group *group) {
    eventfd_t count;
    eventfd_read(group->oom_fd, &count);
}

int jail_group_finish(struct jail_group *group) {
    if (group->oom_fd >= 0) {
        close(group->oom_fd);
        fake_alive--;
    }
    group->oom_fd = -1;
    return fail("group", NULL) < 0 ? -EBUSY : 0;
}

int jail_leaf_make(const struct jail_group *group, uint64_t tree, struct err *err) {
    (void)group, (void)tree;
    return fail("leaf", err);
}

void jail_leaf_remove(const struct jail_group *group, uint64_t tree) {
    (void)group, (void)tree;
}

void jail_leaf_kill(const struct jail_group *group, uint64_t tree) {
    (void)group, (void)tree;
}

void jail_leaf_read(const struct jail_group *group, uint64_t tree, struct jail_memory *ret_memory) {
    (void)group;
    *ret_memory = (struct jail_memory){.victims = tree & 1, .is_limit_reached = tree & 2};
}

/* -- mounts and namespaces */

int jail_make_namespaces(int *ret_net_fd, int *ret_ipc_fd, struct err *err) {
    int result = fail("namespaces", err);
    if (result == 0) {
        open_nothing(ret_net_fd);
        open_nothing(ret_ipc_fd);
    }
    return result;
}

int jail_keep_tmpfs(struct jail_prepared *prepared, const struct jail_tmpfs *tmpfs,
                    struct jail_kept *ret_kept, struct err *err) {
    (void)prepared, (void)tmpfs;
    int result = fail("tmpfs", err);
    if (result < 0)
        return result;
    *ret_kept = (struct jail_kept){.number = 1};
    fake_alive++;
    return open_nothing(&ret_kept->fd);
}

int jail_clone_kept(struct jail_prepared *prepared, const struct jail_kept *kept, int *ret_fd,
                    struct err *err) {
    (void)prepared;
    assert(kept->number);
    int result = fail("clone", err);
    return result < 0 ? result : open_nothing(ret_fd);
}

int jail_resize_kept(const struct jail_kept *kept, const struct jail_tmpfs *tmpfs,
                     struct err *err) {
    (void)tmpfs;
    assert(kept->number);
    return fail("resize", err);
}

void jail_drop_kept(struct jail_prepared *prepared, struct jail_kept *kept) {
    (void)prepared;
    if (!kept->number)
        return;
    close(kept->fd);
    kept->number = 0;
    fake_alive--;
}

int jail_make_tmpfs(const struct jail_tmpfs *tmpfs, int *ret_fd, struct err *err) {
    (void)tmpfs;
    int result = fail("run", err);
    if (result < 0)
        return result;
    name_run_folder(run_count++);
    mkdir(fake_run_folder, 0755);
    *ret_fd = open(fake_run_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert(*ret_fd >= 0);
    return 0;
}

unsigned jail_cpus(uint64_t cpus_milli) {
    return cpus_milli ? 1 : 2;
}

/* -- processes */

static struct fake_process *find(int event) {
    for (size_t i = 0; i < FAKE_PROCESSES_MAX; i++)
        if (fake_processes[i].event == event)
            return &fake_processes[i];
    return NULL;
}

int spawn_tree(struct spawn_tree *tree, int *ret_pidfd, struct err *err) {
    int result = fail("clone3", err);
    struct fake_process *process = find(-1);
    assert(tree->plan.tree_count < 1000 && tree->argv[0] && tree->environment[0]);
    if (result == 0 && !process)
        result = err_set(err, EAGAIN, "clone3: no more");
    if (result < 0)
        return result;
    process->link = fcntl(tree->link, F_DUPFD_CLOEXEC, 0);
    process->status = 0;
    open_nothing(&process->event);
    *ret_pidfd = process->event;
    fake_alive++;
    return 0;
}

void fake_process_end(struct fake_process *process, int status) {
    process->status = status;
    eventfd_write(process->event, 1);
    close(process->link);
    process->link = -1;
}

int spawn_reap(int pidfd) {
    struct fake_process *process = find(pidfd);
    assert(process);
    if (process->link >= 0)
        close(process->link);
    process->event = process->link = -1;
    fake_alive--;
    return process->status;
}

/* -- the rest of the machine */

int home_fill(int workspace_fd, const char *prefix, uid_t user, struct err *err) {
    (void)workspace_fd, (void)prefix, (void)user;
    return fail("home", err);
}

int greet(const struct warden *warden, struct err *err) {
    (void)warden;
    return fail("ready file", err);
}

void say(const char *format, ...) {
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
}
