#include "warden/environment.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "jail/jail.h"

static const char default_path[] = "/usr/local/bin:/usr/bin:/bin";

static const char *const of_every_jail[] = {
    "HOME=/home/user", "USER=user",   "LOGNAME=user",
    "LANG=C.UTF-8",    "TMPDIR=/tmp", "TEMP=/run/spare",
};

/* Each string has a name, "=" and an end. */
static int check(struct slice asked, struct err *err) {
    if (asked.size && asked.data[asked.size - 1] != 0)
        return err_set(err, EINVAL, "environment without an end");
    for (size_t at = 0; at < asked.size;) {
        const char *text = (const char *)asked.data + at;
        if (text[0] == '=' || !strchr(text, '='))
            return err_set(err, EINVAL, "environment string without a name");
        at += strlen(text) + 1;
    }
    return 0;
}

static const char *value_of(const struct strings *environment, struct slice name) {
    for (size_t i = 0; i < environment->count; i++) {
        const char *item = environment->items[i];
        if (name.size && strncmp(item, (const char *)name.data, name.size) == 0 &&
            item[name.size] == '=')
            return item + name.size + 1;
    }
    return NULL;
}

/* A reference at `at`, which is a "$": its name, and how long the whole of it is; 0 where it is
 * none. */
static size_t read_reference(const char *at, struct slice *ret_name) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    bool in_braces = at[1] == '{';
    const char *name = at + 1 + in_braces;
    size_t size = strspn(name, letters);
    *ret_name = slice_make(name, size);
    if (size == 0 || (name[0] >= '0' && name[0] <= '9') || (in_braces && name[size] != '}'))
        return 0;
    return 1 + size + (in_braces ? 2 : 0);
}

/* A few variables that each name the one before twice would fill any memory: what has become too
 * long is not made longer. */
static char *substitute(const struct strings *environment, const char *text) {
    struct text result = {0};
    text_append_text(&result, "");
    while (*text && result.size <= ENVIRONMENT_MAX) {
        struct slice name;
        size_t plain = strcspn(text, "$");
        text_append(&result, slice_make(text, plain));
        text += plain;
        if (!*text)
            break;
        size_t size = read_reference(text, &name);
        const char *value = size ? value_of(environment, name) : NULL;
        if (value)
            text_append_text(&result, value);
        else
            text_append(&result, slice_make(text, size ? size : 1));
        text += size ? size : 1 + (text[1] == '$'); /* "$$" is one */
    }
    return result.data;
}

/* Libraries that count the processors they may run on (sched_getaffinity) find all of the host's:
 * a session is not tied to some of them, because then those would be crowded while others rest. */
static const char *const thread_counts[] = {
    "OMP_NUM_THREADS",    "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS",
    "POLARS_MAX_THREADS", "PYTHON_CPU_COUNT",     "GOMAXPROCS",
};

/* Where the limit is lower than what there is. */
static void add_threads(struct strings *built, uint64_t cpus_milli) {
    unsigned cpus = jail_cpus(cpus_milli);
    if (cpus == jail_cpus(0))
        return;
    for (size_t i = 0; i < sizeof thread_counts / sizeof thread_counts[0]; i++)
        strings_add_take(built, mem_format("%s=%u", thread_counts[i], cpus));
}

/* For programs that cannot see how much there is: no cgroup is shown, and sysinfo(2) tells the
 * host's. A kernelspec's env passes it on in the program's own words. */
static void add_memory(struct strings *built, uint64_t bytes) {
    if (bytes)
        strings_add_take(built,
                         mem_format("CELLBLOCK_MEMORY_BYTES=%llu", (unsigned long long)bytes));
}

/* Adds the kernelspec's variables. */
static int add_specs(const struct spec *spec, struct strings *built, struct err *err) {
    size_t size = 0;
    for (size_t i = 0; i < spec->env.count; i++) {
        char *item = substitute(built, spec->env.items[i]);
        size += strlen(item) + 1;
        strings_assign_take(built, item);
        if (size > ENVIRONMENT_MAX)
            return err_set(err, E2BIG, "env: the variables take more than %d bytes",
                           ENVIRONMENT_MAX);
    }
    return 0;
}

int environment_build(const struct spec *spec, const struct rpc_limits *limits, struct slice asked,
                      struct strings *ret_environment, struct err *err) {
    int result = check(asked, err);
    if (result < 0)
        return result;
    struct strings built = {0};
    strings_add_take(&built, spec->bin[0] ? mem_format("PATH=%s:%s", spec->bin, default_path)
                                          : mem_format("PATH=%s", default_path));
    for (size_t i = 0; i < sizeof of_every_jail / sizeof of_every_jail[0]; i++)
        strings_add(&built, of_every_jail[i]);
    add_threads(&built, limits->cpus_milli);
    add_memory(&built, limits->memory_bytes);
    result = add_specs(spec, &built, err);
    if (result < 0) {
        strings_finish(&built);
        return result;
    }
    for (size_t at = 0; at < asked.size;) {
        const char *text = (const char *)asked.data + at;
        strings_assign_take(&built, mem_strdup(text));
        at += strlen(text) + 1;
    }
    *ret_environment = built;
    return 0;
}
