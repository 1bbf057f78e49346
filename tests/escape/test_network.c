/* A jail reaches itself and nobody else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "rig/rig.h"

static struct rig rig;
static int host_port, internet, abstract;

/* Listeners on the host that nobody in a jail may find. */
static int set_up(void **state) {
    (void)state;
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    internet = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(internet, (struct sockaddr *)&address, size) < 0 || listen(internet, 4) < 0 ||
        getsockname(internet, (struct sockaddr *)&address, &size) < 0)
        return -1;
    host_port = ntohs(address.sin_port);
    struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "\0cellblock-canary"};
    abstract = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(abstract, (struct sockaddr *)&name, sizeof(sa_family_t) + 17) < 0 ||
        listen(abstract, 4) < 0)
        return -1;
    rig_init(&rig, TEST_PROGRAMS);
    rig_start(&rig, NULL);
    rig_create_jail(&rig, 1);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    int status = rig_stop(&rig);
    rig_finish(&rig);
    close(internet);
    close(abstract);
    return status == 0 ? 0 : -1;
}

static void reaches_no_one(void **state) {
    (void)state;
    char words[256];
    snprintf(words, sizeof words,
             "connect|127.0.0.1|%d|::1|%d|0.0.0.0|%d|10.0.0.1|80|169.254.169.254|80|8.8.8.8|53"
             "|2001:4860:4860::8888|53|@cellblock-canary|0",
             host_port, host_port, host_port);
    assert_string_equal(rig_probe(&rig, 1, words),
                        "127.0.0.1 ECONNREFUSED\n::1 ECONNREFUSED\n0.0.0.0 ECONNREFUSED\n"
                        "10.0.0.1 ENETUNREACH\n169.254.169.254 ENETUNREACH\n8.8.8.8 ENETUNREACH\n"
                        "2001:4860:4860::8888 ENETUNREACH\n@cellblock-canary ECONNREFUSED\n");
}

static void has_a_loopback_of_its_own(void **state) {
    (void)state;
    assert_string_equal(rig_probe(&rig, 1, "interfaces"), "lo\n");
    assert_string_equal(rig_probe(&rig, 1, "loopback"), "ok\n");
}

static void the_probe_itself_works(void **state) {
    (void)state;
    char command[512], line[64] = "";
    snprintf(command, sizeof command, "%s/probe connect 127.0.0.1 %d @cellblock-canary 0",
             TEST_PROGRAMS, host_port);
    FILE *pipe = popen(command, "re");
    assert_non_null(pipe);
    assert_non_null(fgets(line, sizeof line, pipe));
    assert_string_equal(line, "127.0.0.1 ok\n");
    assert_non_null(fgets(line, sizeof line, pipe));
    assert_string_equal(line, "@cellblock-canary ok\n");
    pclose(pipe);
}

int main(void) {
    if (geteuid() != 0)
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reaches_no_one),
        cmocka_unit_test(has_a_loopback_of_its_own),
        cmocka_unit_test(the_probe_itself_works),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
