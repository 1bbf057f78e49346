/* strings - a growing list of texts that ends in NULL, as exec wants it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* All zero is an empty list; items is NULL then. */
struct strings {
    char **items; /* items[count] is NULL */
    size_t count;
};

void strings_finish(struct strings *strings);
/* Takes over text, an allocation of base/mem.h. */
void strings_add_take(struct strings *strings, char *text);
void strings_add(struct strings *strings, const char *text);
bool strings_has(const struct strings *strings, const char *text);
/* Sets a "NAME=value" in place of one with that name, or adds it. Takes over assignment. */
void strings_assign_take(struct strings *strings, char *assignment);
