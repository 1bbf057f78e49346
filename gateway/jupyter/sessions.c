/* sessions - /api/sessions: a path, a name and a type for a kernel. As jupyter_server has them:
 * POST of a path that has a session gives that session, and who deletes a session, or gives it
 * another kernel, ends its kernel. */
#include "base/cleanup.h"
#include "jupyter/exchange.h"
#include "jupyter/handlers.h"
#include "jupyter/session_table.h"

static json_t *session_model(const struct session *session, struct kernel *kernel) {
    json_t *model =
        json_pack("{s:s, s:s, s:s, s:s, s:o}", "id", session->id, "path", session->path, "name",
                  session->name, "type", session->type, "kernel", kernel_model(kernel));
    if (strcmp(session->type, "notebook") == 0) /* the form of older clients */
        json_object_set_new(model, "notebook",
                            json_pack("{s:s, s:s}", "path", session->path, "name", session->name));
    return model;
}

static void reply_session(struct exchange *exchange, int status, const struct session *session) {
    struct kernel *kernel = session_table_kernel(exchange->jupyter->sessions, session);
    cleanup_mem char *location =
        mem_format("%s/api/sessions/%s", base_url_of(exchange), session->id);
    reply_json(exchange->request, status, session_model(session, kernel),
               status == 201 ? &(struct http_header){"Location", location} : NULL);
}

/* 404 where there is none; ret_kernel is NULL where it is gone. */
static struct session *find_session(struct exchange *exchange, struct kernel **ret_kernel) {
    const char *id = exchange->arguments[0];
    struct session *session = session_table_find(exchange->jupyter->sessions, id);
    if (session)
        *ret_kernel = session_table_kernel(exchange->jupyter->sessions, session);
    else
        reply_error(exchange->request, 404, "session_not_found", "Session not found: %s", id);
    return session;
}

/* 404 also where its kernel is gone. */
static struct session *find_living(struct exchange *exchange, struct kernel **ret_kernel) {
    struct session *session = find_session(exchange, ret_kernel);
    if (!session || *ret_kernel)
        return session;
    reply_error(exchange->request, 404, "session_not_found",
                "Session not found: %s: its kernel %s is gone", session->id, session->kernel_id);
    return NULL;
}

/* -- bodies ----------------------------------------------------------------------------------- */

/* A text of the body; NULL where it is absent. False after an answer. */
static bool read_text(struct exchange *exchange, const json_t *body, const char *name,
                      const char **ret_text) {
    const json_t *value = get_member(body, name);
    uint64_t max = exchange->jupyter->context.params->session_name_bytes;
    if (value && !json_is_string(value)) {
        reply_error(exchange->request, 400, "invalid_session", "%s is not a string", name);
        return false;
    }
    if (json_string_length(value) > max) {
        reply_error(exchange->request, 400, "session_name_too_large",
                    "%s has %zu bytes, session_name_bytes allows %llu", name,
                    json_string_length(value), (unsigned long long)max);
        return false;
    }
    *ret_text = json_string_value(value);
    return true;
}

/* Older clients send {"notebook": {"path"}}, or its name there. */
static bool read_older_form(struct exchange *exchange, const json_t *body,
                            struct session_texts *texts) {
    const json_t *notebook = get_member(body, "notebook");
    if (texts->path || !json_is_object(notebook))
        return true;
    texts->type = "notebook";
    return read_text(exchange, notebook, "path", &texts->path) &&
           (texts->path || read_text(exchange, notebook, "name", &texts->path));
}

static bool read_texts(struct exchange *exchange, const json_t *body,
                       struct session_texts *ret_texts) {
    return read_text(exchange, body, "path", &ret_texts->path) &&
           read_text(exchange, body, "name", &ret_texts->name) &&
           read_text(exchange, body, "type", &ret_texts->type) &&
           read_older_form(exchange, body, ret_texts);
}

static void refuse_name(struct exchange *exchange, const char *name) {
    json_t *value = error_value(501, "kernelspec_not_found",
                                "there is no kernelspec named %s; pick another kernel", name);
    json_object_set_new(value, "short_message", json_sprintf("%s not found", name));
    reply_json(exchange->request, 501, value, NULL);
}

/* The member `kernel`, an object; an empty one where it is absent, NULL after an answer. The
 * caller's reference. */
static json_t *read_kernel(struct exchange *exchange, json_t *body) {
    json_t *value = json_object_get(body, "kernel");
    if (!value || json_is_null(value))
        return json_object();
    if (json_is_object(value))
        return json_incref(value);
    reply_error(exchange->request, 400, "invalid_kernel", "kernel is not an object");
    return NULL;
}

