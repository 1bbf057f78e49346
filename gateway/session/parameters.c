/* parameters - see parameters.h. The schema is the table `members` and the limits of
 * config/limits.def; what is in neither is refused by its JSON pointer (RFC 6901). */
#include "session/parameters.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "config/table.h"
#include "session/environment.h"

struct reading {
    const struct parameters_context *context;
    enum parameters_giver giver;
    struct parameters *into;
    struct err *err;
};

/* -- pointers ---------------------------------------------------------------------------------- */

/* One step of a JSON pointer: "~" and "/" of a key are "~0" and "~1" in it. */
static void append_step(struct text *pointer, const char *key) {
    text_append_text(pointer, "/");
    for (const char *at = key; *at && at - key < 80; at++)
        if (*at == '~' || *at == '/')
            text_append_text(pointer, *at == '~' ? "~0" : "~1");
        else
            text_append(pointer, slice_make(at, 1));
}

static int refuse_key(const struct reading *reading, const char *parent, const char *key, int code,
                      const char *why) {
    cleanup_text struct text pointer = {0};
    text_append_text(&pointer, parent);
    append_step(&pointer, key);
    return err_set(reading->err, code, "%s %s", pointer.data, why);
}

/* -- limits ------------------------------------------------------------------------------------ */

struct limit {
    const char *name, *key;
    double scale;
    uint64_t least;
    size_t limits_offset, most_offset;
};

