/* spec - one kernelspec: how its kernel is run and which trees of the host its jail shows.
 * Source: jupyter_client, "Making kernels for Jupyter", section "Kernel specs"; the members trees
 * and transport of metadata.cellblock are ours. */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "rpc/rpc.h"
#include "warden/strings.h"
#include "warden/trees_shown.h"

/* What a kernel.json may have: bytes, and items of argv, env and metadata.cellblock.trees. */
enum { SPEC_JSON_MAX = 1024 * 1024, SPEC_ARGV_MAX = 256, SPEC_ENV_MAX = 1024, SPEC_TREES_MAX = 64 };

struct spec {
    char *name;
    char *folder;
    char *prefix; /* of PREFIX/share/jupyter/kernels/NAME, where its folder is that or a link to
                   * it; "" elsewhere */
    char *bin;    /* the folder of its Python environment's programs; "" where it has none */
    struct strings argv; /* argv[0] is absolute where it was found; {names} are not filled in */
    struct strings env;  /* "NAME=value" */
    struct trees_shown trees;
    enum rpc_transport transport;
    uint32_t number; /* set by specs.h */
    uint32_t generation;
};

/* Reads FOLDER/kernel.json. ret_spec is untouched on failure. */
int spec_read(const char *name, const char *folder, struct spec *ret_spec, struct err *err);
void spec_finish(struct spec *spec);

/* Opens kernel.json and the resources that are there, kernel.json first; their names go where
 * RPC_SPEC wants them. */
int spec_open_files(const struct spec *spec, struct rpc_spec *packet, int *ret_fds,
                    struct err *err);

/* The kernel's argv with every {name} filled in. */
void spec_fill_argv(const struct spec *spec, struct strings *ret_argv);
