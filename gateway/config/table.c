#include "config/table.h"

#include <ctype.h>
#include <string.h>

const struct param_row param_rows[] = {
#define PARAM(type, name, value, minimum, maximum, doc)                                            \
    {&param_type_##type, #name, value, minimum, maximum, doc, offsetof(struct params, name)},
#define PARAM_GROUP(title) {.doc = title},
#include "config/params.def"
};
const size_t param_row_count = sizeof param_rows / sizeof *param_rows;

/* One spelling for the three of a name. */
static char plain(char letter) {
    return letter == '-' ? '_' : (char)tolower((unsigned char)letter);
}

static bool is_name(const struct param_row *row, const char *name) {
    const char *own = row->name;
    for (; *own && *own == plain(*name); own++, name++)
        ;
    return !*own && !*name;
}

const struct param_row *param_find(const char *name) {
    for (size_t i = 0; i < param_row_count; i++)
        if (param_rows[i].name && is_name(&param_rows[i], name))
            return &param_rows[i];
    return NULL;
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Letters to insert, delete or replace (Levenshtein), one row of the matrix at a time. b is shorter
 * than PARAM_NAME_MAX. */
static size_t distance(const char *a, const char *b) {
    size_t row[PARAM_NAME_MAX], size = strlen(b);
    for (size_t j = 0; j <= size; j++)
        row[j] = j;
    for (size_t i = 0; a[i]; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < size; j++) {
            size_t replaced = diagonal + (plain(a[i]) != plain(b[j]));
            diagonal = row[j + 1];
            row[j + 1] = least(replaced, least(row[j], row[j + 1]) + 1);
        }
    }
    return row[size];
}

const struct param_row *param_nearest(const char *name, size_t *ret_distance) {
    const struct param_row *nearest = NULL;
    size_t size = strlen(name), best = size >= PARAM_NAME_MAX ? 0 : 2 + size / 6;
    for (size_t i = 0; i < param_row_count; i++) {
        size_t here = param_rows[i].name ? distance(name, param_rows[i].name) : SIZE_MAX;
        if (here > best || (nearest && here == best))
            continue;
        nearest = &param_rows[i];
        best = here;
    }
    if (nearest && ret_distance)
        *ret_distance = best;
    return nearest;
}

void param_flag(const struct param_row *row, char *ret_flag) {
    snprintf(ret_flag, PARAM_NAME_MAX, "--%s", row->name);
    for (char *at = ret_flag; (at = strchr(at, '_'));)
        *at = '-';
}

void param_variable(const struct param_row *row, char *ret_variable) {
    snprintf(ret_variable, PARAM_NAME_MAX, "CELLBLOCK_%s", row->name);
    for (char *at = ret_variable; *at; at++)
        *at = (char)toupper((unsigned char)*at);
}

void param_print_range(const struct param_row *row, struct text *out) {
    text_append_text(out, row->type->kind);
    if (!row->type->has_range)
        return;
    text_append_text(out, " from ");
    row->type->print(row, &row->minimum, out);
    text_append_text(out, " to ");
    row->type->print(row, &row->maximum, out);
}
