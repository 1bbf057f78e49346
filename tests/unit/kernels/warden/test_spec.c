/* Kernelspecs in made-up folders: what is run, and which trees of the host a jail would show. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "warden/spec.h"
#include "warden/trees_shown.h"

static char top[] = "/var/tmp/test_spec.XXXXXX";

static int set_up(void **state) {
    (void)state;
    return mkdtemp(top) ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", top);
    return system(command);
}

/* A command in the made-up top folder. */
static void shell(const char *command) {
    char line[2048];
    snprintf(line, sizeof line, "set -e; cd %s; %s", top, command);
    assert_int_equal(system(line), 0);
}

static char *in_top(const char *path) {
    static char paths[8][PATH_MAX];
    static int next;
    char *result = paths[next++ % 8];
    snprintf(result, PATH_MAX, "%s%s", top, path);
    return result;
}

static struct spec read_spec(const char *folder) {
    struct spec spec = {0};
    struct err err = {0};
    if (spec_read("name", in_top(folder), &spec, &err) < 0)
        fail_msg("%s", err.text);
    return spec;
}

static void expect_trees(const struct spec *spec, const char *const *expected) {
    size_t count = 0;
    for (; expected[count]; count++)
        if (!strings_has(&spec->trees.paths, in_top(expected[count])))
            fail_msg("%s is not shown", expected[count]);
    assert_int_equal(spec->trees.paths.count, count);
    assert_int_equal(spec->trees.sources.count, count);
}

static void shows_a_venv_and_its_base(void **state) {
    (void)state;
    shell("mkdir -p venv/bin venv/share/jupyter/kernels/python3 base/bin base/lib/python3.12;"
          "touch base/lib/python3.12/os.py base/bin/python3.12; chmod +x base/bin/python3.12;"
          "ln -s python3.12 base/bin/python3; ln -s ../../base/bin/python3 venv/bin/python;"
          "echo 'include-system-site-packages = false' > venv/pyvenv.cfg;"
          "echo \"home = $PWD/base/bin\" >> venv/pyvenv.cfg;"
          "echo '{\"argv\": [\"python\", \"-m\", \"x\", \"-f\", \"{connection_file}\"]}' >"
          " venv/share/jupyter/kernels/python3/kernel.json");
    struct spec spec = read_spec("/venv/share/jupyter/kernels/python3");
    assert_string_equal(spec.argv.items[0], in_top("/venv/bin/python"));
    assert_string_equal(spec.bin, in_top("/venv/bin"));
    assert_string_equal(spec.prefix, in_top("/venv"));
    /* The kernelspec's own folder lies in the venv, but it was there first. */
    expect_trees(&spec,
                 (const char *[]){"/venv/share/jupyter/kernels/python3", "/venv", "/base", NULL});
    spec_finish(&spec);
}

/* A bare word, and {prefix}, mean the environment in which the kernelspec really lies. */
static void follows_a_link_to_a_kernelspec(void **state) {
    (void)state;
    shell("mkdir -p far/bin far/lib/python3.11 far/share/jupyter/kernels/it "
          "all/share/jupyter/kernels;"
          "touch far/lib/python3.11/os.py far/bin/python3.11; chmod +x far/bin/python3.11;"
          "echo '{\"argv\": [\"python3.11\", \"{prefix}\", \"{resource_dir}/x\"]}' >"
          " far/share/jupyter/kernels/it/kernel.json;"
          "ln -s $PWD/far/share/jupyter/kernels/it all/share/jupyter/kernels/it");
    struct spec spec = read_spec("/all/share/jupyter/kernels/it");
    struct strings argv = {0};
    spec_fill_argv(&spec, &argv);
    assert_string_equal(argv.items[0], in_top("/far/bin/python3.11"));
    assert_string_equal(argv.items[1], in_top("/far"));
    assert_string_equal(argv.items[2], in_top("/all/share/jupyter/kernels/it/x"));
    assert_true(strings_has(&spec.trees.paths, in_top("/all/share/jupyter/kernels/it")));
    assert_true(strings_has(&spec.trees.paths, in_top("/far")));
    strings_finish(&argv);
    spec_finish(&spec);
}

