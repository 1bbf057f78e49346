/* me - /api/me: who asks, and what they may do. Whoever is let in is the owner and may everything,
 * whatever name the connection tells; the question for permissions is answered in jupyter_server's
 * form. */
#include <string.h>

#include "base/cleanup.h"
#include "jupyter/exchange.h"
#include "jupyter/handlers.h"

static bool is_list_of_texts(const json_t *value) {
    size_t i;
    const json_t *item;
    json_array_foreach(value, i, item) {
        if (!json_is_string(item))
            return false;
    }
    return json_is_array(value);
}

/* {"RESOURCE": ["ACTION", ...]} */
static bool is_question(const json_t *value) {
    const char *resource;
    json_t *actions;
    json_object_foreach((json_t *)value, resource, actions) {
        if (!is_list_of_texts(actions))
            return false;
    }
    return json_is_object(value);
}

/* What the query asks for; NULL after an answer. */
static json_t *read_question(struct http_request *request) {
    cleanup_mem char *text = http_query_get(http_request_query(request), "permissions");
    if (!text || !*text)
        return json_object();
    json_t *asked = json_loads(text, 0, NULL);
    if (is_question(asked))
        return asked;
    json_decref(asked);
    reply_error(request, 400, "invalid_permissions",
                "permissions is not JSON of the form {\"RESOURCE\": [\"ACTION\"]}");
    return NULL;
}

/* The name that the connection itself tells (owned); "owner" for who shows the token. */
static char *name_user(const struct http_peer *peer) {
    if (peer->subject)
        return mem_strdup(peer->subject);
    return peer->has_user ? mem_format("user %u", peer->user) : mem_strdup("owner");
}

static json_t *identity_of(const struct http_peer *peer) {
    cleanup_mem char *name = name_user(peer);
    bool is_owner = strcmp(name, "owner") == 0;
    const char *shown = is_owner ? "Owner" : name;
    return json_pack("{s:s, s:s, s:s, s:s, s:n, s:n}", "username", name, "name", shown,
                     "display_name", shown, "initials", "O", "avatar_url", "color");
}

void me_get(struct exchange *exchange) {
    json_t *permissions = read_question(exchange->request);
    if (!permissions)
        return;
    /* Which of the members below a client may change (JupyterLab 4.4): none. */
    json_object_set_new(permissions, "updatable_fields", json_array());
    json_t *identity = identity_of(http_request_peer(exchange->request));
    reply_json(exchange->request, 200,
               json_pack("{s:o, s:o}", "identity", identity, "permissions", permissions), NULL);
}
