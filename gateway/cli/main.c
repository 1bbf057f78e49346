/* cellblock - a thin launcher: becomes the program of the command that was asked for. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/commands.h"
#include "report/report.h"

enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };

static void print_usage(FILE *out) {
    fprintf(out, "usage: cellblock COMMAND [ARGUMENT ...]\n\ncommands:\n");
    for (size_t i = 0; i < command_count; i++)
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fprintf(out, "\n`cellblock COMMAND --help` says more; `cellblock --version` the version.\n");
}

static const struct command *find_command(const char *name) {
    for (size_t i = 0; i < command_count; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

/* The path of a program in the folder of this one, wherever that was called from; NULL and errno
 * where the kernel does not say. */
static char *path_beside(const char *program) {
    char self[4096];
    ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    if (size < 0)
        return NULL;
    self[size] = 0;
    char *slash = strrchr(self, '/');
    return mem_format("%.*s%s", (int)(slash + 1 - self), self, program);
}

/* argv[0] is the command's name. Returns only when it fails. */
static int become(const struct command *command, char **argv) {
    cleanup_mem char *path = path_beside(command->program);
    if (!path) {
        fprintf(stderr, "cellblock: read /proc/self/exe: %s%s\n", strerror(errno),
                errno == ENOENT ? "; is /proc mounted? `mount -t proc proc /proc` does it" : "");
        return EXIT_FAILED;
    }
    argv[0] = (char *)command->title;
    report_exec();
    execv(path, argv);
    fprintf(stderr, "cellblock: run %s: %s\n", path, strerror(errno));
    return EXIT_FAILED;
}

static int run(int argc, char **argv) {
    const char *word = argc > 1 ? argv[1] : "";
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        print_usage(stdout);
        return 0;
    }
    if (strcmp(word, "--version") == 0) {
        printf("cellblock %s\n", CELLBLOCK_VERSION);
        return 0;
    }
    if (!*word) {
        print_usage(stderr);
        return EXIT_USAGE;
    }
    const struct command *command = find_command(word);
    if (command)
        return become(command, argv + 1);
    fprintf(stderr, "cellblock: there is no command \"%.60s\" (cellblock --help lists them)\n",
            word);
    return EXIT_USAGE;
}

int main(int argc, char **argv) {
    report_begin("cellblock", "-");
    return report_end(run(argc, argv));
}
