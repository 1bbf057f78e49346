/* loader - parameters on their way: what each source gives is put over what was there. */
#pragma once

#include "config/table.h"

struct loader {
    struct params params;
    bool *given; /* per row: by the source that is being read */
};

/* All members hold their defaults. */
void loader_init(struct loader *loader);
void loader_finish(struct loader *loader);
/* From now on another source speaks. */
void loader_begin_source(struct loader *loader);
/* The first value from a source replaces, further ones add to lists. The sentence in err does not
 * name the parameter. */
int loader_put(struct loader *loader, const struct param_row *row, const char *text,
               struct err *err);
bool loader_has(const struct loader *loader, const struct param_row *row);

/* Reads a configuration file as one source. */
int loader_read_file(struct loader *loader, const char *path, struct err *err);

/* Refuses what does not go together, and gives values that stand for others what they stand for. */
int params_settle(struct params *params, struct err *err);
