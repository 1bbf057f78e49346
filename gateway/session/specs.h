/* specs - the kernelspecs that the warden told of: what GET /api/kernelspecs shows.
 * The warden decides which exist and opened their files; here they are read, checked and kept.
 * Source: jupyter_client, "Making kernels for Jupyter", section "Kernel specs". */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "rpc/rpc.h"
#include "session/parameters.h"

struct spec_resource {
    char *name; /* "logo-64x64.png" */
    struct bytes *content;
    char etag[20]; /* of the content (RFC 9110 section 8.8.3), with its quotes */
};

struct spec {
    char *name;
    uint32_t number, generation;
    json_t *content; /* kernel.json */
    bool interrupt_by_message;
    enum rpc_transport transport;
    struct spec_resource resources[RPC_SPEC_FILES_MAX];
    size_t resource_count;
};

struct specs {
    struct spec **entries; /* sorted by name */
    size_t count;
    uint32_t generation;
};

/* Files larger than this are refused (bytes). */
enum { SPEC_FILE_MAX = 1024 * 1024 };

/* Takes in one RPC_SPEC packet, replacing an entry of that name. -EINVAL with a sentence that names
 * the kernelspec where kernel.json lacks what clients demand (argv, display_name, language), or a
 * name has characters that Jupyter does not take; -EFBIG above SPEC_FILE_MAX; as parameters_read
 * where its session parameters are wrong. */
int specs_add(struct specs *specs, const struct parameters_context *context,
              const struct rpc_packet *packet, struct err *err);
/* NULL where it has none; borrowed. */
const json_t *spec_metadata(const struct spec *spec);
/* Drops what RPC_SPECS_END says is gone. */
void specs_keep_generation(struct specs *specs, uint32_t generation);
/* NULL where there is none of that name; capital letters are taken for small ones, as Jupyter does
 * it. */
const struct spec *specs_find(const struct specs *specs, const char *name);
void specs_finish(struct specs *specs);
