/* program - the main process of a tree. */
#pragma once

#include <sys/types.h>

/* Runs argv[0] in a session of its own, in the directory as far as there is one, with its stdout
 * and stderr in a pipe whose reading end is *ret_output. Returns its pid once the program runs, or
 * a negative errno where it cannot. */
pid_t program_start(const char *directory, char *const argv[], char *const environment[],
                    int *ret_output);