static void takes_a_transport(void **state) {
    (void)state;
    static const struct {
        const char *metadata;
        enum rpc_transport transport;
    } rows[] = {
        {"{}", RPC_TRANSPORT_IPC},
        {"{\"cellblock\": {}}", RPC_TRANSPORT_IPC},
        {"{\"cellblock\": {\"transport\": \"ipc\"}}", RPC_TRANSPORT_IPC},
        {"{\"cellblock\": {\"transport\": \"tcp\"}}", RPC_TRANSPORT_TCP},
        {"{\"transport\": \"tcp\"}", RPC_TRANSPORT_IPC},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char command[512];
        snprintf(command, sizeof command,
                 "mkdir -p kernels/way; echo '{\"argv\": [\"sh\"], \"metadata\": %s}' >"
                 " kernels/way/kernel.json",
                 rows[i].metadata);
        shell(command);
        struct spec spec = read_spec("/kernels/way");
        assert_int_equal(spec.transport, rows[i].transport);
        spec_finish(&spec);
    }
}

static void shows_a_python_that_is_no_venv(void **state) {
    (void)state;
    shell("mkdir -p conda/bin conda/lib/python3.11 kernels/conda;"
          "touch conda/lib/python3.11/os.py conda/bin/python; chmod +x conda/bin/python;"
          "echo \"{\\\"argv\\\": [\\\"$PWD/conda/bin/python\\\"]}\" > kernels/conda/kernel.json");
    struct spec spec = read_spec("/kernels/conda");
    assert_string_equal(spec.bin, in_top("/conda/bin"));
    assert_string_equal(spec.prefix, "");
    expect_trees(&spec, (const char *[]){"/kernels/conda", "/conda", NULL});
    spec_finish(&spec);
}

/* What a pattern of glob(3) would take for one, and whose pyvenv.cfg is a pipe without an end. */
static void finds_a_python_in_an_odd_place(void **state) {
    (void)state;
    shell("mkdir -p 'py[1]/bin' 'py[1]/lib/python3.11' kernels/odd; mkfifo 'py[1]/pyvenv.cfg';"
          "touch 'py[1]/lib/python3.11/os.py' 'py[1]/bin/python'; chmod +x 'py[1]/bin/python';"
          "echo \"{\\\"argv\\\": [\\\"$PWD/py[1]/bin/python\\\"]}\" > kernels/odd/kernel.json");
    struct spec spec = read_spec("/kernels/odd");
    assert_string_equal(spec.bin, in_top("/py[1]/bin"));
    expect_trees(&spec, (const char *[]){"/kernels/odd", "/py[1]", NULL});
    spec_finish(&spec);
}

static void shows_where_links_lead(void **state) {
    (void)state;
    shell(
        "mkdir -p v1/bin v1/lib/python3.11 kernels/linked; touch v1/lib/python3.11/os.py;"
        "touch v1/bin/python; chmod +x v1/bin/python; ln -s v1 current;"
        "echo \"{\\\"argv\\\": [\\\"$PWD/current/bin/python\\\"]}\" > kernels/linked/kernel.json");
    struct spec spec = read_spec("/kernels/linked");
    expect_trees(&spec, (const char *[]){"/kernels/linked", "/current", "/v1", NULL});
    assert_string_equal(spec.trees.sources.items[1], in_top("/v1"));
    spec_finish(&spec);
}

static void shows_any_other_program_alone(void **state) {
    (void)state;
    shell("mkdir -p build kernels/own; touch build/kernel; chmod +x build/kernel;"
          "echo \"{\\\"argv\\\": [\\\"$PWD/build/kernel\\\"]}\" > kernels/own/kernel.json");
    struct spec spec = read_spec("/kernels/own");
    assert_string_equal(spec.bin, "");
    expect_trees(&spec, (const char *[]){"/kernels/own", "/build/kernel", NULL});
    spec_finish(&spec);
}

static void needs_no_word_for_what_lies_under_usr(void **state) {
    (void)state;
    shell("mkdir -p kernels/system kernels/bare kernels/missing;"
          "echo '{\"argv\": [\"/bin/sh\"]}' > kernels/system/kernel.json;"
          "echo '{\"argv\": [\"env\"]}' > kernels/bare/kernel.json;"
          "echo '{\"argv\": [\"no-such-program\"]}' > kernels/missing/kernel.json");
    struct spec spec = read_spec("/kernels/system");
    expect_trees(&spec, (const char *[]){"/kernels/system", NULL});
    assert_string_equal(spec.argv.items[0], "/bin/sh");
    spec_finish(&spec);
    spec = read_spec("/kernels/bare");
    expect_trees(&spec, (const char *[]){"/kernels/bare", NULL});
    assert_string_equal(spec.argv.items[0], "/usr/bin/env");
    spec_finish(&spec);
    spec = read_spec("/kernels/missing"); /* running it will say so */
    assert_string_equal(spec.argv.items[0], "no-such-program");
    spec_finish(&spec);
}

