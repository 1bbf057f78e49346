/* params - every parameter of `cellblock serve`, resolved. params.def is the table behind it.
 * Later wins: default, file, environment, flags. Lists of a later source replace those of an
 * earlier one; within one source they add up. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/err.h"

struct params_list {
    char **items;
    size_t count;
};

/* One of params.listen, as a socket wants it. */
struct params_address {
    union {
        struct sockaddr any;
        struct sockaddr_in ipv4; /* port 0: any free one */
        struct sockaddr_in6 ipv6;
        struct sockaddr_un local;
    };
    socklen_t size;
};

#define PARAMS_UNIX "unix:" /* what the address of a unix socket begins with */

/* Texts and paths are never NULL: "" where nothing was given. Paths are absolute. base_url is
 * without its last slash. */
#define PARAM_MEMBER_TEXT char *
#define PARAM_MEMBER_SECRET char *
#define PARAM_MEMBER_PATH char *
#define PARAM_MEMBER_PATHS struct params_list
#define PARAM_MEMBER_NAMES struct params_list
#define PARAM_MEMBER_ORIGINS struct params_list /* lower case, or "*" */
#define PARAM_MEMBER_FOLDERS struct params_list /* "NAME=/host/folder", each NAME once */
#define PARAM_MEMBER_BOOL bool
#define PARAM_MEMBER_COUNT uint64_t
#define PARAM_MEMBER_BYTES uint64_t
#define PARAM_MEMBER_MILLISECONDS int64_t
#define PARAM_MEMBER_MODE uint32_t
#define PARAM_MEMBER_USERS struct params_list     /* numbers */
#define PARAM_MEMBER_ADDRESSES struct params_list /* as params_address_print gives them */

struct params {
#define PARAM(type, name, value, minimum, maximum, doc) PARAM_MEMBER_##type name;
#define PARAM_GROUP(title)
#include "config/params.def"
};

/* How many data folders there may be. */
enum { PARAMS_DATA_MAX = 64 };
/* Likewise addresses, and users without a token. */
enum { PARAMS_LISTEN_MAX = 8, PARAMS_USERS_MAX = 64 };

/* What params_load found instead of parameters. */
enum { PARAMS_HELP = 1, PARAMS_VERSION };

/* Resolves all parameters; of limits.def every max_ has a value then, or there is no limit at all
 * (max_cpus_milli alone, 0). argv[0] is the program's name, environment is like environ. Returns 0;
 * PARAMS_HELP or PARAMS_VERSION where a flag asks for it (ret_params is untouched then); -EINVAL or
 * what reading the file failed with, and one sentence that names the flag, variable or line. */
int params_load(int argc, char *const argv[], char *const environment[], struct params *ret_params,
                struct err *err);
/* Wipes secrets and frees. */
void params_finish(struct params *params);

/* Makes a token of 48 lower-case hexadecimal digits where there is none and one is wanted; says
 * whether it did. */
bool params_make_token(struct params *params);

/* All values, secrets included, in a sealed memfd that another program reads with params_read_fd.
 * Data folders are left out: where they lie is the warden's own business. ret_fd is
 * close-on-exec. */
int params_write_fd(const struct params *params, int *ret_fd, struct err *err);
/* fd stays the caller's; its offset does not matter. */
int params_read_fd(int fd, struct params *ret_params, struct err *err);

/* HOST:PORT or unix:/path, and back (owned). */
int params_address_read(const char *text, struct params_address *ret_address, struct err *err);
char *params_address_print(const struct params_address *address);

/* What --help shows, and docs/config.md. */
void params_print_help(FILE *out);
void params_print_doc(FILE *out);
