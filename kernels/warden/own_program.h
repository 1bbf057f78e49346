/* own_program - the programs that were built together with this one. */
#pragma once

#include "base/err.h"

/* Finds them; to be called first. */
int own_program_find(struct err *err);
/* A program beside this one, to be run by its descriptor: whoever runs it may be one whom the way
 * there is closed to. */
int own_program_open(const char *name, int *ret_fd, struct err *err);
/* Its content in a sealed memfd that can be run but not changed, by anybody. */
int own_program_load(const char *name, int *ret_fd, struct err *err);
