#include "warden/environment.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"

static const char default_path[] = "/usr/local/bin:/usr/bin:/bin";

static const char *const of_every_jail[] = {
    "HOME=/home/user", "USER=user", "LOGNAME=user", "LANG=C.UTF-8", "TMPDIR=/tmp",
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

int environment_build(const struct spec *spec, struct slice asked, struct strings *ret_environment,
                      struct err *err) {
    int result = check(asked, err);
    if (result < 0)
        return result;
    struct strings built = {0};
    strings_add_take(&built, spec->bin[0] ? mem_format("PATH=%s:%s", spec->bin, default_path)
                                          : mem_format("PATH=%s", default_path));
    for (size_t i = 0; i < sizeof of_every_jail / sizeof of_every_jail[0]; i++)
        strings_add(&built, of_every_jail[i]);
    for (size_t i = 0; i < spec->env.count; i++)
        strings_assign_take(&built, mem_strdup(spec->env.items[i]));
    for (size_t at = 0; at < asked.size;) {
        const char *text = (const char *)asked.data + at;
        strings_assign_take(&built, mem_strdup(text));
        at += strlen(text) + 1;
    }
    *ret_environment = built;
    return 0;
}
