#include "warden/strings.h"

#include <string.h>

#include "base/mem.h"

void strings_finish(struct strings *strings) {
    for (size_t i = 0; i < strings->count; i++)
        mem_free(strings->items[i]);
    mem_free(strings->items);
    *strings = (struct strings){0};
}

void strings_add_take(struct strings *strings, char *text) {
    strings->items = mem_realloc(strings->items, (strings->count + 2) * sizeof *strings->items);
    strings->items[strings->count++] = text;
    strings->items[strings->count] = NULL;
}

void strings_add(struct strings *strings, const char *text) {
    strings_add_take(strings, mem_strdup(text));
}

bool strings_has(const struct strings *strings, const char *text) {
    for (size_t i = 0; i < strings->count; i++)
        if (strcmp(strings->items[i], text) == 0)
            return true;
    return false;
}

void strings_assign_take(struct strings *strings, char *assignment) {
    size_t name_size = strcspn(assignment, "=") + 1;
    for (size_t i = 0; i < strings->count; i++)
        if (strncmp(strings->items[i], assignment, name_size) == 0) {
            mem_free(strings->items[i]);
            strings->items[i] = assignment;
            return;
        }
    strings_add_take(strings, assignment);
}
