/* Where a process's control groups are, on hosts of every kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "jail/places.h"

static struct place places[PLACES_MAX];

static void check(size_t at, bool is_v2, unsigned controllers, const char *path) {
    assert_int_equal(places[at].is_v2, is_v2);
    assert_int_equal(places[at].controllers, controllers);
    assert_string_equal(places[at].path, path);
}

static void finds_version_2(void **state) {
    (void)state;
    assert_int_equal(
        places_find("0::/system.slice/cellblock.service\n",
                    "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n",
                    places),
        1);
    check(0, true, 0, "/sys/fs/cgroup/system.slice/cellblock.service");
}

static void finds_each_hierarchy_of_a_hybrid(void **state) {
    (void)state;
    static const char cgroup[] = "8:pids:/\n5:devices:/x\n4:memory:/outer/inner\n2:cpuacct,cpu:/\n"
                                 "1:name=systemd:/memory\n0::/\n";
    static const char mountinfo[] =
        "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
        "32 31 0:29 / /cg/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
        "35 31 0:32 / /cg/memory rw - cgroup cgroup rw,memory\n"
        "36 31 0:33 / /cg/devices rw - cgroup cgroup rw,devices\n"
        "39 31 0:36 / /cg/pids rw - cgroup cgroup rw,pids\n"
        "41 31 0:38 / /cg/unified rw - cgroup2 cgroup2 rw";
    assert_int_equal(places_find(cgroup, mountinfo, places), 4);
    check(0, false, CONTROLLER_PIDS, "/cg/pids");
    check(1, false, CONTROLLER_MEMORY, "/cg/memory/outer/inner");
    check(2, false, CONTROLLER_CPU, "/cg/cpu,cpuacct");
    check(3, true, 0, "/cg/unified");
}

/* A container shows its own part of a hierarchy alone, sometimes twice. */
static void goes_below_the_root_of_the_mount(void **state) {
    (void)state;
    static const char mountinfo[] = "35 31 0:32 /other /elsewhere rw - cgroup cgroup rw,memory\n"
                                    "35 31 0:32 /docker/a /nearly rw - cgroup cgroup rw,memory\n"
                                    "36 31 0:32 /docker/ab /here rw - cgroup cgroup rw,memory\n";
    assert_int_equal(places_find("4:memory:/docker/ab\n", mountinfo, places), 1);
    check(0, false, CONTROLLER_MEMORY, "/here");
    assert_int_equal(places_find("4:memory:/docker/ab/c\n", mountinfo, places), 1);
    check(0, false, CONTROLLER_MEMORY, "/here/c");
    assert_int_equal(places_find("4:memory:/\n", mountinfo, places), 0);
}

static void takes_nothing_it_does_not_understand(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"", ""},
        {"0::/\n", ""},
        {"0::/\n", "1 2 3\n - \n35 31 0:32 /\n"},
        {"0\n0:\n\n:::\n", "29 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"},
        {"4:memory:/\n", "29 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"},
        {"4:memory:/\n", "29 23 0:26 / /memory rw - tmpfs memory rw,memory\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(places_find(rows[i][0], rows[i][1], places), 0);
}

static void reads_and_writes_controllers(void **state) {
    (void)state;
    char text[64];
    assert_int_equal(controllers_read("cpuset cpu io memory hugetlb pids\n"), CONTROLLERS_ALL);
    assert_int_equal(controllers_read("cpuset,cpuacct,mem"), 0);
    assert_int_equal(controllers_read(""), 0);
    controllers_write(CONTROLLERS_ALL, "+", text);
    assert_string_equal(text, "+memory +pids +cpu");
    controllers_write(CONTROLLER_CPU, "", text);
    assert_string_equal(text, "cpu");
    controllers_write(0, "-", text);
    assert_string_equal(text, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_version_2),
        cmocka_unit_test(finds_each_hierarchy_of_a_hybrid),
        cmocka_unit_test(goes_below_the_root_of_the_mount),
        cmocka_unit_test(takes_nothing_it_does_not_understand),
        cmocka_unit_test(reads_and_writes_controllers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
