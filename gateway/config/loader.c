#include "config/loader.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

static void put_default(struct params *params, const struct param_row *row) {
    struct err err;
    int r = row->type->read(row, row->value, param_member(row, params), &err);
    assert(r == 0 && "a default of params.def lies outside its own range");
    (void)r;
}

void loader_init(struct loader *loader) {
    *loader = (struct loader){.given = mem_zalloc(param_row_count, sizeof *loader->given)};
    for (size_t i = 0; i < param_row_count; i++)
        if (param_rows[i].name)
            put_default(&loader->params, &param_rows[i]);
}

void loader_finish(struct loader *loader) {
    params_finish(&loader->params);
    mem_free(loader->given);
    loader->given = NULL;
}

void loader_begin_source(struct loader *loader) {
    memset(loader->given, 0, param_row_count * sizeof *loader->given);
}

int loader_put(struct loader *loader, const struct param_row *row, const char *text,
               struct err *err) {
    bool *given = &loader->given[row - param_rows];
    void *member = param_member(row, &loader->params);
    if (row->type->is_list && !*given)
        row->type->finish(member);
    *given = true;
    return row->type->read(row, text, member, err);
}

bool loader_has(const struct loader *loader, const struct param_row *row) {
    return loader->given[row - param_rows];
}

void params_finish(struct params *params) {
    for (size_t i = 0; i < param_row_count; i++)
        if (param_rows[i].name)
            param_rows[i].type->finish(param_member(&param_rows[i], params));
    memset(params, 0, sizeof *params);
}
