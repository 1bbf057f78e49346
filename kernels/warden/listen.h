/* listen - the sockets that clients reach. Its one complication is a unix socket's file: one that a
 * dead server left is taken away, one of a server that lives is not, and ours goes with us. */
#pragma once

#include <sys/types.h>

#include "config/params.h"

struct listener {
    int fd;
    char *url;
    char *path; /* of a unix socket's file; NULL: there is none */
    dev_t device;
    ino_t inode; /* of the file that we made */
};

/* All zero is none. */
struct listeners {
    struct listener items[PARAMS_LISTEN_MAX];
    size_t count;
};

/* Binds every address. The sockets do not listen yet: clients are refused until the gateway does
 * that. What was bound before a failure is there too, for listeners_finish. */
int listeners_bind(struct listeners *listeners, const struct params *params, struct err *err);
/* Closes them and removes their files. */
void listeners_finish(struct listeners *listeners);
