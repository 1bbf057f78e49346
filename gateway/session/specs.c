#include "session/specs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "session/environment.h"

/* The whole of a regular file, or NULL with a sentence. */
static struct bytes *read_whole(int fd, const char *name, struct err *err) {
    cleanup_text struct text content = {0};
    uint8_t chunk[16 * 1024];
    for (off_t at = 0;; at = (off_t)content.size) {
        ssize_t count = pread(fd, chunk, sizeof chunk, at);
        if (count < 0) {
            err_errno(err, errno, "read %s", name);
            return NULL;
        }
        if (count == 0)
            return bytes_copy(text_slice(&content));
        text_append(&content, slice_make(chunk, (size_t)count));
        if (content.size > SPEC_FILE_MAX) {
            err_set(err, EFBIG, "%s is larger than %d bytes", name, SPEC_FILE_MAX);
            return NULL;
        }
    }
}

static void destroy(struct spec *spec) {
    for (size_t i = 0; i < spec->resource_count; i++) {
        mem_free(spec->resources[i].name);
        bytes_unref(spec->resources[i].content);
    }
    json_decref(spec->content);
    mem_free(spec->name);
    mem_free(spec);
}

static bool is_list_of_strings(const json_t *value) {
    size_t i;
    const json_t *item;
    json_array_foreach(value, i, item) {
        if (!json_is_string(item))
            return false;
    }
    return json_array_size(value) > 0; /* 0 also for what is no array */
}

/* Absent, or one of the two that Jupyter knows. */
static bool is_interrupt_mode(const json_t *value) {
    const char *mode = json_string_value(value);
    return !value || (mode && (strcmp(mode, "signal") == 0 || strcmp(mode, "message") == 0));
}

/* What JupyterLab's validator demands (contract 1.1), else it drops the kernelspec in silence. */
static int check(const json_t *content, struct err *err) {
    if (!json_is_object(content))
        return err_set(err, EINVAL, "kernel.json is not an object");
    if (!is_list_of_strings(json_object_get(content, "argv")))
        return err_set(err, EINVAL, "argv is not a list of strings");
    static const char *const strings[] = {"display_name", "language"};
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        if (!json_is_string(json_object_get(content, strings[i])))
            return err_set(err, EINVAL, "%s is not a string", strings[i]);
    static const char *const objects[] = {"env", "metadata"};
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
        const json_t *value = json_object_get(content, objects[i]);
        if (value && !json_is_object(value))
            return err_set(err, EINVAL, "%s is not an object", objects[i]);
    }
    if (!is_interrupt_mode(json_object_get(content, "interrupt_mode")))
        return err_set(err, EINVAL, "interrupt_mode is neither signal nor message");
    return 0;
}

/* As Jupyter names kernelspecs; their files stand behind them in URLs. */
static int check_name(const char *name, struct err *err) {
    static const char taken[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-%";
    if (*name && strspn(name, taken) == strlen(name) && strcmp(name, ".") && strcmp(name, ".."))
        return 0;
    return err_set(err, EINVAL, "a name of it has other characters than letters, digits and _.-%%");
}

const json_t *spec_metadata(const struct spec *spec) {
    return json_object_get(spec->content, "metadata");
}

static int check_parameters(const struct spec *spec, const struct parameters_context *context,
                            struct err *err) {
    struct parameters parameters;
    cleanup_text struct text environment = {0};
    int64_t timeout_ms;
    parameters_init(&parameters);
    int result = parameters_read_metadata(context, spec_metadata(spec), &parameters, err);
    if (result == 0 &&
        environment_write(context->params, parameters.env, &environment, &timeout_ms, err) < 0)
        result = err_wrap(err, "metadata.cellblock");
    parameters_finish(&parameters);
    return result;
}

static int load_content(struct spec *spec, int fd, struct err *err) {
    cleanup_bytes struct bytes *text = read_whole(fd, "kernel.json", err);
    if (!text)
        return -err->code;
    json_error_t problem;
    spec->content = json_loadb((const char *)text->data, text->size, 0, &problem);
    if (!spec->content)
        return err_set(err, EINVAL, "kernel.json line %d: %s", problem.line, problem.text);
    const char *mode = json_string_value(json_object_get(spec->content, "interrupt_mode"));
    spec->interrupt_by_message = mode && strcmp(mode, "message") == 0;
    return check(spec->content, err);
}

/* FNV-1a: two versions of a logo must differ, nobody is kept from making them alike. */
static void write_etag(struct spec_resource *resource) {
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < resource->content->size; i++)
        hash = (hash ^ resource->content->data[i]) * 0x100000001b3;
    snprintf(resource->etag, sizeof resource->etag, "\"%016llx\"", (unsigned long long)hash);
}

