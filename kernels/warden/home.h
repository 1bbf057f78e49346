/* home - what a session's workspace begins with: a copy of PREFIX/share/cellblock/home, where
 * PREFIX is the environment of the shipped kernels (as useradd copies /etc/skel). */
#pragma once

#include <sys/types.h>

#include "base/err.h"

/* More than this is refused: bytes of all files, entries, and folders in one another. */
enum { HOME_BYTES_MAX = 1 << 20, HOME_ENTRIES_MAX = 64, HOME_DEPTH_MAX = 8 };

/* Fills a workspace that nobody else has seen yet; all in it becomes user's. Links, and files of
 * another owner than the skeleton's, are left out. No skeleton is fine, and so is no prefix ("").
 */
int home_fill(int workspace_fd, const char *prefix, uid_t user, struct err *err);