static const struct limit limits[] = {
#define LIMIT(name, key, scale, least)                                                             \
    {#name,                                                                                        \
     key,                                                                                          \
     scale,                                                                                        \
     least,                                                                                        \
     offsetof(struct rpc_limits, name),                                                            \
     offsetof(struct params, max_##name)},
#include "config/limits.def"
};
enum { LIMIT_COUNT = sizeof limits / sizeof *limits };

/* Limits of the schema that nothing holds yet. */
static const char *const later_limits[] = {"cpu_s", "wall_s", "output_bytes",
                                           "session_output_bytes", "queued"};

static uint64_t *limit_member(const struct limit *limit, struct rpc_limits *of) {
    return (uint64_t *)((char *)of + limit->limits_offset);
}

static int read_limit(const struct reading *reading, const struct limit *limit,
                      const json_t *value) {
    const struct param_row *row = param_find(limit->name);
    double least = (double)(limit->least ? limit->least : row->minimum);
    const void *most_value = (const char *)reading->context->params + limit->most_offset;
    double most = (double)(*(const uint64_t *)most_value ?: row->maximum);
    double asked = json_number_value(value), amount = asked * limit->scale;
    if (!json_is_number(value))
        return err_set(reading->err, EINVAL, "/limits/%s is not a number", limit->key);
    /* 15 digits: more than any limit has. */
    if (amount < least)
        return err_set(reading->err, ERANGE, "/limits/%s: %.15g is less than %.15g, the least",
                       limit->key, asked, least / limit->scale);
    if (amount > most)
        return err_set(reading->err, ERANGE,
                       "/limits/%s: %.15g is more than %.15g, which max_%s allows", limit->key,
                       asked, most / limit->scale, limit->name);
    uint64_t rounded = (uint64_t)(amount + 0.5);
    if (limit->scale == 1 && (double)rounded != amount)
        return err_set(reading->err, EINVAL, "/limits/%s is not a whole number", limit->key);
    *limit_member(limit, &reading->into->limits) = rounded;
    return 0;
}

static int read_limit_of_key(const struct reading *reading, const char *key, const json_t *value) {
    for (size_t i = 0; i < LIMIT_COUNT; i++)
        if (strcmp(limits[i].key, key) == 0)
            return read_limit(reading, &limits[i], value);
    for (size_t i = 0; i < sizeof later_limits / sizeof *later_limits; i++)
        if (strcmp(later_limits[i], key) == 0)
            return refuse_key(reading, "/limits", key, ENOTSUP, "is not available in this version");
    return refuse_key(reading, "/limits", key, ENOKEY, "is no limit that there is");
}

static int read_limits(const struct reading *reading, const json_t *value) {
    const char *key;
    json_t *limit;
    if (!json_is_object(value))
        return err_set(reading->err, EINVAL, "/limits is not an object");
    json_object_foreach((json_t *)value, key, limit) {
        int result = read_limit_of_key(reading, key, limit);
        if (result < 0)
            return result;
    }
    return 0;
}

/* -- the others -------------------------------------------------------------------------------- */

static int read_kernel(const struct reading *reading, const json_t *value) {
    if (json_string_length(value) == 0)
        return err_set(reading->err, EINVAL, "/kernel is not a name");
    return 0; /* parameters_kernel */
}

static int read_env(const struct reading *reading, const json_t *value) {
    enum environment_rule rule =
        reading->giver == GIVER_KERNELSPEC ? ENVIRONMENT_TRUST : ENVIRONMENT_CHECK;
    return environment_merge(reading->context->params, value, rule, reading->into->env,
                             reading->err);
}

/* The list as a whole is the value: a later one replaces it. */
static int read_data(const struct reading *reading, const json_t *value) {
    uint64_t mask = 0;
    if (!json_is_array(value))
        return err_set(reading->err, EINVAL, "/data is not a list");
    for (size_t i = 0; i < json_array_size(value); i++) {
        const char *name = json_string_value(json_array_get(value, i));
        int number = name ? data_names_find(reading->context->data, name) : -1;
        if (!name)
            return err_set(reading->err, EINVAL, "/data/%zu is not a name", i);
        if (number < 0)
            return err_set(reading->err, ENOENT, "/data/%zu: there is no data folder named %.80s",
                           i, name);
        mask |= (uint64_t)1 << number;
    }
    reading->into->data_mask = mask;
    return 0;
}

/* Seconds. For ever is more than any maximum, so nobody can ask for it. */
static int read_idle_at(const struct reading *reading, const char *pointer, const json_t *value) {
    double asked = json_number_value(value), ms = asked * 1000;
    double most = (double)reading->context->params->max_cull_idle_timeout_ms;
    if (!json_is_number(value))
        return err_set(reading->err, EINVAL, "%s is not a number", pointer);
    if (ms < 1)
        return err_set(reading->err, ERANGE, "%s: %.15g is less than 0.001, the least", pointer,
                       asked);
    if (ms > most)
        return err_set(reading->err, ERANGE,
                       "%s: %.15g is more than %.15g, which max_cull_idle_timeout_ms allows",
                       pointer, asked, most / 1000);
    reading->into->idle_ms = (int64_t)ms;
    return 0;
}

static int read_idle(const struct reading *reading, const json_t *value) {
    return read_idle_at(reading, "/idle_s", value);
}

static size_t count_label_bytes(const json_t *labels) {
    const char *name;
    json_t *value;
    size_t size = 0;
    json_object_foreach((json_t *)labels, name, value) {
        size += strlen(name) + json_string_length(value);
    }
    return size;
}

static int read_labels(const struct reading *reading, const json_t *value) {
    json_t *labels = reading->into->labels, *text;
    const char *name;
    if (!json_is_object(value))
        return err_set(reading->err, EINVAL, "/labels is not an object");
    json_object_foreach((json_t *)value, name, text) {
        if (!json_is_string(text))
            return refuse_key(reading, "/labels", name, EINVAL, "is not a string");
        json_object_set(labels, name, text);
    }
    size_t size = count_label_bytes(labels), most = reading->context->params->session_label_bytes;
    if (size > most)
        return err_set(reading->err, ERANGE,
                       "/labels has %zu bytes, session_label_bytes allows %zu", size, most);
    return 0;
}

/* The warden reads them itself. */
static int read_trees(const struct reading *reading, const json_t *value) {
    return json_is_array(value) ? 0
                                : err_set(reading->err, EINVAL, "/trees is not a list of paths");
}

static int read_transport(const struct reading *reading, const json_t *value) {
    const char *name = json_string_value(value);
    if (name && (strcmp(name, "ipc") == 0 || strcmp(name, "tcp") == 0))
        return 0; /* the warden reads it itself and tells which */
    return err_set(reading->err, EINVAL, "/transport is neither ipc nor tcp");
}

/* -- the schema -------------------------------------------------------------------------------- */

/* read NULL: it is not built yet. */
static const struct {
    const char *name;
    unsigned givers;
    int (*read)(const struct reading *reading, const json_t *value);
} members[] = {
    {"kernel", GIVER_CLIENT, read_kernel},
    {"env", GIVER_CLIENT | GIVER_KERNELSPEC, read_env},
    {"limits", GIVER_CLIENT | GIVER_KERNELSPEC, read_limits},
    {"data", GIVER_CLIENT | GIVER_KERNELSPEC, read_data},
    {"labels", GIVER_CLIENT | GIVER_KERNELSPEC, read_labels},
    {"idle_s", GIVER_CLIENT | GIVER_KERNELSPEC, read_idle},
    {"life_s", GIVER_CLIENT | GIVER_KERNELSPEC, NULL},
    {"egress", GIVER_CLIENT | GIVER_KERNELSPEC, NULL},
    {"trees", GIVER_KERNELSPEC, read_trees},
    {"transport", GIVER_KERNELSPEC, read_transport},
};

static int read_member(const struct reading *reading, const char *name, const json_t *value) {
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        if (strcmp(members[i].name, name) != 0)
            continue;
        if (!(members[i].givers & reading->giver))
            return refuse_key(reading, "", name, ENOKEY,
                              reading->giver == GIVER_CLIENT ? "stands only in kernelspecs"
                                                             : "does not stand in kernelspecs");
        if (!members[i].read)
            return refuse_key(reading, "", name, ENOTSUP, "is not available in this version");
        return members[i].read(reading, value);
    }
    return refuse_key(reading, "", name, ENOKEY, "is no parameter that there is");
}

int parameters_read(const struct parameters_context *context, const json_t *value,
                    enum parameters_giver giver, struct parameters *parameters, struct err *err) {
    struct reading reading = {context, giver, parameters, err};
    const char *name;
    json_t *member;
    if (!value)
        return 0;
    if (!json_is_object(value))
        return err_set(err, EINVAL, "the session parameters are not an object");
    json_object_foreach((json_t *)value, name, member) {
        int result = read_member(&reading, name, member);
        if (result < 0)
            return result;
    }
    return 0;
}

int parameters_read_metadata(const struct parameters_context *context, const json_t *metadata,
                             struct parameters *parameters, struct err *err) {
    struct reading reading = {context, GIVER_KERNELSPEC, parameters, err};
    const json_t *idle = json_object_get(metadata, "cull_idle_timeout");
    if (idle && read_idle_at(&reading, "/cull_idle_timeout", idle) < 0)
        return err_wrap(err, "metadata");
    const json_t *ours = json_object_get(metadata, "cellblock");
    if (parameters_read(context, ours, GIVER_KERNELSPEC, parameters, err) < 0)
        return err_wrap(err, "metadata.cellblock");
    return 0;
}

const char *parameters_error_word(int code) {
    static const struct {
        int code;
        const char *word;
    } words[] = {{ENOKEY, "unknown_parameter"},
                 {ENOTSUP, "not_available"},
                 {ERANGE, "out_of_range"},
                 {ENOENT, "data_folder_not_found"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].code == code)
            return words[i].word;
    return "invalid_parameter";
}

const char *parameters_kernel(const json_t *value) {
    const json_t *kernel = json_object_get(value, "kernel");
    return json_string_length(kernel) ? json_string_value(kernel) : NULL;
}

/* -- what comes of them ------------------------------------------------------------------------ */

void parameters_init(struct parameters *parameters) {
    *parameters = (struct parameters){.env = json_object(), .labels = json_object()};
}

void parameters_finish(struct parameters *parameters) {
    json_decref(parameters->env);
    json_decref(parameters->labels);
    *parameters = (struct parameters){0};
}

struct rpc_limits parameters_limits(const struct parameters_context *context,
                                    const struct parameters *parameters) {
    const struct params *params = context->params;
    struct rpc_limits given = parameters->limits;
    return (struct rpc_limits){
#define LIMIT(name, key, scale, least) .name = given.name ? given.name : params->name,
#include "config/limits.def"
    };
}

static json_t *show_limits(struct rpc_limits of) {
    json_t *shown = json_object();
    for (size_t i = 0; i < LIMIT_COUNT; i++) {
        uint64_t value = *limit_member(&limits[i], &of);
        if (value) /* 0: there is none */
            json_object_set_new(shown, limits[i].key,
                                limits[i].scale == 1 ? json_integer((json_int_t)value)
                                                     : json_real((double)value / limits[i].scale));
    }
    return shown;
}

int64_t parameters_idle_ms(const struct parameters_context *context,
                           const struct parameters *parameters) {
    return parameters->idle_ms ? parameters->idle_ms : context->params->cull_idle_timeout_ms;
}

/* NULL: without end. */
static json_t *show_seconds(int64_t ms) {
    if (ms == 0)
        return NULL;
    return ms % 1000 ? json_real((double)ms / 1000) : json_integer(ms / 1000);
}

json_t *parameters_show(const struct parameters_context *context,
                        const struct parameters *parameters) {
    json_t *data = json_array();
    for (int i = 0; i < PARAMS_DATA_MAX; i++)
        if (parameters->data_mask >> i & 1)
            json_array_append_new(data, json_string(context->data->names[i]));
    return json_pack("{s:o, s:o*, s:o, s:O}", "limits",
                     show_limits(parameters_limits(context, parameters)), "idle_s",
                     show_seconds(parameters_idle_ms(context, parameters)), "data", data, "labels",
                     parameters->labels);
}
