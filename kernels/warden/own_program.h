/* own_program - the programs that were built together with this one. */
#pragma once

#include "base/err.h"

/* Finds them; to be called first. */
int own_program_find(struct err *err);
/* The path of a program beside this one; owned by the caller. */
char *own_program_path(const char *name);
/* Its content in a sealed memfd that can be run but not changed, by anybody. */
int own_program_load(const char *name, int *ret_fd, struct err *err);
