/* table - params.def as data: rows that know where their member lies and how it is read. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"
#include "config/params.h"

struct param_row;

/* A type of parameters. Members of a zeroed struct params may be finished, not printed. */
struct param_type {
    const char *placeholder; /* in --help; NULL for a bare flag */
    const char *kind;        /* in sentences and docs */
    bool is_list;
    bool is_secret;
    bool is_kept_back; /* from whoever reads params_write_fd's memfd */
    bool has_range;    /* minimum and maximum are of the value */
    /* Reads text into member: replaces what is there, adds to lists. The sentence in err begins
     * with the value and does not name the parameter. */
    int (*read)(const struct param_row *row, const char *text, void *member, struct err *err);
    /* Writes a text that read understands. */
    void (*print)(const struct param_row *row, const void *member, struct text *out);
    void (*finish)(void *member);
};

/* A parameter, or a heading, whose name is NULL and whose doc is the title. */
struct param_row {
    const struct param_type *type;
    const char *name;
    const char *value; /* the default */
    uint64_t minimum, maximum;
    const char *doc;
    size_t offset; /* of its member in struct params */
};

extern const struct param_row param_rows[];
extern const size_t param_row_count;

extern const struct param_type param_type_TEXT, param_type_SECRET, param_type_PATH,
    param_type_PATHS, param_type_NAMES, param_type_ORIGINS, param_type_FOLDERS, param_type_BOOL,
    param_type_COUNT, param_type_BYTES, param_type_MILLISECONDS, param_type_ADDRESSES,
    param_type_USERS, param_type_MODE;

static inline void *param_member(const struct param_row *row, struct params *params) {
    return (char *)params + row->offset;
}
static inline const void *param_value(const struct param_row *row, const struct params *params) {
    return (const char *)params + row->offset;
}

/* The row called name, where name may be written with dashes or in capitals; NULL where none is. */
const struct param_row *param_find(const char *name);
/* The row whose name is nearest, or NULL where none is near enough to be meant. ret_distance is the
 * number of letters to change and may be NULL. */
const struct param_row *param_nearest(const char *name, size_t *ret_distance);

/* The name as it stands on the command line / in the environment; size PARAM_NAME_MAX. */
enum { PARAM_NAME_MAX = 64 };
void param_flag(const struct param_row *row, char *ret_flag);
void param_variable(const struct param_row *row, char *ret_variable);

/* What the row takes: "a size from 1 KiB to 4 GiB". */
void param_print_range(const struct param_row *row, struct text *out);
