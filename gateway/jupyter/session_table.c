#include "jupyter/session_table.h"

#include <assert.h>
#include <stdio.h>

#include "base/map.h"
#include "base/mem.h"

struct session_table {
    const struct kernels *kernels;
    struct list all; /* of struct session, oldest first */
    struct map by_id;
    size_t max;
};

struct session_table *session_table_create(const struct kernels *kernels, size_t max) {
    struct session_table *table = mem_zalloc(1, sizeof *table);
    table->kernels = kernels;
    table->max = max;
    list_init(&table->all);
    map_init(&table->by_id, id_seed());
    return table;
}

void session_table_destroy(struct session_table *table) {
    struct session *session;
    list_for_each (session, &table->all, link)
        session_table_remove(table, session);
    map_finish(&table->by_id);
    mem_free(table);
}

bool session_table_make_room(struct session_table *table) {
    struct session *session;
    list_for_each (session, &table->all, link) {
        if (table->by_id.count < table->max)
            break;
        if (!session_table_kernel(table, session))
            session_table_remove(table, session);
    }
    return table->by_id.count < table->max;
}

static void set_text(char **text, const char *value) {
    if (!value)
        return;
    mem_free(*text);
    *text = mem_strdup(value);
}

void session_set_texts(struct session *session, const struct session_texts *texts) {
    set_text(&session->path, texts->path);
    set_text(&session->name, texts->name);
    set_text(&session->type, texts->type);
}

void session_set_kernel(struct session *session, const struct kernel *kernel) {
    snprintf(session->kernel_id, sizeof session->kernel_id, "%s", kernel_id(kernel));
}

struct session *session_table_add(struct session_table *table, const struct session_texts *texts,
                                  const struct kernel *kernel) {
    assert(table->by_id.count < table->max);
    struct session *session = mem_zalloc(1, sizeof *session);
    uint8_t id[ID_BYTES];
    id_make(id);
    id_format(id, session->id);
    session_set_texts(session, &(struct session_texts){"", "", ""});
    session_set_texts(session, texts);
    session_set_kernel(session, kernel);
    list_append(&table->all, &session->link);
    map_put(&table->by_id, slice_from_text(session->id), session);
    return session;
}

void session_table_remove(struct session_table *table, struct session *session) {
    map_remove(&table->by_id, slice_from_text(session->id));
    list_remove(&session->link);
    mem_free(session->path);
    mem_free(session->name);
    mem_free(session->type);
    mem_free(session);
}

struct session *session_table_find(const struct session_table *table, const char *id) {
    return map_get(&table->by_id, slice_from_text(id));
}

struct session *session_table_find_path(const struct session_table *table, const char *path) {
    struct session *session;
    list_for_each (session, &table->all, link) {
        if (strcmp(session->path, path) == 0 && session_table_kernel(table, session))
            return session;
    }
    return NULL;
}

struct kernel *session_table_kernel(const struct session_table *table,
                                    const struct session *session) {
    return kernels_find(table->kernels, session->kernel_id);
}

void session_table_each(const struct session_table *table,
                        void (*visit)(void *context, const struct session *session,
                                      struct kernel *kernel),
                        void *context) {
    struct session *session;
    list_for_each (session, &table->all, link) {
        struct kernel *kernel = session_table_kernel(table, session);
        if (kernel)
            visit(context, session, kernel);
    }
}
