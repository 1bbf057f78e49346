/* tls_files - the files that only root may read: the warden opens them, the gateway reads them. */
#pragma once

#include "base/err.h"
#include "config/params.h"
#include "warden/outbox.h"

enum { TLS_FILES_MAX = 3 };

/* In the order of struct rpc_tls; -1 where there is none. */
struct tls_files {
    int fds[TLS_FILES_MAX];
};

void tls_files_init(struct tls_files *files);
int tls_files_open(struct tls_files *files, const struct params *params, struct err *err);
/* Where one of them cannot be opened, all stay as they were, with a line in the log, and it is
 * false. */
bool tls_files_open_again(struct tls_files *files, const struct params *params);
void tls_files_tell(const struct tls_files *files, struct outbox *outbox);
void tls_files_finish(struct tls_files *files);
