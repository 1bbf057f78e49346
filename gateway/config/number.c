#include "config/number.h"

#include <inttypes.h>
#include <strings.h>

const struct number_unit number_plain[] = {{"", 1}, {NULL, 0}};
const struct number_unit number_bytes[] = {
    {"bytes", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {NULL, 0}};
const struct number_unit number_times[] = {
    {"ms", 1}, {"s", 1000}, {"min", 60000}, {"h", 3600000}, {NULL, 0}};

static uint64_t unit_size(const char *name, const struct number_unit *units) {
    if (!*name)
        return 1;
    for (; units->name; units++)
        if (strcasecmp(units->name, name) == 0)
            return units->size;
    return 0;
}

bool number_read(const char *text, const struct number_unit *units, uint64_t *ret_value) {
    uint64_t value = 0, size;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
            return false;
    if (at == text)
        return false;
    while (*at == ' ')
        at++;
    size = unit_size(at, units);
    if (size == 0 || __builtin_mul_overflow(value, size, &value) || value > INT64_MAX)
        return false;
    *ret_value = value;
    return true;
}

void number_print(uint64_t value, const struct number_unit *units, struct text *out) {
    const struct number_unit *unit = units;
    for (; value && unit[1].name && value % unit[1].size == 0; unit++)
        ;
    text_append_format(out, "%" PRIu64 "%s%s", value / unit->size, *unit->name ? " " : "",
                       unit->name);
}
