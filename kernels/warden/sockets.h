/* sockets - waits until a kernel has bound its five sockets and hands them to the gateway.
 * Everything in that folder is the session's, so hostile: nothing is followed, nothing is believed
 * but what fstat says of a descriptor. */
#pragma once

#include "warden/tree.h"

/* The inotify descriptor becomes warden->folders. */
int sockets_init(struct warden *warden, struct err *err);
/* To be called before the tree can bind anything. */
int sockets_watch(struct tree *tree, struct err *err);
/* Ends the watch and closes the folder. */
void sockets_forget(struct tree *tree);