/* -- what is asked ---------------------------------------------------------------------------- */

static void append_model(void *context, const struct session *session, struct kernel *kernel) {
    json_array_append_new(context, session_model(session, kernel));
}

void sessions_list(struct exchange *exchange) {
    json_t *models = json_array();
    session_table_each(exchange->jupyter->sessions, append_model, models);
    reply_json(exchange->request, 200, models, NULL);
}

void sessions_get(struct exchange *exchange) {
    struct kernel *kernel;
    struct session *session = find_living(exchange, &kernel);
    if (session)
        reply_session(exchange, 200, session);
}

/* NULL after an answer. */
static struct session *create_session(struct exchange *exchange, const json_t *body,
                                      const json_t *wanted, const struct session_texts *texts) {
    struct session_table *table = exchange->jupyter->sessions;
    const json_t *id = get_member(wanted, "id");
    /* In the older form it says which kernel to take, never how a new one is named: whatever. */
    const json_t *new_id = get_member(body, "path") ? id : NULL;
    struct kernel_choice choice = {json_object_get(wanted, "name"), new_id, texts->path,
                                   refuse_name};
    if (!session_table_make_room(table)) {
        reply_error(exchange->request, 403, "max_session_names",
                    "there are %llu sessions, which is all that max_session_names allows",
                    (unsigned long long)exchange->jupyter->context.params->max_session_names);
        return NULL;
    }
    struct kernel *kernel = find_kernel_of(exchange, id);
    if (!kernel)
        kernel = start_kernel(exchange, body, &choice);
    return kernel ? session_table_add(table, texts, kernel) : NULL;
}

static void post(struct exchange *exchange, json_t *body, const struct session_texts *texts) {
    struct session *session = session_table_find_path(exchange->jupyter->sessions, texts->path);
    json_t *wanted = read_kernel(exchange, body);
    if (!wanted)
        return;
    if (!session)
        session = create_session(exchange, body, wanted, texts);
    if (session)
        reply_session(exchange, 201, session);
    json_decref(wanted);
}

void sessions_post(struct exchange *exchange) {
    json_t *body = read_body(exchange->request);
    struct session_texts texts = {0};
    if (!body)
        return;
    if (!read_texts(exchange, body, &texts)) {
        json_decref(body);
        return;
    }
    if (texts.path && texts.type)
        post(exchange, body, &texts);
    else
        reply_error(exchange->request, 400, "missing_field", "Missing field in JSON data: %s",
                    texts.path ? "type" : "path");
    json_decref(body);
}

/* The kernel that a session is to have; NULL after an answer. */
static struct kernel *choose_kernel(struct exchange *exchange, const json_t *body,
                                    const json_t *wanted, const char *path,
                                    struct kernel *present) {
    const json_t *id = get_member(wanted, "id"), *name = get_member(wanted, "name");
    if (!id && !name)
        return present;
    if (!id)
        return start_kernel(exchange, body, &(struct kernel_choice){name, NULL, path, refuse_name});
    struct kernel *kernel = find_kernel_of(exchange, id);
    if (!kernel)
        reply_error(exchange->request, 400, "kernel_not_found", "No such kernel: %s",
                    json_is_string(id) ? json_string_value(id) : "its id is not a string");
    return kernel;
}

static void patch(struct exchange *exchange, json_t *body, const struct session_texts *texts) {
    struct kernel *before;
    struct session *session = find_living(exchange, &before);
    json_t *wanted = session ? read_kernel(exchange, body) : NULL;
    if (!wanted)
        return;
    const char *path = texts->path ? texts->path : session->path;
    struct kernel *after = choose_kernel(exchange, body, wanted, path, before);
    json_decref(wanted);
    if (!after)
        return;
    session_set_texts(session, texts);
    session_set_kernel(session, after);
    if (after != before)
        kernel_delete(before, NULL);
    reply_session(exchange, 200, session);
}

void sessions_patch(struct exchange *exchange) {
    json_t *body = read_body(exchange->request);
    struct session_texts texts = {0};
    if (body && read_texts(exchange, body, &texts))
        patch(exchange, body, &texts);
    json_decref(body);
}

void sessions_delete(struct exchange *exchange) {
    struct kernel *kernel;
    struct session *session = find_session(exchange, &kernel);
    if (!session)
        return;
    session_table_remove(exchange->jupyter->sessions, session);
    if (kernel)
        delete_kernel(exchange, kernel);
    else
        reply_error(exchange->request, 410, "kernel_deleted", "Kernel deleted before session");
}