static void shows_trees_that_a_kernelspec_names(void **state) {
    (void)state;
    shell("mkdir -p data/sub kernels/named;"
          "echo \"{\\\"argv\\\": [\\\"/bin/sh\\\"], \\\"metadata\\\": {\\\"cellblock\\\":"
          " {\\\"trees\\\": [\\\"$PWD//data/./\\\", \\\"$PWD/data/sub\\\"]}}}\""
          " > kernels/named/kernel.json");
    struct spec spec = read_spec("/kernels/named");
    expect_trees(&spec, (const char *[]){"/kernels/named", "/data", NULL});
    spec_finish(&spec);
}

static void refuses_trees_that_are_nobodys_business(void **state) {
    (void)state;
    setenv("HOME", "/srv/people/me", 1);
    static const struct {
        const char *path;
        int code;
    } rows[] = {
        {"/", EPERM},          {"//", EPERM},
        {"/./", EPERM},        {"/root", EPERM},
        {"/home", EPERM},      {"/etc", EPERM},
        {"/var", EPERM},       {"/proc", EPERM},
        {"/proc/self", EPERM}, {"/dev/shm", EPERM},
        {"/sys", EPERM},       {"/run", EPERM},
        {"/usr/..", EINVAL},   {"/does/not/exist", ENOENT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct trees_shown trees = {0};
        struct err err = {0};
        if (trees_shown_add(&trees, rows[i].path, &err) != -rows[i].code)
            fail_msg("%s: %s", rows[i].path, err.text);
        assert_int_equal(trees.paths.count, 0);
    }
    /* By a link too. */
    struct trees_shown trees = {0};
    struct err err = {0};
    shell("ln -s /root linked-home; ln -s / linked-root");
    assert_int_equal(trees_shown_add(&trees, in_top("/linked-root"), &err), -EPERM);
    assert_int_equal(trees_shown_add(&trees, in_top("/linked-home"), &err), -EPERM);
    trees_shown_finish(&trees);
    setenv("HOME", in_top("/folk/me"), 1);
    shell("mkdir -p folk/me/.local/env");
    trees = (struct trees_shown){0};
    assert_int_equal(trees_shown_add(&trees, in_top("/folk/me"), &err), -EPERM);
    assert_int_equal(trees_shown_add(&trees, in_top("/folk"), &err), -EPERM);
    assert_int_equal(trees_shown_add(&trees, in_top("/folk/me/.local/env"), &err), 0);
    assert_int_equal(trees.paths.count, 1);
    trees_shown_finish(&trees);
    unsetenv("HOME");
}

static void refuses_broken_kernelspecs(void **state) {
    (void)state;
    static const struct {
        const char *json, *sentence;
    } rows[] = {
        {"{", "line 1"},
        {"[]", "argv is no list"},
        {"{\"argv\": []}", "argv is no list"},
        {"{\"argv\": \"sh\"}", "argv is no list"},
        {"{\"argv\": [\"\"]}", "argv[0] is no text"},
        {"{\"argv\": [\"sh\", 3]}", "argv[1] is no text"},
        {"{\"argv\": [\"sh\", \"a\\\\u0000b\"]}", "line 1"},
        {"{\"argv\": [\"sh\"], \"env\": []}", "env is no object"},
        {"{\"argv\": [\"sh\"], \"env\": {\"A\": 1}}", "env.A is no text"},
        {"{\"argv\": [\"sh\"], \"env\": {\"A=B\": \"1\"}}", "env.A=B is no text"},
        {"{\"argv\": [\"sh\"], \"metadata\": {\"cellblock\": {\"trees\": 1}}}", "trees is no list"},
        {"{\"argv\": [\"sh\"], \"metadata\": {\"cellblock\": {\"trees\": [\"x\"]}}}",
         "trees[0] is no absolute path"},
        {"{\"argv\": [\"sh\"], \"metadata\": {\"cellblock\": {\"transport\": \"udp\"}}}",
         "transport is neither"},
        {"{\"argv\": [\"sh\"], \"metadata\": {\"cellblock\": {\"transport\": [\"tcp\"]}}}",
         "transport is neither"},
        {"{\"argv\": [\"sh\"], \"metadata\": {\"cellblock\": {\"trees\": [\"/\"]}}}",
         "/ is never shown"},
    };
    shell("mkdir -p kernels/broken");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char command[512];
        struct spec spec;
        struct err err = {0};
        snprintf(command, sizeof command, "printf '%s' > kernels/broken/kernel.json", rows[i].json);
        shell(command);
        int64_t before = mem_live();
        assert_true(spec_read("broken", in_top("/kernels/broken"), &spec, &err) < 0);
        if (!strstr(err.text, rows[i].sentence))
            fail_msg("%s: %s", rows[i].json, err.text);
        assert_int_equal(mem_live(), before);
    }
    shell("rm kernels/broken/kernel.json; mkfifo kernels/broken/kernel.json");
    struct spec spec;
    struct err err;
    assert_int_equal(spec_read("broken", in_top("/kernels/broken"), &spec, &err), -EINVAL);
    shell("rm kernels/broken/kernel.json; (printf '{\"argv\": [\"'; head -c 1100000 /dev/zero |"
          " tr '\\0' x; printf '\"]}') > kernels/broken/kernel.json");
    assert_int_equal(spec_read("broken", in_top("/kernels/broken"), &spec, &err), -EFBIG);
}

