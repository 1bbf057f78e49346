/* tree - the real pid 1 in a pid namespace of its own, as the warden makes it, with the fewest open
 * files that a session can have; the test plays the warden. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "init/init.h"

struct tree {
    pid_t pid;
    int pidfd, link;
};

/* The last one that tree_await_report received. */
extern struct init_report tree_report;

/* Runs a shell script as the program of a tree; NULL runs a program that does not exist. */
struct tree tree_start(char *script);
/* The same, in a directory. */
struct tree tree_start_in(char *directory, char *script);
/* With a bridge from sockets-1 to sockets-5 to port and the four above it. */
struct tree tree_start_bridge(char *script, int port, char *sockets);
/* Returns the size of its output. */
size_t tree_await_report(const struct tree *tree);
void tree_await_start(const struct tree *tree);
void tree_order(const struct tree *tree, int number);
/* Returns pid 1's wait status once nothing of the tree is left. */
int tree_finish(struct tree *tree);
