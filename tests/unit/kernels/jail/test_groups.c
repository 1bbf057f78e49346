/* Groups of which this host may have another kind: the files of version 2, as far as they are mere
 * files; and the host's own hierarchies, with cgroup.kill and without. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "jail/control.h"
#include "jail/groups.h"
#include "jail/steps.h"

static const struct jail_limits limits = {
    .memory_bytes = 100 << 20, .pids = 50, .cpus_milli = 1500};

/* -- files of version 2 */

static char folder[64];
static int folder_fd = -1;

static int make_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/cellblock-groups.XXXXXX");
    assert_non_null(mkdtemp(folder));
    folder_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return folder_fd < 0;
}

static int remove_folder(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    close(folder_fd);
    return system(command);
}

static void put(const char *name, const char *content) {
    cleanup_fd int fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, content, strlen(content)), strlen(content));
}

static void check_file(const char *name, const char *content) {
    char text[256];
    assert_int_equal(control_read(folder_fd, name, text, sizeof text), 0);
    assert_string_equal(text, content);
}

static void writes_limits_of_version_2(void **state) {
    (void)state;
    struct err err;
    struct jail_limits none = limits;
    static const char *const names[] = {"memory.max", "memory.swap.max", "pids.max", "cpu.max"};
    const struct hierarchy hierarchy = {.is_v2 = true, .controllers = CONTROLLERS_ALL};
    for (size_t i = 0; i < 4; i++)
        put(names[i], "");
    assert_int_equal(group_write_limits(&hierarchy, folder_fd, &limits, &err), 0);
    check_file("memory.max", "104857600");
    check_file("memory.swap.max", "0");
    check_file("pids.max", "50");
    check_file("cpu.max", "150000 100000");
    none.cpus_milli = 0;
    put("cpu.max", "");
    assert_int_equal(group_write_limits(&hierarchy, folder_fd, &none, &err), 0);
    check_file("cpu.max", "max 100000");
    none.cpus_milli = 1; /* the kernel takes no less than a millisecond */
    put("cpu.max", "");
    assert_int_equal(group_write_limits(&hierarchy, folder_fd, &none, &err), 0);
    check_file("cpu.max", "1000 100000");
}

/* Without swap there is no file for it; without a limit's file there is no limit. */
static void needs_all_but_swap(void **state) {
    (void)state;
    struct err err;
    const struct hierarchy memory = {.is_v2 = true, .controllers = CONTROLLER_MEMORY},
                           pids = {.is_v2 = true, .controllers = CONTROLLER_PIDS};
    put("memory.max", "");
    assert_int_equal(group_write_limits(&memory, folder_fd, &limits, &err), 0);
    assert_int_equal(group_write_limits(&pids, folder_fd, &limits, &err), -ENOENT);
    assert_string_equal(err.text, "pids.max = 50: No such file or directory");
}

static void reads_numbers_and_keys(void **state) {
    (void)state;
    uint64_t number = 7;
    put("memory.events", "low 0\noom 3\noom_kill 12\noom_group_kill 1\n");
    assert_int_equal(control_read_key(folder_fd, "memory.events", "oom_kill", &number), 0);
    assert_int_equal(number, 12);
    assert_int_equal(control_read_key(folder_fd, "memory.events", "oom", &number), 0);
    assert_int_equal(number, 3);
    assert_int_equal(control_read_key(folder_fd, "memory.events", "kill", &number), -ENOENT);
    assert_int_equal(control_read_key(folder_fd, "missing", "oom", &number), -ENOENT);
    assert_int_equal(control_read_number(folder_fd, "missing", &number), -ENOENT);
    assert_int_equal(number, 3);
}

/* -- the host's hierarchies */

static struct jail_prepared *prepared;

static int prepare(void **state) {
    (void)state;
    struct err err;
    return jail_prepare(&prepared, &err);
}

static int unprepare(void **state) {
    (void)state;
    jail_prepared_destroy(prepared);
    return 0;
}

/* A process in the tree's group with so many children; it is ready when this returns. */
static pid_t start_tree(const struct jail_group *group, uint64_t tree, int children) {
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        const struct jail_plan plan = {.session = group, .tree = tree};
        struct jail_build build = {.plan = &plan, .root_fd = -1};
        struct err err;
        if (step_groups.enter(&build, &err) < 0)
            _exit(1);
        while (children-- > 0 && fork() > 0)
            ;
        if (children < 0 && write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

/* Version 1 alone: the last hierarchy is version 2's. */
static void ends_all_that_is_listed(void **state) {
    (void)state;
    struct groups *groups = jail_groups(prepared);
    size_t count = groups->count;
    struct jail_group group;
    struct err err;
    if (!(groups->controllers & CONTROLLER_MEMORY) || groups->hierarchies[0].is_v2)
        skip();
    groups->count -= groups->hierarchies[count - 1].is_v2;
    assert_int_equal(jail_group_init(&group, prepared, "session", &limits, &err), 0);
    assert_int_equal(jail_leaf_make(&group, 1, &err), 0);
    assert_int_equal(jail_leaf_make(&group, 2, &err), 0);
    pid_t pid = start_tree(&group, 1, 20), other = start_tree(&group, 2, 0);
    assert_int_equal(jail_group_finish(&group), -EBUSY);
    int status;
    jail_leaf_kill(&group, 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WTERMSIG(status), SIGKILL);
    assert_int_equal(waitpid(other, &status, WNOHANG), 0); /* another tree lives on */
    jail_leaf_kill(&group, 2);
    assert_int_equal(waitpid(other, &status, 0), other);
    int left_ms = 10000, result;
    while ((result = jail_group_finish(&group)) < 0 && left_ms-- > 0)
        usleep(1000); /* its children have another reaper */
    assert_int_equal(result, 0);
    groups->count = count;
}

/* Two folders of the same group do not see each other's wardens as gone. */
static void leaves_the_living_alone(void **state) {
    (void)state;
    struct groups *groups = jail_groups(prepared), other;
    if (groups->count == 0)
        skip();
    struct stat info;
    groups_init(&other);
    assert_int_equal(other.count, groups->count);
    assert_string_not_equal(other.name, groups->name);
    for (size_t i = 0; i < groups->count; i++) {
        groups_remove_stale(&groups->hierarchies[i]);
        assert_int_equal(fstatat(groups->hierarchies[i].own_fd, other.name, &info, 0), 0);
    }
    groups_finish(&other);
    for (size_t i = 0; i < groups->count; i++) {
        assert_int_equal(fstatat(groups->hierarchies[i].own_fd, other.name, &info, 0), -1);
        assert_int_equal(fstatat(groups->hierarchies[i].own_fd, groups->name, &info, 0), 0);
    }
}

int main(void) {
#define FAKE(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
#define REAL(name) cmocka_unit_test_setup_teardown(name, prepare, unprepare)
    if (geteuid() != 0)
        return 77;
    const struct CMUnitTest tests[] = {
        FAKE(writes_limits_of_version_2), FAKE(needs_all_but_swap),
        FAKE(reads_numbers_and_keys),     REAL(ends_all_that_is_listed),
        REAL(leaves_the_living_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
