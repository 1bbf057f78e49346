#include "warden/limits.h"

#include <errno.h>

/* most 0: there is no limit. */
static int resolve(const char *name, uint64_t *limit, uint64_t value, uint64_t most,
                   struct err *err) {
    if (most && *limit > most)
        return err_set(err, EINVAL, "limit %s: %llu is more than the most, %llu", name,
                       (unsigned long long)*limit, (unsigned long long)most);
    if (*limit == 0)
        *limit = value;
    return 0;
}

int limits_resolve(const struct params *params, const struct rpc_limits *asked,
                   struct rpc_limits *ret_limits, struct err *err) {
    struct rpc_limits limits = *asked;
    struct {
        const char *name;
        uint64_t *limit, value, most;
    } rows[] = {
#define LIMIT(name, key, scale, least) {#name, &limits.name, params->name, params->max_##name},
#include "config/limits.def"
    };
    int result = 0;
    for (size_t i = 0; result == 0 && i < sizeof rows / sizeof rows[0]; i++)
        result = resolve(rows[i].name, rows[i].limit, rows[i].value, rows[i].most, err);
    if (result == 0)
        *ret_limits = limits;
    return result;
}
