#include "warden/data.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "warden/say.h"

_Static_assert(PARAMS_DATA_MAX <= 64, "a folder is a bit of rpc_jail_create.data_mask");

/* Never shown, nor what is below them. Homes are not among these: who names one here means it. */
static const char *const refused[] = {"/proc", "/sys", "/dev", "/etc"};

static int check_path(const char *path, struct err *err) {
    bool is_refused = strcmp(path, "/") == 0;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        is_refused = is_refused || path_is_below(path, refused[i]);
    return is_refused ? err_set(err, EPERM, "%s is never shown in a jail", path) : 0;
}

static int find(const char *path, char **ret_source, struct err *err) {
    char real[PATH_MAX];
    struct stat info;
    if (!realpath(path, real) || stat(real, &info) < 0)
        return err_errno(err, errno, "find %s", path);
    if (!S_ISDIR(info.st_mode))
        return err_set(err, ENOTDIR, "%s is no folder", path);
    int result = check_path(real, err);
    if (result == 0)
        *ret_source = mem_strdup(real);
    return result;
}

int data_read(struct data *data, const struct params *params, struct err *err) {
    for (size_t i = 0; i < params->data.count; i++) {
        const char *item = params->data.items[i], *equals = strchr(item, '=');
        struct data_folder *folder = &data->items[data->count++];
        folder->name = mem_copy_text(item, (size_t)(equals - item));
        folder->path = equals + 1;
        int result = find(folder->path, &folder->source, err);
        if (result < 0)
            return err_wrap(err, "data folder %s", folder->name);
    }
    return 0;
}

void data_read_again(struct data *data) {
    for (size_t i = 0; i < data->count; i++) {
        struct data_folder *folder = &data->items[i];
        char *source;
        struct err err;
        if (find(folder->path, &source, &err) < 0) {
            say("data folder %s stays as it was: %s", folder->name, err.text);
            continue;
        }
        mem_free(folder->source);
        folder->source = source;
    }
}

void data_finish(struct data *data) {
    for (size_t i = 0; i < data->count; i++) {
        mem_free(data->items[i].name);
        mem_free(data->items[i].source);
    }
    *data = (struct data){0};
}

void data_tell(const struct data *data, struct outbox *outbox) {
    for (uint32_t i = 0; i < data->count; i++) {
        struct rpc_data packet = {.head.kind = RPC_DATA, .data = i};
        snprintf(packet.name, sizeof packet.name, "%s", data->items[i].name);
        outbox_put_take(outbox, &packet, (struct slice){0}, NULL, 0);
    }
}

int data_check(const struct data *data, uint64_t mask, struct err *err) {
    for (unsigned i = 0; i < 64; i++)
        if (mask >> i & 1 && i >= data->count)
            return err_set(err, EINVAL, "there is no data folder number %u", i);
    return 0;
}

void data_add_trees(const struct data *data, uint64_t mask, struct trees_shown *trees) {
    for (size_t i = 0; i < data->count; i++) {
        if (!(mask >> i & 1))
            continue;
        strings_add_take(&trees->paths, mem_format("/data/%s", data->items[i].name));
        strings_add(&trees->sources, data->items[i].source);
    }
}
