/* kernels_post - what starts a kernel: POST /api/kernels, which answers at once, and for sessions.
 * Its one complication: what a kernel is given comes from the kernelspec, from variables that are
 * meant for the gateway (KERNEL_CELLBLOCK, KERNEL_ID, KERNEL_WORKING_DIR) and from the body; which
 * kernelspec, the latter two may say. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "jupyter/exchange.h"
#include "jupyter/handlers.h"
#include "session/environment.h"
#include "session/ids.h"
#include "session/parameters.h"

/* What one body asks for. */
struct wish {
    const struct kernel_choice *choice;
    const json_t *env;    /* the member; NULL: absent */
    json_t *variable;     /* KERNEL_CELLBLOCK, parsed; NULL: absent */
    const json_t *member; /* "cellblock"; NULL: absent */
    const struct spec *spec;
    struct parameters parameters;
};

/* A text of JSON; an empty one is none. */
static int parse_variable(const struct params *params, const json_t *value, json_t **ret_parsed,
                          struct err *err) {
    json_error_t problem;
    size_t size = json_string_length(value);
    if (!value || (json_is_string(value) && size == 0))
        return 0;
    if (!json_is_string(value))
        return err_set(err, EINVAL, "it is not a string");
    if (size > params->kernel_env_value_bytes)
        return err_set(err, EINVAL, "it has %zu bytes, kernel_env_value_bytes allows %llu", size,
                       (unsigned long long)params->kernel_env_value_bytes);
    *ret_parsed = json_loadb(json_string_value(value), size, 0, &problem);
    return *ret_parsed ? 0
                       : err_set(err, EINVAL, "it is not JSON: column %d: %s", problem.column,
                                 problem.text);
}

/* The name of the kernelspec that is asked for; NULL after an answer. `kernel` wins over `name`,
 * which some clients always send (nbclient: python3). */
static const char *wanted_name(struct exchange *exchange, const struct wish *wish) {
    const json_t *name = wish->choice->name;
    if (name && !json_is_string(name) && !json_is_null(name)) {
        reply_error(exchange->request, 400, "invalid_name",
                    "the kernel's name is neither a string nor null");
        return NULL;
    }
    const char *wanted = parameters_kernel(wish->member);
    if (!wanted)
        wanted = parameters_kernel(wish->variable);
    if (!wanted && json_string_length(name) > 0)
        wanted = json_string_value(name);
    return wanted ? wanted : exchange->jupyter->context.params->default_kernel;
}

static int find_spec(struct exchange *exchange, struct wish *wish) {
    const char *name = wanted_name(exchange, wish);
    if (!name)
        return -EINVAL;
    wish->spec = specs_find(exchange->jupyter->context.specs, name);
    if (wish->spec)
        return 0;
    wish->choice->refuse_name(exchange, name);
    return -ENOENT;
}

static int refuse(struct exchange *exchange, const char *from, const struct err *err) {
    reply_error(exchange->request, 400, parameters_error_word(err->code), "%s: %s", from,
                err->text);
    return -err->code;
}

/* Later wins: the kernelspec, the body's env, KERNEL_CELLBLOCK, the member. */
static int read_parameters(struct exchange *exchange, struct wish *wish) {
    const struct parameters_context *context = exchange->jupyter->context.parameters;
    struct parameters *parameters = &wish->parameters;
    struct err err;
    if (parameters_read_metadata(context, spec_metadata(wish->spec), parameters, &err) < 0)
        return refuse(exchange, "the kernelspec", &err);
    if (wish->env && environment_merge(context->params, wish->env, ENVIRONMENT_PICK,
                                       parameters->env, &err) < 0) {
        reply_error(exchange->request, 400, "invalid_env", "%s", err.text);
        return -EINVAL;
    }
    if (parameters_read(context, wish->variable, GIVER_CLIENT, parameters, &err) < 0)
        return refuse(exchange, "KERNEL_CELLBLOCK", &err);
    if (parameters_read(context, wish->member, GIVER_CLIENT, parameters, &err) < 0)
        return refuse(exchange, "cellblock", &err);
    return 0;
}

static bool is_id(const json_t *value, uint8_t *ret_id) {
    return json_is_string(value) &&
           id_parse(slice_make(json_string_value(value), json_string_length(value)), ret_id);
}

/* An id that the client chose: in the body, else by the variable, which may be empty. False after
 * an answer. */
