/* Where values come from, and who wins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "config/params.h"

enum { WORDS_MAX = 8 };

struct input {
    const char *flags[WORDS_MAX];
    const char *environment[WORDS_MAX];
    const char *file; /* its contents; NULL: there is none */
};

static char file_path[] = "/tmp/cellblock-config-XXXXXX";

static void write_file(const char *contents) {
    strcpy(file_path + sizeof file_path - 7, "XXXXXX");
    int fd = mkstemp(file_path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, contents, strlen(contents)), strlen(contents));
    close(fd);
}

static int load(const struct input *input, struct params *ret_params, struct err *err) {
    char *argv[WORDS_MAX + 4] = {"serve"}, *environment[WORDS_MAX + 1] = {"PATH=/bin"};
    int argc = 1, r;
    for (int i = 0; i < WORDS_MAX && input->flags[i]; i++)
        argv[argc++] = (char *)input->flags[i];
    for (int i = 0; i < WORDS_MAX - 1 && input->environment[i]; i++)
        environment[i + 1] = (char *)input->environment[i];
    if (input->file) {
        write_file(input->file);
        argv[argc++] = "--config";
        argv[argc++] = file_path;
    }
    r = params_load(argc, argv, environment, ret_params, err);
    if (input->file)
        unlink(file_path);
    return r;
}

static void knows_its_defaults(void **state) {
    (void)state;
    struct params params;
    struct err err;
    assert_int_equal(load(&(struct input){0}, &params, &err), 0);
    assert_int_equal(params.listen.count, 1);
    assert_string_equal(params.listen.items[0], "127.0.0.1:8888");
    assert_int_equal(params.socket_mode, 0660);
    assert_int_equal(params.socket_users.count, 0);
    assert_string_equal(params.token, "");
    assert_string_equal(params.config, "");
    assert_false(params.no_token);
    assert_int_equal(params.max_kernels, 300);
    assert_int_equal(params.kernels.count, 0);
    assert_int_equal(params.launch_timeout_ms, 40000);
    assert_int_equal(params.memory_bytes, 512 << 20);
    assert_int_equal(params.cpus_milli, 0);
    assert_int_equal(params.max_memory_bytes, 512 << 20);
    assert_int_equal(params.max_cpus_milli, 0);
    assert_int_equal(params.data.count, 0);
    params_finish(&params);
    assert_int_equal(mem_live(), 0);
}

