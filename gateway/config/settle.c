/* settle - what no row of params.def can say alone: values that exclude each other, and those that
 * stand for others. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "config/loader.h"

static int refuse_more(const struct param_row *row, const void *value,
                       const struct param_row *most_row, const void *most, struct err *err) {
    cleanup_text struct text asked = {0}, allowed = {0};
    row->type->print(row, value, &asked);
    most_row->type->print(most_row, most, &allowed);
    return err_set(err, EINVAL, "%s: %s are more than the %s of %s", row->name, asked.data,
                   allowed.data, most_row->name);
}

/* Gives a max_ of limits.def what it stands for. */
static int settle_limit(const struct param_row *row, const struct param_row *most_row,
                        struct params *params, struct err *err) {
    uint64_t *value = param_member(row, params), *most = param_member(most_row, params);
    if (*most == 0)
        *most = *value;
    if (*value == 0) /* all there is */
        *value = *most;
    if (*value <= *most)
        return 0;
    return refuse_more(row, value, most_row, most, err);
}

/* Unlike memory, time costs little: by default a session may ask for a day. */
static int settle_idle(struct params *params, struct err *err) {
    enum { DAY_MS = 24 * 3600 * 1000 };
    const struct param_row *row = param_find("cull_idle_timeout_ms");
    int64_t value = params->cull_idle_timeout_ms, *most = &params->max_cull_idle_timeout_ms;
    if (*most == 0)
        *most = value == 0 ? (int64_t)row->maximum : value > DAY_MS ? value : DAY_MS;
    if (value <= *most)
        return 0;
    return refuse_more(row, &value, param_find("max_cull_idle_timeout_ms"), most, err);
}

static int settle_limits(struct params *params, struct err *err) {
    static const char *const names[] = {
#define LIMIT(name, key, scale, least) #name,
#include "config/limits.def"
    };
    int r = 0;
    for (size_t i = 0; r == 0 && i < sizeof names / sizeof *names; i++) {
        char most[PARAM_NAME_MAX];
        snprintf(most, sizeof most, "max_%s", names[i]);
        r = settle_limit(param_find(names[i]), param_find(most), params, err);
    }
    return r;
}

static int check_data(const struct params_list *data, struct err *err) {
    if (data->count > PARAMS_DATA_MAX)
        return err_set(err, EINVAL, "data: %zu folders are more than the %d there may be",
                       data->count, PARAMS_DATA_MAX);
    for (size_t i = 0; i < data->count; i++) {
        const char *item = data->items[i];
        size_t size = strcspn(item, "=") + 1;
        for (size_t j = 0; j < i; j++)
            if (strncmp(data->items[j], item, size) == 0)
                return err_set(err, EINVAL, "data: %.*s is given twice", (int)size - 1, item);
    }
    return 0;
}

/* Segments of characters that need no escape in any part of a URL. */
static bool is_path(const char *text) {
    if ((text[0] && text[0] != '/') || strstr(text, "//"))
        return false;
    for (; *text; text++)
        if (!isalnum((unsigned char)*text) && !strchr("/-._~", *text))
            return false;
    return true;
}

/* Without the slash at its end, so that it stands before any path. */
static int settle_base(struct params *params, struct err *err) {
    size_t size = strlen(params->base_url);
    if (!is_path(params->base_url))
        return err_set(err, EINVAL,
                       "base_url: \"%s\" is no path of letters, digits and -._~ that begins with /",
                       params->base_url);
    if (size && params->base_url[size - 1] == '/')
        params->base_url[size - 1] = '\0';
    return 0;
}

static int check_counts(const struct params *params, struct err *err) {
    if (params->listen.count == 0)
        return err_set(err, EINVAL, "listen: there is no address");
    if (params->listen.count > PARAMS_LISTEN_MAX)
        return err_set(err, EINVAL, "listen: %zu addresses are more than the %d there may be",
                       params->listen.count, PARAMS_LISTEN_MAX);
    if (params->socket_users.count > PARAMS_USERS_MAX)
        return err_set(err, EINVAL, "socket_users: %zu are more than the %d there may be",
                       params->socket_users.count, PARAMS_USERS_MAX);
    return 0;
}

static int check_tls(const struct params *params, struct err *err) {
    if (!*params->certfile && *params->keyfile)
        return err_set(err, EINVAL, "keyfile: it needs a certfile");
    if (!*params->certfile && *params->client_ca)
        return err_set(err, EINVAL, "client_ca: it needs a certfile");
    if (!*params->client_ca && params->require_client_cert)
        return err_set(err, EINVAL, "require_client_cert: it needs a client_ca");
    return 0;
}

int params_settle(struct params *params, struct err *err) {
    if (params->no_token && *params->token)
        return err_set(err, EINVAL, "token and no_token exclude each other");
    if (params->uid_count <= params->max_kernels)
        return err_set(err, EINVAL,
                       "uid_count: %llu user ids are too few for the gateway and the %llu of "
                       "max_kernels",
                       (unsigned long long)params->uid_count,
                       (unsigned long long)params->max_kernels);
    int r = check_data(&params->data, err);
    if (r == 0)
        r = settle_idle(params, err);
    if (r == 0)
        r = check_tls(params, err);
    if (r == 0)
        r = check_counts(params, err);
    if (r == 0)
        r = settle_base(params, err);
    return r < 0 ? r : settle_limits(params, err);
}
