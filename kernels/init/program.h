/* program - the main process of a tree. */
#pragma once

#include <sys/types.h>

/* Runs argv[0] in a session of its own, with its stdout and stderr in a pipe whose reading end is
 * *ret_output. Returns its pid once the program runs, or a negative errno where it cannot. */
pid_t program_start(char *const argv[], char *const environment[], int *ret_output);