static void write_many(const char *before, const char *item, int count, const char *after) {
    FILE *file = fopen(in_top("/kernels/many/kernel.json"), "we");
    assert_non_null(file);
    fputs(before, file);
    for (int i = 0; i < count; i++) {
        fputs(i ? "," : "", file);
        fprintf(file, item, i);
    }
    fputs(after, file);
    fclose(file);
}

static void takes_so_many_and_no_more(void **state) {
    (void)state;
    static const struct {
        const char *before, *item, *after, *sentence;
        int most;
    } rows[] = {
        {"{\"argv\": [", "\"%d\"", "]}", "1 to 256 texts", SPEC_ARGV_MAX},
        {"{\"argv\": [\"sh\"], \"env\": {", "\"A%d\": \"x\"", "}}", "more than 1024 variables",
         SPEC_ENV_MAX},
        {"{\"argv\": [\"sh\"], \"metadata\": {\"cellblock\": {\"trees\": [", "\"/usr/x%d\"", "]}}}",
         "more than 64 paths", SPEC_TREES_MAX},
    };
    shell("mkdir -p kernels/many");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct spec spec = {0};
        struct err err = {0};
        write_many(rows[i].before, rows[i].item, rows[i].most + 1, rows[i].after);
        assert_int_equal(spec_read("many", in_top("/kernels/many"), &spec, &err), -EINVAL);
        if (!strstr(err.text, rows[i].sentence))
            fail_msg("%s", err.text);
    }
    write_many(rows[0].before, rows[0].item, SPEC_ARGV_MAX, rows[0].after);
    struct spec spec = read_spec("/kernels/many");
    assert_int_equal(spec.argv.count, SPEC_ARGV_MAX);
    spec_finish(&spec);
    write_many(rows[1].before, rows[1].item, SPEC_ENV_MAX, rows[1].after);
    spec = read_spec("/kernels/many");
    assert_int_equal(spec.env.count, SPEC_ENV_MAX);
    spec_finish(&spec);
}

/* Words that grow as their names are filled in grow to what exec refuses, not further. */
static void fills_in_no_more_than_exec_takes(void **state) {
    (void)state;
    write_many("{\"argv\": [\"sh\", \"", "{resource_dir}{resource_dir}%d", 20000, "\"]}");
    struct spec spec = read_spec("/kernels/many");
    struct strings argv = {0};
    spec_fill_argv(&spec, &argv);
    assert_true(strlen(argv.items[1]) > 128 * 1024);
    assert_true(strlen(argv.items[1]) < 128 * 1024 + PATH_MAX);
    strings_finish(&argv);
    spec_finish(&spec);
}

