/* load - from arguments, environment and file to parameters. The flags are read first, because they
 * name the file, but put last, because they win. */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "config/loader.h"

/* One flag with its value; text lies in argv. */
struct flag {
    const struct param_row *row;
    const char *text;
};

struct flags {
    struct flag *items;
    size_t count;
    int special; /* PARAMS_HELP, PARAMS_VERSION or 0 */
};

static int refuse_flag(const char *name, struct err *err) {
    char flag[PARAM_NAME_MAX] = "";
    const struct param_row *near = param_nearest(name, NULL);
    if (near)
        param_flag(near, flag);
    return err_set(err, EINVAL, "there is no flag --%.60s%s%s%s", name,
                   near ? ", did you mean " : "", flag, near ? "?" : " (--help lists them)");
}

/* The row of the flag whose name ends at end; flags have dashes and lower-case letters only. */
static const struct param_row *find_flag(const char *name, const char *end) {
    cleanup_mem char *copy = mem_copy_text(name, (size_t)(end - name));
    const struct param_row *row = param_find(copy);
    char flag[PARAM_NAME_MAX];
    if (!row)
        return NULL;
    param_flag(row, flag);
    return strcmp(flag + 2, copy) == 0 ? row : NULL;
}

/* Reads the flag at argv[*at] and moves *at to its last argument. */
static int read_flag(int argc, char *const argv[], int *at, struct flag *ret_flag,
                     struct err *err) {
    const char *name = argv[*at] + 2, *equals = strchrnul(name, '=');
    const struct param_row *row = find_flag(name, equals);
    if (!row) {
        cleanup_mem char *copy = mem_copy_text(name, (size_t)(equals - name));
        return refuse_flag(copy, err);
    }
    int size = (int)(equals - name);
    if (!row->type->placeholder) {
        if (*equals)
            return err_set(err, EINVAL, "--%.*s takes no value", size, name);
        *ret_flag = (struct flag){row, "true"};
        return 0;
    }
    if (*equals) {
        *ret_flag = (struct flag){row, equals + 1};
        return 0;
    }
    if (*at + 1 >= argc || strncmp(argv[*at + 1], "--", 2) == 0)
        return err_set(err, EINVAL, "--%.*s needs a value: --%.*s=%s", size, name, size, name,
                       row->type->placeholder);
    *ret_flag = (struct flag){row, argv[++*at]};
    return 0;
}

static int special_of(const char *argument) {
    if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0)
        return PARAMS_HELP;
    return strcmp(argument, "--version") == 0 ? PARAMS_VERSION : 0;
}

static int read_flags(int argc, char *const argv[], struct flags *flags, struct err *err) {
    for (int i = 1; i < argc; i++) {
        int special = special_of(argv[i]);
        if (special) {
            flags->special = special;
            return 0;
        }
        if (strncmp(argv[i], "--", 2) != 0 || !argv[i][2])
            return err_set(err, EINVAL, "unexpected argument \"%.60s\" (--help lists the flags)",
                           argv[i]);
        int r = read_flag(argc, argv, &i, &flags->items[flags->count], err);
        if (r < 0)
            return r;
        flags->count++;
    }
    return 0;
}

static int put_flags(struct loader *loader, const struct flags *flags, struct err *err) {
    loader_begin_source(loader);
    for (size_t i = 0; i < flags->count; i++) {
        const struct flag *flag = &flags->items[i];
        char name[PARAM_NAME_MAX];
        int r = loader_put(loader, flag->row, flag->text, err);
        param_flag(flag->row, name);
        if (r < 0)
            return err_wrap(err, "%s", name);
    }
    return 0;
}

/* Variables with our prefix that are no parameters are left alone, since others make such names too
 * (Kubernetes: CELLBLOCK_PORT for a service called so), unless they look like a slip of the pen. */
static int check_unknown_variable(const char *name, struct err *err) {
    size_t distance = 0;
    const struct param_row *near = param_nearest(name, &distance);
    if (!near || distance > 2 || 3 * distance > strlen(name))
        return 0;
    char variable[PARAM_NAME_MAX];
    param_variable(near, variable);
    return err_set(err, EINVAL, "there is no parameter CELLBLOCK_%.60s, did you mean %s?", name,
                   variable);
}

static int put_variable(struct loader *loader, const char *name, const char *value,
                        struct err *err) {
    const struct param_row *row = param_find(name);
    char variable[PARAM_NAME_MAX] = "";
    if (row)
        param_variable(row, variable);
    if (!row || strcmp(variable + strlen("CELLBLOCK_"), name) != 0)
        return check_unknown_variable(name, err);
    int r = loader_put(loader, row, value, err);
    return r < 0 ? err_wrap(err, "%s", variable) : 0;
}

static int put_environment(struct loader *loader, char *const environment[], struct err *err) {
    static const char prefix[] = "CELLBLOCK_";
    loader_begin_source(loader);
    for (; *environment; environment++) {
        const char *name = *environment + sizeof prefix - 1, *equals;
        if (strncmp(*environment, prefix, sizeof prefix - 1) != 0 || !(equals = strchr(name, '=')))
            continue;
        cleanup_mem char *copy = mem_copy_text(name, (size_t)(equals - name));
        int r = put_variable(loader, copy, equals + 1, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int load_sources(struct loader *loader, const struct flags *flags, char *const environment[],
                        struct err *err) {
    int r;
    /* Twice: first to learn the file's name, then over what it says. */
    if ((r = put_environment(loader, environment, err)) < 0 ||
        (r = put_flags(loader, flags, err)) < 0)
        return r;
    if (!*loader->params.config)
        return params_settle(&loader->params, err);
    struct loader again;
    loader_init(&again);
    if ((r = loader_read_file(&again, loader->params.config, err)) == 0 &&
        (r = put_environment(&again, environment, err)) == 0)
        r = put_flags(&again, flags, err);
    struct loader first = *loader;
    *loader = again;
    loader_finish(&first);
    return r < 0 ? r : params_settle(&loader->params, err);
}

int params_load(int argc, char *const argv[], char *const environment[], struct params *ret_params,
                struct err *err) {
    cleanup_mem struct flag *items = mem_zalloc((size_t)argc + 1, sizeof *items);
    struct flags flags = {.items = items};
    int r = read_flags(argc, argv, &flags, err);
    if (r < 0 || flags.special)
        return r < 0 ? r : flags.special;
    struct loader loader;
    loader_init(&loader);
    r = load_sources(&loader, &flags, environment, err);
    if (r == 0) {
        *ret_params = loader.params;
        loader.params = (struct params){0};
    }
    loader_finish(&loader);
    return r;
}

bool params_make_token(struct params *params) {
    if (params->no_token || *params->token)
        return false;
    uint8_t random[24];
    struct text token = {0};
    while (getrandom(random, sizeof random, 0) != sizeof random)
        ;
    for (size_t i = 0; i < sizeof random; i++)
        text_append_format(&token, "%02x", random[i]);
    mem_free(params->token);
    params->token = token.data;
    explicit_bzero(random, sizeof random);
    return true;
}
