/* own_root - the root of the caller's mount namespace is the caller's "/" (own_root.c). */
#pragma once

#include "base/err.h"

/* Sees to that, in a new mount namespace where it has to. The caller is its process's only thread,
 * and its working directory is / afterwards. */
int own_root_make(struct err *err);
