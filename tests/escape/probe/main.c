#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "probe/probe.h"

static const struct {
    const char *name;
    int (*run)(char **argv);
} probes[] = {
    {"bind", probe_bind},
    {"print", probe_print},
    {"wait", probe_wait},
    {"look", probe_look},
    {"write", probe_write},
    {"read", probe_read},
    {"list", probe_list},
    {"mounts", probe_mounts},
    {"fill", probe_fill},
    {"link", probe_link},
    {"status", probe_status},
    {"env", probe_env},
    {"fds", probe_fds},
    {"self", probe_self},
    {"limits", probe_limits},
    {"connect", probe_connect},
    {"interfaces", probe_interfaces},
    {"loopback", probe_loopback},
    {"daemon", probe_daemon},
    {"attack1", probe_attack1},
    {"fork", probe_fork},
    {"open", probe_open},
    {"shm", probe_shm},
    {"calls", probe_calls},
    {"work", probe_work},
    {"odd", probe_odd},
    {"rename", probe_rename},
    {"busy", probe_busy},
    {"told", probe_told},
    {"memory", probe_memory},
    {"child", probe_child},
    {"bomb", probe_bomb},
};

int main(int argc, char **argv) {
    for (size_t i = 0; argc > 1 && i < sizeof probes / sizeof probes[0]; i++)
        if (strcmp(argv[1], probes[i].name) == 0) {
            int status = probes[i].run(argv + 1);
            fflush(stdout);
            _exit(status); /* no leak checker: it needs ptrace, which jails refuse */
        }
    fprintf(stderr, "no such probe\n");
    return 99;
}
