#include "warden/bound.h"

#include <errno.h>

#include "base/cleanup.h"
#include "jail/jail.h"
#include "warden/say.h"

static void say_once_take(struct strings *said, char *line) {
    if (strings_has(said, line)) {
        mem_free(line);
        return;
    }
    say("%s", line);
    strings_add_take(said, line);
}

static void say_one(struct strings *said, const char *name, const char *source) {
    struct err err;
    if (jail_try_overlay(source, &err) < 0)
        say_once_take(
            said, mem_format("%s: %s is bound, as no overlay shows it (%s): sessions can notice "
                             "each other by inotify and file locks on it",
                             name, source, err.text));
}

static void say_spec(struct strings *said, const struct spec *spec) {
    cleanup_mem char *name = mem_format("kernelspec %s", spec->name);
    const struct strings *sources = &spec->trees.sources;
    for (size_t i = 0; i < sources->count; i++)
        say_one(said, name, sources->items[i]);
}

static void say_data(struct strings *said, const struct data_folder *folder) {
    struct err err;
    /* One that is gone has been said already. */
    if (jail_try_overlay(folder->source, &err) < 0 && err.code != ENOENT)
        say_once_take(said,
                      mem_format("data folder %s is bound, as no overlay shows it (%s): "
                                 "sessions can read where it lies in the list of their mounts",
                                 folder->name, err.text));
}

void bound_say(const struct specs *specs, const struct data *data, struct strings *said) {
    for (size_t i = 0; i < data->count; i++)
        say_data(said, &data->items[i]);
    say_one(said, "every kernelspec", "/usr");
    for (uint32_t number = 1; number <= specs->count; number++) {
        const struct spec *spec = specs_find(specs, number);
        if (spec)
            say_spec(said, spec);
    }
}
