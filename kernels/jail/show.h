/* show - trees of the host in a jail, read-only (show.c). */
#pragma once

#include "base/err.h"
#include "base/text.h"
#include "jail/steps.h"

/* What is mounted in the caller's namespace, for trees that are shown later. */
int show_read_mounts(struct text *ret_mounts, struct err *err);

/* Opens what no link may lead to. */
int show_open(const char *source, int *ret_fd, struct err *err);
/* A detached mount; fails where an overlay cannot show all of it, with a sentence that says why. */
int show_make_overlay(const struct jail_build *build, int source_fd, int *ret_fd, struct err *err);

/* Shows the host's source at path. No link may lead to the source. */
int show_tree(const struct jail_build *build, const char *source, const char *path,
              struct err *err);
/* Shows a folder of the host's system at its own path, links followed; none is fine. */
int show_system(const struct jail_build *build, const char *path, struct err *err);