static int load_resources(struct spec *spec, const struct rpc_packet *packet, struct err *err) {
    for (size_t i = 1; i < packet->fd_count && i < RPC_SPEC_FILES_MAX; i++) {
        const char *name = packet->spec.files[i];
        int result = check_name(name, err);
        if (result < 0)
            return result;
        struct bytes *content = read_whole(packet->fds[i], name, err);
        if (!content)
            return -err->code;
        struct spec_resource *resource = &spec->resources[spec->resource_count++];
        *resource = (struct spec_resource){.name = mem_copy_text(name, strnlen(name, 64)),
                                           .content = content};
        write_etag(resource);
    }
    return 0;
}

static void insert(struct specs *specs, struct spec *spec) {
    size_t at = 0;
    while (at < specs->count && strcmp(specs->entries[at]->name, spec->name) < 0)
        at++;
    if (at < specs->count && strcmp(specs->entries[at]->name, spec->name) == 0) {
        destroy(specs->entries[at]);
        specs->entries[at] = spec;
        return;
    }
    specs->entries = mem_realloc(specs->entries, (specs->count + 1) * sizeof *specs->entries);
    memmove(specs->entries + at + 1, specs->entries + at,
            (specs->count - at) * sizeof *specs->entries);
    specs->entries[at] = spec;
    specs->count++;
}

int specs_add(struct specs *specs, const struct parameters_context *context,
              const struct rpc_packet *packet, struct err *err) {
    struct spec *spec = mem_zalloc(1, sizeof *spec);
    spec->name = mem_copy_text(packet->spec.name, strnlen(packet->spec.name, RPC_NAME_MAX));
    spec->number = packet->spec.spec;
    spec->generation = packet->spec.generation;
    spec->transport = packet->spec.transport;
    int result = check_name(spec->name, err);
    if (result == 0 && packet->fd_count == 0)
        result = err_set(err, EINVAL, "no kernel.json");
    if (result == 0)
        result = load_content(spec, packet->fds[0], err);
    if (result == 0)
        result = check_parameters(spec, context, err);
    if (result == 0)
        result = load_resources(spec, packet, err);
    if (result < 0) {
        err_wrap(err, "kernelspec %s", spec->name);
        destroy(spec);
        return result;
    }
    insert(specs, spec);
    return 0;
}

void specs_keep_generation(struct specs *specs, uint32_t generation) {
    size_t kept = 0;
    for (size_t i = 0; i < specs->count; i++) {
        if (specs->entries[i]->generation == generation)
            specs->entries[kept++] = specs->entries[i];
        else
            destroy(specs->entries[i]);
    }
    specs->count = kept;
    specs->generation = generation;
}

const struct spec *specs_find(const struct specs *specs, const char *name) {
    for (size_t i = 0; i < specs->count; i++)
        if (strcasecmp(specs->entries[i]->name, name) == 0)
            return specs->entries[i];
    return NULL;
}

void specs_finish(struct specs *specs) {
    for (size_t i = 0; i < specs->count; i++)
        destroy(specs->entries[i]);
    mem_free(specs->entries);
    *specs = (struct specs){0};
}
