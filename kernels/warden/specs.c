#include "warden/specs.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "warden/say.h"

static void add_below(struct strings *folders, const char *folder, const char *below) {
    if (folder && folder[0] == '/')
        strings_add_take(folders, mem_format("%s%s", folder, below));
}

/* Items of a list separated by colons. */
static void add_path_list(struct strings *folders, const char *list) {
    while (list && *list) {
        size_t size = strcspn(list, ":");
        cleanup_mem char *item = mem_copy_text(list, size);
        add_below(folders, item, "/kernels");
        list += size + (list[size] == ':');
    }
}

/* Ours, then Jupyter's in its own order (jupyter_core.paths.jupyter_path). */
static void list_folders(const struct params *params, struct strings *ret_folders) {
    for (size_t i = 0; i < params->kernels.count; i++)
        add_below(ret_folders, params->kernels.items[i], "");
    add_path_list(ret_folders, getenv("JUPYTER_PATH"));
    add_below(ret_folders, getenv("JUPYTER_DATA_DIR"), "/kernels");
    add_below(ret_folders, getenv("HOME"), "/.local/share/jupyter/kernels");
    add_below(ret_folders, params->python, "/share/jupyter/kernels");
    add_below(ret_folders, "/usr/local", "/share/jupyter/kernels");
    add_below(ret_folders, "/usr", "/share/jupyter/kernels");
}

/* As jupyter_client's pattern of names; lower case, as it has them. NULL where it is none. */
static char *name_of(const char *folder_name) {
    if (strlen(folder_name) >= RPC_NAME_MAX)
        return NULL;
    char *name = mem_strdup(folder_name);
    for (char *at = name; *at; at++) {
        if (!isalnum((unsigned char)*at) && !strchr("._-", *at)) {
            mem_free(name);
            return NULL;
        }
        *at = (char)tolower((unsigned char)*at);
    }
    return name;
}

static struct spec *find_name(const struct specs *specs, const char *name) {
    for (size_t i = 0; i < specs->count; i++)
        if (strcmp(specs->items[i].name, name) == 0)
            return &specs->items[i];
    return NULL;
}

static void put_take(struct specs *specs, struct spec *spec) {
    struct spec *old = find_name(specs, spec->name);
    spec->generation = specs->generation;
    if (old) {
        spec->number = old->number;
        spec_finish(old);
        *old = *spec;
        return;
    }
    spec->number = (uint32_t)specs->count + 1;
    specs->items = mem_realloc(specs->items, (specs->count + 1) * sizeof *specs->items);
    specs->items[specs->count++] = *spec;
}

/* path is changed: a line of the log stays one line. */
static void say_bad_name(char *path) {
    for (char *at = path; *at; at++)
        if (iscntrl((unsigned char)*at))
            *at = '?';
    say("kernelspec %s left out: its folder's name is not of up to %d letters, digits and . _ -",
        path, RPC_NAME_MAX - 1);
}

static void read_one(struct specs *specs, const char *folder, const char *entry) {
    cleanup_mem char *name = name_of(entry);
    cleanup_mem char *path = mem_format("%s/%s", folder, entry);
    cleanup_mem char *json = mem_format("%s/kernel.json", path);
    if (entry[0] == '.' || access(json, F_OK) < 0)
        return;
    if (!name) {
        say_bad_name(path);
        return;
    }
    const struct spec *known = find_name(specs, name);
    if (known && known->generation == specs->generation)
        return;
    struct spec spec;
    struct err err;
    if (spec_read(name, path, &spec, &err) < 0)
        say("kernelspec %s left out: %s", name, err.text);
    else
        put_take(specs, &spec);
}

static int plain_order(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void read_folder(struct specs *specs, const char *folder) {
    struct dirent **entries;
    int count = scandir(folder, &entries, NULL, plain_order);
    for (int i = 0; i < count; i++) {
        read_one(specs, folder, entries[i]->d_name);
        free(entries[i]); /* scandir's */
    }
    if (count >= 0)
        free(entries); /* scandir's */
}

void specs_read(struct specs *specs, const struct params *params) {
    struct strings folders = {0};
    list_folders(params, &folders);
    specs->generation++;
    for (size_t i = 0; i < folders.count; i++)
        read_folder(specs, folders.items[i]);
    strings_finish(&folders);
}

void specs_finish(struct specs *specs) {
    for (size_t i = 0; i < specs->count; i++)
        spec_finish(&specs->items[i]);
    mem_free(specs->items);
    *specs = (struct specs){0};
}

const struct spec *specs_find(const struct specs *specs, uint32_t number) {
    if (number < 1 || number > specs->count)
        return NULL;
    const struct spec *spec = &specs->items[number - 1];
    return spec->generation == specs->generation ? spec : NULL;
}

void specs_tell(const struct specs *specs, struct outbox *outbox) {
    for (uint32_t number = 1; number <= specs->count; number++) {
        const struct spec *spec = specs_find(specs, number);
        if (!spec)
            continue;
        struct rpc_spec packet = {.head.kind = RPC_SPEC,
                                  .spec = number,
                                  .generation = specs->generation,
                                  .transport = spec->transport};
        snprintf(packet.name, sizeof packet.name, "%s", spec->name);
        int fds[RPC_SPEC_FILES_MAX];
        struct err err;
        if (spec_open_files(spec, &packet, fds, &err) < 0)
            say("kernelspec %s left out: %s", spec->name, err.text);
        else
            outbox_put_take(outbox, &packet, (struct slice){0}, fds, packet.file_count);
    }
    struct rpc_specs_end end = {.head.kind = RPC_SPECS_END, .generation = specs->generation};
    outbox_put_take(outbox, &end, (struct slice){0}, NULL, 0);
}
