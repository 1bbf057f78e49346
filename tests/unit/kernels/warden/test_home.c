#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "warden/home.h"

static char top[] = "/tmp/test-home.XXXXXX";
static char home[64];
static int workspace_fd;

/* format takes the skeleton's path, then the name. */
__attribute__((format(printf, 1, 0))) static void make(const char *format, const char *name) {
    char command[256];
    snprintf(command, sizeof command, format, home, name);
    assert_int_equal(system(command), 0);
}

static int set_up(void **state) {
    (void)state;
    strcpy(strrchr(top, '.'), ".XXXXXX");
    if (!mkdtemp(top))
        return -1;
    snprintf(home, sizeof home, "%s/share/cellblock/home", top);
    make("mkdir -p %s %s/workspace", top);
    char path[64];
    snprintf(path, sizeof path, "%s/workspace", top);
    workspace_fd = open(path, O_PATH | O_DIRECTORY);
    return workspace_fd < 0;
}

static int tear_down(void **state) {
    (void)state;
    char command[64];
    close(workspace_fd);
    snprintf(command, sizeof command, "rm -r %s", top);
    return system(command);
}

static int fill(struct err *err) {
    return home_fill(workspace_fd, top, getuid(), err);
}

static bool has(const char *name) {
    return faccessat(workspace_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void copies_files_and_folders(void **state) {
    (void)state;
    struct err err;
    make("mkdir -p %s/.config/%s", "deep");
    make("echo content >%s/.config/deep/%s", "file");
    assert_int_equal(fill(&err), 0);
    char content[16] = "";
    int fd = openat(workspace_fd, ".config/deep/file", O_RDONLY);
    assert_true(read(fd, content, sizeof content) == 8);
    close(fd);
    assert_string_equal(content, "content\n");
}

static void needs_no_skeleton(void **state) {
    (void)state;
    struct err err;
    assert_int_equal(home_fill(workspace_fd, "", 0, &err), 0);
    assert_int_equal(home_fill(workspace_fd, "/no/such", 0, &err), 0);
}

static void follows_no_link(void **state) {
    (void)state;
    struct err err;
    make("ln -s /etc/passwd %s/%s", "file");
    make("ln -s /etc %s/%s", "folder");
    make("mkfifo %s/%s", "pipe");
    assert_int_equal(fill(&err), 0);
    assert_false(has("file") || has("folder") || has("pipe"));
}

/* A second name of a file that is root's, in a skeleton that is not. */
static void copies_nothing_of_others(void **state) {
    (void)state;
    struct err err;
    if (getuid() != 0)
        skip();
    make("touch %s/%s", "file");
    assert_int_equal(chown(home, 12345, 12345), 0);
    assert_int_equal(fill(&err), 0);
    assert_false(has("file"));
}

static void refuses_what_is_too_much(void **state) {
    (void)state;
    static const struct {
        const char *command, *name;
        int code;
        const char *sentence;
    } rows[] = {
        {"truncate -s 2M %s/%s", "large", EFBIG, "large: more than 1048576 bytes"},
        {"cd %s && rm * && seq 100 | xargs touch %s", "one", EFBIG, "more than 64 files"},
        {"cd %s && rm * && mkdir -p %s", "1/2/3/4/5/6/7/8/9", ELOOP, "9: more than 8 folders"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct err err;
        make("rm -rf %s/../../../workspace/%s*", "");
        make(rows[i].command, rows[i].name);
        assert_int_equal(fill(&err), -rows[i].code);
        assert_non_null(strstr(err.text, rows[i].sentence));
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(copies_files_and_folders), TEST(needs_no_skeleton),        TEST(follows_no_link),
        TEST(copies_nothing_of_others), TEST(refuses_what_is_too_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
