/* attach - putting mounts and files into the new root, which nobody has entered yet. Paths are
 * absolute as seen from inside; no link on the way is followed, because parts of the root (/tmp,
 * the workspace) may hold what an earlier tree of the session left there. */
#pragma once

#include <sys/types.h>

#include "base/err.h"

/* Makes the folder and those above it (mode 0755, root's) where they are missing, and opens it with
 * O_PATH. */
int attach_folder(int root_fd, const char *path, int *ret_fd, struct err *err);
/* Attaches a detached mount of a folder; mount_fd stays the caller's. */
int attach_mount(int root_fd, int mount_fd, const char *path, struct err *err);
/* Shows the file or folder source_fd, and all that is mounted below it, at path. attributes are
 * MOUNT_ATTR_*. */
int attach_clone(int root_fd, int source_fd, const char *path, unsigned long attributes,
                 struct err *err);
/* The same without what is mounted on it or below it. */
int attach_part(int root_fd, int source_fd, const char *path, unsigned long attributes,
                struct err *err);
/* Like attach_clone: the host's path, links followed, at the same path. -ENOENT where there is
 * none. */
int attach_host(int root_fd, const char *path, unsigned long attributes, struct err *err);
/* A new file with the content of the host's at the same path; none is fine. */
int attach_copy(int root_fd, const char *path, struct err *err);
/* A new file with this content (mode 0644), or a link. */
int attach_file(int root_fd, const char *path, const char *content, struct err *err);
int attach_link(int root_fd, const char *path, const char *target, struct err *err);
/* A new mount of a file system; options are pairs of name and value (NULL: a flag), ended by NULL.
 */
int attach_new(int root_fd, const char *type, const char *const *options, unsigned long attributes,
               const char *path, struct err *err);