static void fills_in_its_argv(void **state) {
    (void)state;
    shell("mkdir -p kernels/filled;"
          "echo '{\"argv\": [\"/bin/sh\", \"{connection_file}\", \"-f={connection_file}!\","
          " \"{resource_dir}/x\", \"{unknown}\", \"{\", \"}\", \"{{connection_file}}\", \"\"]}' >"
          " kernels/filled/kernel.json");
    struct spec spec = read_spec("/kernels/filled");
    struct strings argv = {0};
    spec_fill_argv(&spec, &argv);
    assert_string_equal(argv.items[1], "/run/kernel/connection.json");
    assert_string_equal(argv.items[2], "-f=/run/kernel/connection.json!");
    assert_string_equal(argv.items[3], in_top("/kernels/filled/x"));
    assert_string_equal(argv.items[4], "{unknown}");
    assert_string_equal(argv.items[5], "{");
    assert_string_equal(argv.items[6], "}");
    assert_string_equal(argv.items[7], "{/run/kernel/connection.json}");
    assert_string_equal(argv.items[8], "");
    assert_int_equal(argv.count, 9);
    strings_finish(&argv);
    spec_finish(&spec);
}

static void opens_its_files(void **state) {
    (void)state;
    shell("mkdir -p kernels/files/kernel.css; cd kernels/files; touch logo-svg.svg other.txt"
          " logo-64x64.png; echo '{\"argv\": [\"sh\"]}' > kernel.json; mkfifo kernel.js");
    struct spec spec = read_spec("/kernels/files");
    struct rpc_spec packet = {0};
    struct err err;
    int fds[RPC_SPEC_FILES_MAX];
    assert_int_equal(spec_open_files(&spec, &packet, fds, &err), 0);
    assert_int_equal(packet.file_count, 3);
    assert_string_equal(packet.files[0], "kernel.json");
    assert_string_equal(packet.files[1], "logo-64x64.png");
    assert_string_equal(packet.files[2], "logo-svg.svg");
    for (uint32_t i = 0; i < packet.file_count; i++)
        close(fds[i]);
    unlink(in_top("/kernels/files/kernel.json"));
    assert_int_equal(spec_open_files(&spec, &packet, fds, &err), -ENOENT);
    spec_finish(&spec);
}

/* A folder that a user may write to, and a link in it to what that user may not read. */
static void opens_nothing_that_is_somebody_elses(void **state) {
    (void)state;
    if (geteuid() != 0)
        skip();
    shell("mkdir theirs; printf secret > secret; chmod 600 secret;"
          "echo '{\"argv\": [\"/bin/x\"]}' > theirs/kernel.json; printf x > theirs/kernel.js;"
          "ln -s ../secret theirs/logo-64x64.png; chown -h 12345 theirs theirs/*");
    struct spec spec = read_spec("/theirs");
    struct rpc_spec packet = {.head.kind = RPC_SPEC};
    struct err err;
    int fds[RPC_SPEC_FILES_MAX];
    assert_int_equal(spec_open_files(&spec, &packet, fds, &err), 0);
    assert_int_equal(packet.file_count, 2);
    assert_string_equal(packet.files[1], "kernel.js");
    close(fds[0]);
    close(fds[1]);
    shell("rm theirs/kernel.json; ln -s ../secret theirs/kernel.json");
    assert_int_equal(spec_open_files(&spec, &packet, fds, &err), -ENOENT);
    spec_finish(&spec);
}

static void forgets_nothing(void **state) {
    (void)state;
    assert_int_equal(mem_live(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shows_a_venv_and_its_base),
        cmocka_unit_test(follows_a_link_to_a_kernelspec),
        cmocka_unit_test(takes_a_transport),
        cmocka_unit_test(shows_a_python_that_is_no_venv),
        cmocka_unit_test(finds_a_python_in_an_odd_place),
        cmocka_unit_test(shows_where_links_lead),
        cmocka_unit_test(shows_any_other_program_alone),
        cmocka_unit_test(needs_no_word_for_what_lies_under_usr),
        cmocka_unit_test(shows_trees_that_a_kernelspec_names),
        cmocka_unit_test(refuses_trees_that_are_nobodys_business),
        cmocka_unit_test(refuses_broken_kernelspecs),
        cmocka_unit_test(takes_so_many_and_no_more),
        cmocka_unit_test(fills_in_no_more_than_exec_takes),
        cmocka_unit_test(fills_in_its_argv),
        cmocka_unit_test(opens_its_files),
        cmocka_unit_test(opens_nothing_that_is_somebody_elses),
        cmocka_unit_test(forgets_nothing),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