static void settles_the_longest_idle_time(void **state) {
    (void)state;
    static const struct {
        const char *value, *most;
        int64_t settled_h;
    } rows[] = {
        {"1 h", "0", 24}, {"24 h", "0", 24}, {"25 h", "0", 25},
        {"0", "0", 8760}, {"0", "2 h", 2},   {"1 h", "1 h", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct params params;
        struct err err;
        const struct input input = {.flags = {"--cull-idle-timeout-ms", rows[i].value,
                                              "--max-cull-idle-timeout-ms", rows[i].most}};
        assert_int_equal(load(&input, &params, &err), 0);
        assert_int_equal(params.max_cull_idle_timeout_ms, rows[i].settled_h * 3600000);
        params_finish(&params);
    }
}

static void a_base_stands_before_any_path(void **state) {
    (void)state;
    static const struct {
        const char *given, *settled; /* NULL: refused */
    } rows[] = {
        {"/", ""},           {"/lab/x-1.y_z~", "/lab/x-1.y_z~"},
        {"/lab/", "/lab"},   {"", ""},
        {"lab", NULL},       {"/a//b", NULL},
        {"//", NULL},        {"/a b", NULL},
        {"/a%20", NULL},     {"/a?b", NULL},
        {"/\xc3\xa9", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct params params;
        struct err err;
        const struct input input = {.flags = {"--base-url", rows[i].given}};
        assert_int_equal(load(&input, &params, &err), rows[i].settled ? 0 : -EINVAL);
        if (!rows[i].settled) {
            assert_non_null(strstr(err.text, "base_url: "));
            continue;
        }
        assert_string_equal(params.base_url, rows[i].settled);
        params_finish(&params);
    }
}

static void later_sources_win(void **state) {
    (void)state;
    struct params params;
    struct err err;
    struct input input = {
        .file = "# comment\nmax_kernels = 5\npids=100\nlaunch_timeout_ms = 7 s ; note\n"
                "kernels = /file/a\n  /file/b\nkernels = /file/c\n\nallowed_envs = A,B\n"
                "allow_origin = HTTPS://Lab.example.org:8443,vscode-webview://x,*\n",
        .environment = {"CELLBLOCK_PIDS=101", "CELLBLOCK_KERNELS=/env/a:/env/b",
                        "CELLBLOCK_OPEN_FILES=2000", "CELLBLOCK_NO_TOKEN=1"},
        .flags = {"--open-files", "3000", "--kernels=/flag/a", "--kernels", "/flag/b"},
    };
    assert_int_equal(load(&input, &params, &err), 0);
    assert_int_equal(params.max_kernels, 5);
    assert_int_equal(params.launch_timeout_ms, 7000);
    assert_int_equal(params.pids, 101);
    assert_int_equal(params.open_files, 3000);
    assert_true(params.no_token);
    assert_int_equal(params.kernels.count, 2);
    assert_string_equal(params.kernels.items[0], "/flag/a");
    assert_string_equal(params.kernels.items[1], "/flag/b");
    assert_int_equal(params.allowed_envs.count, 2);
    assert_string_equal(params.allowed_envs.items[1], "B");
    assert_int_equal(params.allow_origin.count, 3);
    assert_string_equal(params.allow_origin.items[0], "https://lab.example.org:8443");
    assert_string_equal(params.allow_origin.items[2], "*");
    assert_string_equal(params.config, file_path);
    params_finish(&params);
    input.flags[2] = NULL;
    assert_int_equal(load(&input, &params, &err), 0);
    assert_int_equal(params.kernels.count, 2);
    assert_string_equal(params.kernels.items[1], "/env/b");
    params_finish(&params);
    input.environment[1] = NULL;
    assert_int_equal(load(&input, &params, &err), 0);
    assert_int_equal(params.kernels.count, 3);
    assert_string_equal(params.kernels.items[1], "/file/b");
    params_finish(&params);
    assert_int_equal(mem_live(), 0);
}

static void a_maximum_that_is_not_given_is_the_default(void **state) {
    (void)state;
    struct params params;
    struct err err;
    struct input input = {.file = "memory_bytes = 1 GiB\npids = 300\n",
                          .flags = {"--max-pids", "1000", "--max-cpus-milli", "1500"}};
    assert_int_equal(load(&input, &params, &err), 0);
    assert_int_equal(params.max_memory_bytes, 1 << 30);
    assert_int_equal(params.pids, 300);
    assert_int_equal(params.max_pids, 1000);
    assert_int_equal(params.cpus_milli, 1500); /* no longer all there is */
    assert_int_equal(params.max_cpus_milli, 1500);
    params_finish(&params);
}

static void reads_data_folders(void **state) {
    (void)state;
    struct params params;
    struct err err;
    struct input input = {.file = "data = sets=/srv/my sets\ndata = b-1_.c=/x=y:d=/z\n"};
    assert_int_equal(load(&input, &params, &err), 0);
    assert_int_equal(params.data.count, 3);
    assert_string_equal(params.data.items[0], "sets=/srv/my sets");
    assert_string_equal(params.data.items[1], "b-1_.c=/x=y");
    assert_string_equal(params.data.items[2], "d=/z");
    params_finish(&params);
    input.flags[0] = "--data=sets=relative";
    assert_int_equal(load(&input, &params, &err), 0);
    assert_int_equal(params.data.count, 1);
    assert_memory_equal(params.data.items[0], "sets=/", 6);
    params_finish(&params);
    assert_int_equal(mem_live(), 0);
}

/* One more than there are bits in a mask. */
static void refuses_too_many_data_folders(void **state) {
    (void)state;
    struct text value = {0};
    for (int i = 0; i <= PARAMS_DATA_MAX; i++)
        text_append_format(&value, "%sd%d=/x", i ? ":" : "", i);
    struct params params;
    struct err err;
    struct input input = {.flags = {"--data", value.data}};
    assert_int_equal(load(&input, &params, &err), -EINVAL);
    assert_string_equal(err.text, "data: 65 folders are more than the 64 there may be");
    text_finish(&value);
}

static void the_environment_may_name_the_file(void **state) {
    (void)state;
    write_file("\xef\xbb\xbfmax_kernels: 7\r\nconfused = no");
    char variable[80];
    snprintf(variable, sizeof variable, "CELLBLOCK_CONFIG=%s", file_path);
    char *argv[] = {"serve", NULL}, *environment[] = {variable, NULL};
    struct params params;
    struct err err;
    assert_int_equal(params_load(1, argv, environment, &params, &err), -EINVAL);
    assert_non_null(strstr(err.text, ", line 2: there is no parameter confused"));
    unlink(file_path);
    assert_int_equal(params_load(1, argv, environment, &params, &err), -ENOENT);
    assert_non_null(strstr(err.text, "No such file"));
    assert_int_equal(mem_live(), 0);
}

static void paths_become_absolute(void **state) {
    (void)state;
    struct params params;
    struct err err;
    assert_int_equal(chdir("/usr"), 0);
    struct input input = {.flags = {"--kernels", "share/a:/b:", "--python=lib"}};
    assert_int_equal(load(&input, &params, &err), 0);
    assert_int_equal(params.kernels.count, 2);
    assert_string_equal(params.kernels.items[0], "/usr/share/a");
    assert_string_equal(params.kernels.items[1], "/b");
    assert_string_equal(params.python, "/usr/lib");
    params_finish(&params);
}

static void asks_for_help_or_version(void **state) {
    (void)state;
    struct params params;
    struct err err;
    assert_int_equal(load(&(struct input){.flags = {"--max-kernels=3", "--help"}}, &params, &err),
                     PARAMS_HELP);
    assert_int_equal(load(&(struct input){.flags = {"-h"}}, &params, &err), PARAMS_HELP);
    assert_int_equal(load(&(struct input){.flags = {"--version"}}, &params, &err), PARAMS_VERSION);
    assert_int_equal(mem_live(), 0);
}

/* Each ends with one sentence that says what is wrong, where, and what would be right. */
static const struct {
    struct input input;
    const char *sentence; /* a part of it */
} refusals[] = {
    {{.flags = {"--max-kernel", "3"}}, "no flag --max-kernel, did you mean --max-kernels?"},
    {{.flags = {"--max_kernels=3"}}, "no flag --max_kernels, did you mean --max-kernels?"},
    {{.flags = {"--frobnicate"}}, "no flag --frobnicate (--help lists them)"},
    {{.flags = {"--"}}, "unexpected argument \"--\""},
    {{.flags = {"-x"}}, "unexpected argument \"-x\""},
    {{.flags = {"notebook.ipynb"}}, "unexpected argument \"notebook.ipynb\""},
    {{.flags = {"--max-kernels"}}, "--max-kernels needs a value: --max-kernels=N"},
    {{.flags = {"--token", "--no-token"}}, "--token needs a value: --token=SECRET"},
    {{.flags = {"--no-token=yes"}}, "--no-token takes no value"},
    {{.flags = {"--max-kernels=0"}}, "--max-kernels: \"0\" is not a number from 1 to 4096"},
    {{.flags = {"--max-kernels=4097"}}, "is not a number from 1 to 4096"},
    {{.flags = {"--max-kernels=-1"}}, "\"-1\" is not a number"},
    {{.flags = {"--max-kernels="}}, "\"\" is not a number"},
    {{.flags = {"--max-kernels=5 MiB"}}, "\"5 MiB\" is not a number"},
    {{.flags = {"--max-kernels=99999999999999999999"}}, "is not a number from 1"},
    {{.flags = {"--memory-bytes=1MiB"}},
     "--memory-bytes: \"1MiB\" is not a size from 64 MiB to 1024 GiB"},
    {{.flags = {"--memory-bytes=20000000000GiB"}}, "is not a size"},
    {{.flags = {"--memory-bytes=512MB"}}, "\"512MB\" is not a size"},
    {{.flags = {"--grace-ms=5m"}}, "--grace-ms: \"5m\" is not a time from 0 ms to 10 min"},
    {{.flags = {"--listen=8888"}}, "\"8888\" is not HOST:PORT"},
    {{.flags = {"--listen=example.org:80"}}, "is not HOST:PORT with a numeric host"},
    {{.flags = {"--listen=::1:80"}}, "IPv6 in brackets"},
    {{.flags = {"--listen="}}, "listen: there is no address"},
    {{.flags = {"--listen=[::1]:1,:2"}}, "\":2\" is not HOST:PORT"},
    {{.flags = {"--listen=127.0.0.1:1,127.0.0.1:2,127.0.0.1:3,127.0.0.1:4,127.0.0.1:5,"
                "127.0.0.1:6,127.0.0.1:7,127.0.0.1:8,127.0.0.1:9"}},
     "9 addresses are more than the 8"},
    {{.flags = {"--socket-mode=680"}}, "\"680\" is no mode in octal digits"},
    {{.flags = {"--socket-mode=1777"}}, "is no mode in octal digits from 0 to 777"},
    {{.flags = {"--socket-users=nobody-at-all"}}, "there is no user \"nobody-at-all\""},
    {{.flags = {"--socket-users=4294967295"}}, "is no number of a user"},
    {{.flags = {"--keyfile=/k"}}, "keyfile: it needs a certfile"},
    {{.flags = {"--client-ca=/k"}}, "client_ca: it needs a certfile"},
    {{.flags = {"--certfile=/k", "--require-client-cert"}}, "it needs a client_ca"},
    {{.flags = {"--listen=[::1:80"}}, "is not HOST:PORT"},
    {{.flags = {"--listen=[127.0.0.1]:80"}}, "is not HOST:PORT"},
    {{.flags = {"--listen=127.0.0.1:65536"}}, "\"65536\" is not a port from 0 to 65535"},
    {{.flags = {"--listen=127.0.0.1:"}}, "\"\" is not a port"},
    {{.flags = {"--token=a b"}}, "--token: it may hold letters, digits"},
    {{.flags = {"--token=a'b"}}, "--token: it may hold letters, digits"},
    {{.flags = {"--allow-origin=http://a\r\nX: y"}},
     "--allow-origin: it holds a control character"},
    {{.flags = {"--default-kernel=a\nb"}}, "--default-kernel: it holds a control character"},
    {{.flags = {"--allow-origin=*,lab.example.org"}},
     "--allow-origin: \"lab.example.org\" is neither * nor like https://lab.example.org:8443"},
    {{.flags = {"--allow-origin=https://a/"}}, "\"https://a/\" is neither"},
    {{.flags = {"--allow-origin=https://"}}, "\"https://\" is neither"},
    {{.flags = {"--allow-origin=://a"}}, "\"://a\" is neither"},
    {{.flags = {"--allow-origin=https://*.example.org"}}, "is neither"},
    {{.flags = {"--allow-origin=https://caf\xc3\xa9"}}, "is neither"},
    {{.flags = {"--allow-origin=http://a b"}}, "\"http://a b\" is neither"},
    {{.flags = {"--default-kernel="}}, "--default-kernel: it may not be empty"},
    {{.flags = {"--allowed-envs=A,1B"}}, "--allowed-envs: \"1B\" is no name of a variable"},
    {{.flags = {"--allowed-envs=A=B"}}, "\"A=B\" is no name"},
    {{.flags = {"--no-token", "--token=x"}}, "token and no_token exclude each other"},
    {{.flags = {"--uid-count=300"}}, "300 user ids are too few for the gateway and the 300 of"},
    {{.environment = {"CELLBLOCK_PIDS=x"}}, "CELLBLOCK_PIDS: \"x\" is not a number"},
    {{.environment = {"CELLBLOCK_TOKN=x"}},
     "no parameter CELLBLOCK_TOKN, did you mean CELLBLOCK_TOKEN?"},
    {{.environment = {"CELLBLOCK_pids=100"}}, "did you mean CELLBLOCK_PIDS?"},
    {{.environment = {"CELLBLOCK_NO_TOKEN=maybe"}}, "\"maybe\" is neither true nor false"},
    {{.file = "pids = x"}, ", line 1: pids: \"x\" is not a number"},
    {{.file = "\n\nmax_kernel = 3"},
     ", line 3: there is no parameter max_kernel, did you mean "
     "max_kernels?"},
    {{.file = "MAX_KERNELS = 3"}, "did you mean max_kernels?"},
    {{.file = "pids = 100\npids = 101"}, ", line 2: pids: given twice"},
    {{.file = "pids = 100\n  grace_ms = 5"}, ", line 2: pids: given twice"},
    {{.file = "config = /etc/other"}, "config: a configuration file cannot name another"},
    {{.file = "[data]\nsets = /srv/sets"}, ", line 2: [data]: there are no sections; write data ="},
    {{.flags = {"--data", "/srv/sets"}}, "--data: \"/srv/sets\" is not NAME=/host/folder"},
    {{.flags = {"--data", "a/b=/srv"}}, "is not NAME=/host/folder"},
    {{.flags = {"--data", ".a=/srv"}}, "is not NAME=/host/folder"},
    {{.flags = {"--data", "=/srv"}}, "is not NAME=/host/folder"},
    {{.flags = {"--data", "a="}}, "--data: it may not be empty"},
    {{.flags = {"--data", "a=/x", "--data", "a=/y"}}, "data: a is given twice"},
    {{.flags = {"--max-pids", "100"}}, "pids: 256 are more than the 100 of max_pids"},
    {{.flags = {"--max-cull-idle-timeout-ms=30 min"}},
     "cull_idle_timeout_ms: 1 h are more than the 30 min of max_cull_idle_timeout_ms"},
    {{.flags = {"--memory-bytes", "2 GiB", "--max-memory-bytes", "1 GiB"}},
     "memory_bytes: 2 GiB are more than the 1 GiB of max_memory_bytes"},
    {{.file = "[serve]\npids = 100"}, "[serve]: there is no such section"},
    {{.file = "pids = 100\npids\npids = 101"}, ", line 2: the line is not NAME = VALUE"},
    {{.file = "pids = 100\n[data"}, ", line 2: the line is not NAME = VALUE"},
};

static void refuses_with_one_true_sentence(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        struct params untouched, params;
        struct err err = {0};
        memset(&untouched, 0x5a, sizeof untouched);
        params = untouched;
        int r = load(&refusals[i].input, &params, &err);
        if (r != -EINVAL || !strstr(err.text, refusals[i].sentence))
            fail_msg("row %zu: %d \"%s\" lacks \"%s\"", i, r, err.text, refusals[i].sentence);
        assert_memory_equal(&params, &untouched, sizeof params);
        assert_int_equal(mem_live(), 0);
    }
}

static void leaves_foreign_variables_alone(void **state) {
    (void)state;
    struct params params;
    struct err err;
    struct input input = {.environment = {"CELLBLOCK_PORT=tcp://10.0.0.1:80",
                                          "CELLBLOCK_SERVICE_HOST=10.0.0.1", "CELLBLOCK_PORT",
                                          "CELLBLOCK_PLANT=warden", "CELLBLOCK_PROBE=1",
                                          "CELLBLOCK_PATH=/opt", "CELLBLOCK_="}};
    assert_int_equal(load(&input, &params, &err), 0);
    params_finish(&params);
}

static void never_shows_a_secret(void **state) {
    (void)state;
    struct params params;
    struct err err;
    char flag[400] = "--token=hunter2";
    memset(flag + strlen(flag), 'x', 300);
    assert_int_equal(load(&(struct input){.flags = {flag}}, &params, &err), -EINVAL);
    assert_null(strstr(err.text, "hunter2"));
    assert_non_null(strstr(err.text, "307 bytes are more than the 256 allowed"));
}

static void refuses_files_that_are_none(void **state) {
    (void)state;
    struct params params;
    struct err err;
    assert_int_equal(load(&(struct input){.flags = {"--config=/"}}, &params, &err), -EISDIR);
    assert_string_equal(err.text, "read /: Is a directory");
    assert_int_equal(load(&(struct input){.flags = {"--config=/dev/zero"}}, &params, &err), -EFBIG);
    static char line[300];
    memset(line, 'x', sizeof line - 1);
    memcpy(line, "python = /", 10);
    assert_int_equal(load(&(struct input){.file = line}, &params, &err), -EINVAL);
    assert_non_null(strstr(err.text, ", line 1: the line is longer than 198 bytes"));
    assert_int_equal(mem_live(), 0);
}

static void makes_a_token_where_one_is_wanted(void **state) {
    (void)state;
    struct params params, other;
    struct err err;
    assert_int_equal(load(&(struct input){0}, &params, &err), 0);
    assert_int_equal(load(&(struct input){0}, &other, &err), 0);
    assert_true(params_make_token(&params));
    assert_true(params_make_token(&other));
    assert_int_equal(strlen(params.token), 48);
    assert_int_equal(strspn(params.token, "0123456789abcdef"), 48);
    assert_string_not_equal(params.token, other.token);
    assert_false(params_make_token(&params));
    params_finish(&params);
    params_finish(&other);
    assert_int_equal(load(&(struct input){.flags = {"--no-token"}}, &params, &err), 0);
    assert_false(params_make_token(&params));
    params_finish(&params);
    assert_int_equal(mem_live(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_its_defaults),
        cmocka_unit_test(settles_the_longest_idle_time),
        cmocka_unit_test(a_base_stands_before_any_path),
        cmocka_unit_test(later_sources_win),
        cmocka_unit_test(a_maximum_that_is_not_given_is_the_default),
        cmocka_unit_test(reads_data_folders),
        cmocka_unit_test(refuses_too_many_data_folders),
        cmocka_unit_test(the_environment_may_name_the_file),
        cmocka_unit_test(paths_become_absolute),
        cmocka_unit_test(asks_for_help_or_version),
        cmocka_unit_test(refuses_with_one_true_sentence),
        cmocka_unit_test(leaves_foreign_variables_alone),
        cmocka_unit_test(never_shows_a_secret),
        cmocka_unit_test(refuses_files_that_are_none),
        cmocka_unit_test(makes_a_token_where_one_is_wanted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
