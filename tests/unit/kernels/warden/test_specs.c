/* Where kernelspecs are found, and how they keep their numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "warden/specs.h"

static char top[] = "/var/tmp/test_specs.XXXXXX";

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

static void add(const char *folder, const char *name, const char *json) {
    char command[1024];
    snprintf(command, sizeof command, "mkdir -p '%s/%s/%s' && echo '%s' > '%s/%s/%s/kernel.json'",
             top, folder, name, json, top, folder, name);
    assert_int_equal(system(command), 0);
}

static const struct spec *find(const struct specs *specs, const char *name) {
    for (uint32_t number = 1; number <= specs->count; number++) {
        const struct spec *spec = specs_find(specs, number);
        if (spec && strcmp(spec->name, name) == 0)
            return spec;
    }
    return NULL;
}

static struct params params_with(char *first, char *second) {
    static char *folders[2], nothing[1];
    folders[0] = first;
    folders[1] = second;
    return (struct params){.kernels = {folders, second ? 2 : 1}, .python = nothing};
}

static const char plain[] = "{\"argv\": [\"/bin/sh\"]}";

static void lets_the_first_of_a_name_win(void **state) {
    (void)state;
    char home[64], data[64], own[64], other[64];
    snprintf(home, sizeof home, "%s/home", top);
    snprintf(data, sizeof data, "%s/path/kernels", top);
    snprintf(own, sizeof own, "%s/own", top);
    snprintf(other, sizeof other, "%s/other", top);
    add("own", "a", plain);
    add("other", "a", plain);
    add("other", "B", plain);
    add("path/kernels", "b", plain);
    add("path/kernels", "c", plain);
    add("home/.local/share/jupyter/kernels", "c", plain);
    add("home/.local/share/jupyter/kernels", "d", plain);
    add("own", "not a name", plain);
    add("own", ".hidden", plain);
    data[strlen(data) - strlen("/kernels")] = 0;
    setenv("JUPYTER_PATH", data, 1);
    setenv("HOME", home, 1);
    struct params params = params_with(own, other);
    struct specs specs = {0};
    specs_read(&specs, &params);
    static const struct {
        const char *name, *folder;
    } rows[] = {{"a", "/own/a"},
                {"b", "/other/B"},
                {"c", "/path/kernels/c"},
                {"d", "/home/.local/share/jupyter/kernels/d"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct spec *spec = find(&specs, rows[i].name);
        assert_non_null(spec);
        assert_string_equal(spec->folder + strlen(top), rows[i].folder);
    }
    assert_null(find(&specs, "not a name"));
    assert_null(find(&specs, ".hidden"));
    specs_finish(&specs);
    unsetenv("JUPYTER_PATH");
    unsetenv("HOME");
    assert_int_equal(mem_live(), 0);
}

static void keeps_numbers_and_forgets_what_is_gone(void **state) {
    (void)state;
    char folder[64], command[128];
    snprintf(folder, sizeof folder, "%s/changing", top);
    struct params params = params_with(folder, NULL);
    struct specs specs = {0};
    add("changing", "m", plain);
    add("changing", "z", plain);
    specs_read(&specs, &params);
    uint32_t m = find(&specs, "m")->number, z = find(&specs, "z")->number;
    add("changing", "a", plain);
    add("changing", "m", "{\"argv\": [\"/bin/echo\"]}");
    snprintf(command, sizeof command, "rm -r %s/changing/z", top);
    assert_int_equal(system(command), 0);
    specs_read(&specs, &params);
    assert_int_equal(find(&specs, "m")->number, m);
    assert_string_equal(find(&specs, "m")->argv.items[0], "/bin/echo");
    assert_null(find(&specs, "z"));
    assert_null(specs_find(&specs, z));
    assert_true(find(&specs, "a")->number != z);
    add("changing", "z", plain);
    add("changing", "m", "{");
    specs_read(&specs, &params);
    assert_int_equal(find(&specs, "z")->number, z);
    assert_null(specs_find(&specs, m)); /* broken now */
    assert_null(specs_find(&specs, 0));
    assert_null(specs_find(&specs, 1000));
    specs_finish(&specs);
    assert_int_equal(mem_live(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lets_the_first_of_a_name_win),
        cmocka_unit_test(keeps_numbers_and_forgets_what_is_gone),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