static bool read_id(struct exchange *exchange, const struct wish *wish, uint8_t *id,
                    const uint8_t **ret_id) {
    const json_t *chosen = wish->choice->id, *variable = json_object_get(wish->env, "KERNEL_ID");
    if (json_is_string(variable) && json_string_length(variable) == 0)
        variable = NULL;
    *ret_id = chosen || variable ? id : NULL;
    if ((!variable || is_id(variable, id)) && (!chosen || is_id(chosen, id)))
        return true;
    reply_error(exchange->request, 400, "invalid_kernel_id", "the kernel's id is no UUID");
    return false;
}

/* The variable is a folder of the client's machine, a path is as Jupyter's API names files: from
 * the top folder, which is the session's home here. */
static struct slice wanted_directory(const struct wish *wish) {
    const json_t *variable = json_object_get(wish->parameters.env, "KERNEL_WORKING_DIR");
    const char *path = wish->choice->path ? wish->choice->path : "";
    struct slice directory = json_string_length(variable)
                                 ? slice_from_text(json_string_value(variable))
                                 : slice_from_text(path + strspn(path, "/"));
    return directory.size < RPC_DIRECTORY_MAX ? directory : (struct slice){0};
}

static struct kernel *start_now(struct exchange *exchange, const struct kernel_start *start) {
    struct kernel *kernel;
    struct err err;
    int result = kernels_start(exchange->jupyter->context.kernels, start, &kernel, &err);
    if (result == 0)
        return kernel;
    if (result == -EEXIST)
        reply_error(exchange->request, 409, "duplicate_kernel", "Kernel already exists: %s",
                    err.text);
    else
        reply_error(exchange->request, 403, "max_kernels", "Resource Limit: %s", err.text);
    return NULL;
}

static struct kernel *start_wish(struct exchange *exchange, const struct wish *wish) {
    const struct parameters_context *context = exchange->jupyter->context.parameters;
    cleanup_text struct text environment = {0};
    uint8_t id[ID_BYTES];
    struct kernel_start start = {.spec = wish->spec,
                                 .directory = wanted_directory(wish),
                                 .limits = parameters_limits(context, &wish->parameters),
                                 .data_mask = wish->parameters.data_mask,
                                 .idle_ms = parameters_idle_ms(context, &wish->parameters)};
    struct err err;
    if (!read_id(exchange, wish, id, &start.id))
        return NULL;
    if (environment_write(context->params, wish->parameters.env, &environment,
                          &start.launch_timeout_ms, &err) < 0) {
        reply_error(exchange->request, 400, "invalid_env", "%s", err.text);
        return NULL;
    }
    start.environment = text_slice(&environment);
    start.parameters = parameters_show(context, &wish->parameters);
    struct kernel *kernel = start_now(exchange, &start);
    json_decref(start.parameters);
    return kernel;
}

struct kernel *start_kernel(struct exchange *exchange, const json_t *body,
                            const struct kernel_choice *choice) {
    struct wish wish = {
        .choice = choice, .env = get_member(body, "env"), .member = get_member(body, "cellblock")};
    struct kernel *kernel = NULL;
    struct err err;
    parameters_init(&wish.parameters);
    if (parse_variable(exchange->jupyter->context.params,
                       json_object_get(wish.env, "KERNEL_CELLBLOCK"), &wish.variable, &err) < 0)
        refuse(exchange, "KERNEL_CELLBLOCK", &err);
    else if (find_spec(exchange, &wish) == 0 && read_parameters(exchange, &wish) == 0)
        kernel = start_wish(exchange, &wish);
    parameters_finish(&wish.parameters);
    json_decref(wish.variable);
    return kernel;
}

static void refuse_name(struct exchange *exchange, const char *name) {
    reply_error(exchange->request, 404, "kernelspec_not_found", "there is no kernelspec named %s",
                name);
}

static void post(struct exchange *exchange, const json_t *body) {
    const json_t *id = get_member(body, "kernel_id"), *path = get_member(body, "path");
    struct kernel_choice choice = {json_object_get(body, "name"), id, json_string_value(path),
                                   refuse_name};
    if (path && !choice.path) {
        reply_error(exchange->request, 400, "invalid_path", "path is not a string");
        return;
    }
    /* As jupyter_server has it: a kernel that is there already is the answer. */
    struct kernel *kernel = find_kernel_of(exchange, id);
    if (!kernel)
        kernel = start_kernel(exchange, body, &choice);
    if (!kernel)
        return;
    cleanup_mem char *location =
        mem_format("%s/api/kernels/%s", base_url_of(exchange), kernel_id(kernel));
    reply_json(exchange->request, 201, kernel_model(kernel),
               &(struct http_header){"Location", location});
}

void kernels_post(struct exchange *exchange) {
    json_t *body = read_body(exchange->request);
    if (body)
        post(exchange, body);
    json_decref(body);
}
