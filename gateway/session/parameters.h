/* parameters - what a session may be given: one schema (docs/sessions.md), whoever gives it. Each
 * of them is read over what is there, so they are read in the order in which later wins. */
#pragma once

#include <jansson.h>

#include "base/err.h"
#include "config/params.h"
#include "rpc/rpc.h"
#include "session/data_names.h"

/* Who gives them. */
enum parameters_giver {
    GIVER_KERNELSPEC = 1, /* metadata.cellblock */
    GIVER_CLIENT = 2,     /* KERNEL_CELLBLOCK, or the member "cellblock" of a body */
};

/* What they are held against. */
struct parameters_context {
    const struct params *params;
    const struct data_names *data;
};

struct parameters {
    struct rpc_limits limits; /* 0: not given */
    uint64_t data_mask;
    int64_t idle_ms; /* 0: not given */
    json_t *env;     /* {NAME: text} */
    json_t *labels;  /* {NAME: text} */
};

void parameters_init(struct parameters *parameters);
void parameters_finish(struct parameters *parameters);

/* Reads value, an object, over what is there; NULL gives nothing. On failure parameters may be half
 * changed, and the sentence begins with the JSON pointer of what is wrong. The code says what kind
 * of mistake it is: -ENOKEY no such parameter, -ENOTSUP one that is not built yet, -ERANGE too
 * little or too much, -ENOENT no such data folder, -EINVAL anything else. */
int parameters_read(const struct parameters_context *context, const json_t *value,
                    enum parameters_giver giver, struct parameters *parameters, struct err *err);
/* Reads the metadata of a kernelspec, which is an object or NULL: its `cull_idle_timeout` as
 * Jupyter knows it, in seconds, then our `cellblock`. The sentence names the member. */
int parameters_read_metadata(const struct parameters_context *context, const json_t *metadata,
                             struct parameters *parameters, struct err *err);
/* The word for such a code, for clients: "unknown_parameter", ... */
const char *parameters_error_word(int code);

/* The kernelspec that value names; NULL where it names none, or is wrong, which parameters_read
 * tells. */
const char *parameters_kernel(const json_t *value);

/* The limits that hold, given or not. */
struct rpc_limits parameters_limits(const struct parameters_context *context,
                                    const struct parameters *parameters);
/* How long the kernel may be idle; 0: for ever. */
int64_t parameters_idle_ms(const struct parameters_context *context,
                           const struct parameters *parameters);
/* Limits that hold, the time to be idle, names of data folders, and labels, for clients to see. */
json_t *parameters_show(const struct parameters_context *context,
                        const struct parameters *parameters);
