/* session_table - the sessions of Jupyter's REST API: path, name and type, by which a client finds
 * its kernel again. Not to be confused with the room session, where one kernel is one session.
 * Its one complication: a session whose kernel is gone stays, since its deletion is answered
 * otherwise (410) than that of one which never was; it is unlisted, and the first to make room. */
#pragma once

#include "base/list.h"
#include "session/ids.h"
#include "session/kernels.h"

struct session_table;

struct session {
    struct list link;
    char id[ID_TEXT_SIZE], kernel_id[ID_TEXT_SIZE];
    char *path, *name, *type;
};

/* NULL: not given. */
struct session_texts {
    const char *path, *name, *type;
};

struct session_table *session_table_create(const struct kernels *kernels, size_t max);
void session_table_destroy(struct session_table *table);

/* Whether one more fits, at the cost of one whose kernel is gone. */
bool session_table_make_room(struct session_table *table);
/* There must be room. */
struct session *session_table_add(struct session_table *table, const struct session_texts *texts,
                                  const struct kernel *kernel);
void session_table_remove(struct session_table *table, struct session *session);
/* NULL where there is none; its kernel may be gone. */
struct session *session_table_find(const struct session_table *table, const char *id);
/* The oldest whose kernel is there; NULL where there is none. */
struct session *session_table_find_path(const struct session_table *table, const char *path);
/* NULL where it is gone. */
struct kernel *session_table_kernel(const struct session_table *table,
                                    const struct session *session);
/* Calls visit for every session whose kernel is there, oldest first. */
void session_table_each(const struct session_table *table,
                        void (*visit)(void *context, const struct session *session,
                                      struct kernel *kernel),
                        void *context);

void session_set_texts(struct session *session, const struct session_texts *texts);
void session_set_kernel(struct session *session, const struct kernel *kernel);
