#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "probe/probe.h"

static const struct {
    const char *name;
    int (*run)(char **argv);
} probes[] = {
    {"bind", probe_bind},   {"print", probe_print}, {"wait", probe_wait}, {"look", probe_look},
    {"write", probe_write}, {"read", probe_read},   {"list", probe_list}, {"mounts", probe_mounts},
    {"fill", probe_fill},   {"link", probe_link},
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
