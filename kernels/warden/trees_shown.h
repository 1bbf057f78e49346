/* trees_shown - which trees of the host a kernelspec needs to see. The warden alone decides this,
 * from files that root wrote, and runs nothing to find out. */
#pragma once

#include "base/err.h"
#include "warden/strings.h"

/* Trees by their paths in a jail, and what of the host each shows: a path without links, found when
 * the tree was judged, so that a link that somebody changes later leads nowhere else. */
struct trees_shown {
    struct strings paths, sources;
};

/* Whether path is tree or lies in it, by their names alone. */
bool path_is_below(const char *path, const char *tree);

void trees_shown_finish(struct trees_shown *trees);

/* Adds all of more. */
void trees_shown_add_all(struct trees_shown *trees, const struct trees_shown *more);

/* Adds path, and what it is once links are followed; nothing where that lies under /usr or a tree
 * that is already in the list. Refuses homes, / and folders of the system with a sentence. */
int trees_shown_add(struct trees_shown *trees, const char *path, struct err *err);

/* Adds what the program at an absolute path needs: the prefix and base prefix of a Python, else the
 * file alone. ret_bin becomes the folder of a Python environment's programs (the old text is
 * freed). */
int trees_shown_add_program(struct trees_shown *trees, const char *program, char **ret_bin,
                            struct err *err);
