/* kernelspecs - /api/kernelspecs and their resources, from what the warden has read. */
#include <string.h>

#include "base/cleanup.h"
#include "jupyter/exchange.h"
#include "jupyter/handlers.h"

/* "logo-64x64.png" -> "logo-64x64": the key under which clients look for it. */
static char *resource_key(const char *file) {
    const char *dot = strrchr(file, '.');
    return mem_copy_text(file, dot ? (size_t)(dot - file) : strlen(file));
}

static json_t *spec_model(const struct exchange *exchange, const struct spec *spec) {
    json_t *resources = json_object();
    for (size_t i = 0; i < spec->resource_count; i++) {
        cleanup_mem char *key = resource_key(spec->resources[i].name);
        json_object_set_new(resources, key,
                            json_sprintf("%s/kernelspecs/%s/%s", base_url_of(exchange), spec->name,
                                         spec->resources[i].name));
    }
    json_t *content = json_copy(spec->content);
    /* Clients index these; a kernelspec may leave them out. */
    if (!json_object_get(content, "env"))
        json_object_set_new(content, "env", json_object());
    if (!json_object_get(content, "metadata"))
        json_object_set_new(content, "metadata", json_object());
    if (!json_object_get(content, "interrupt_mode"))
        json_object_set_new(content, "interrupt_mode", json_string("signal"));
    return json_pack("{s:s, s:o, s:o}", "name", spec->name, "spec", content, "resources",
                     resources);
}

void kernelspecs_list(struct exchange *exchange) {
    const struct jupyter_context *context = &exchange->jupyter->context;
    json_t *models = json_object();
    for (size_t i = 0; i < context->specs->count; i++)
        json_object_set_new(models, context->specs->entries[i]->name,
                            spec_model(exchange, context->specs->entries[i]));
    reply_json(
        exchange->request, 200,
        json_pack("{s:s, s:o}", "default", context->params->default_kernel, "kernelspecs", models),
        NULL);
}

static const struct spec *find_spec(struct exchange *exchange) {
    const struct spec *spec = specs_find(exchange->jupyter->context.specs, exchange->arguments[0]);
    if (!spec)
        reply_error(exchange->request, 404, "kernelspec_not_found",
                    "there is no kernelspec named %s", exchange->arguments[0]);
    return spec;
}

void kernelspecs_get(struct exchange *exchange) {
    const struct spec *spec = find_spec(exchange);
    if (spec)
        reply_json(exchange->request, 200, spec_model(exchange, spec), NULL);
}

static const char *type_of(const char *name) {
    static const struct {
        const char *ending, *type;
    } rows[] = {
        {".png", "image/png"}, {".svg", "image/svg+xml"},     {".js", "text/javascript"},
        {".css", "text/css"},  {".json", "application/json"},
    };
    const char *ending = strrchr(name, '.');
    for (size_t i = 0; ending && i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].ending, ending) == 0)
            return rows[i].type;
    return "application/octet-stream";
}

/* If-None-Match, RFC 9110 section 13.1.2: a list of tags, or "*". */
static bool has_it(const struct http_request *request, const char *etag) {
    struct slice tags = http_request_header(request, "If-None-Match");
    return slice_equal_text(tags, "*") ||
           (tags.size && memmem(tags.data, tags.size, etag, strlen(etag)));
}

/* PNGs may be kept for 30 days, as from Jupyter's servers; whatever else is asked for again with
 * its tag. */
static void reply_resource(struct http_request *request, const struct spec_resource *resource) {
    const char *type = type_of(resource->name);
    bool is_png = strcmp(type, "image/png") == 0;
    struct http_header headers[] = {{"ETag", resource->etag},
                                    {"Cache-Control", is_png ? "max-age=2592000" : "no-cache"},
                                    {"X-Content-Type-Options", "nosniff"},
                                    {"Content-Type", type}};
    if (has_it(request, resource->etag))
        http_reply(request, 304, headers, 2, NULL);
    else
        http_reply(request, 200, headers, 4, resource->content);
}

void kernelspecs_resource(struct exchange *exchange) {
    const struct spec *spec = find_spec(exchange);
    if (!spec)
        return;
    for (size_t i = 0; i < spec->resource_count; i++)
        if (strcmp(spec->resources[i].name, exchange->arguments[1]) == 0) {
            reply_resource(exchange->request, &spec->resources[i]);
            return;
        }
    reply_error(exchange->request, 404, "resource_not_found", "the kernelspec %s has no file %s",
                spec->name, exchange->arguments[1]);
}
