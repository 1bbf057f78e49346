#include "session/pending.h"

#include <string.h>

#include "base/mem.h"
#include "msg/types.h"
#include "session/ids.h"

void pending_init(struct pending *pending) {
    *pending = (struct pending){0};
    list_init(&pending->requests);
    map_init(&pending->by_key, id_seed());
}

void pending_finish(struct pending *pending) {
    struct request *request;
    list_for_each (request, &pending->requests, link)
        pending_remove(pending, request);
    map_finish(&pending->by_key);
}

/* A line feed cannot be told from the ids' own bytes, but then only the sender's own requests mix.
 */
static char *key_of(const struct msg_header *header) {
    return mem_format("%s\n%s", header->msg_id, header->session);
}

struct request *pending_add(struct pending *pending, struct kernel_client *client,
                            const char *session_id, const struct msg *msg,
                            const struct msg_header *header) {
    const struct msg_type *type = msg_type_from(slice_from_text(header->msg_type));
    if (!type->reply)
        return NULL;
    struct request *older = pending_find(pending, header);
    if (older)
        pending_remove(pending, older);
    struct request *request = mem_zalloc(1, sizeof *request);
    request->key = key_of(header);
    request->type = type;
    request->header = mem_copy_text(msg->header.data, msg->header.size);
    request->session_id = *session_id ? mem_strdup(session_id) : NULL;
    request->client = client;
    request->channel = msg->channel;
    list_append(&pending->requests, &request->link);
    map_put(&pending->by_key, slice_from_text(request->key), request);
    pending->count++;
    return request;
}

struct request *pending_find(const struct pending *pending, const struct msg_header *parent) {
    char *key = key_of(parent);
    struct request *request = map_get(&pending->by_key, slice_from_text(key));
    mem_free(key);
    return request;
}

void pending_remove(struct pending *pending, struct request *request) {
    map_remove(&pending->by_key, slice_from_text(request->key));
    list_remove(&request->link);
    pending->count--;
    mem_free(request->key);
    mem_free(request->header);
    mem_free(request->session_id);
    mem_free(request);
}

bool pending_is_busy(const struct pending *pending) {
    struct request *request;
    list_for_each (request, &pending->requests, link)
        if (request->type->tracked && request->busy && !request->idle)
            return true;
    return false;
}

bool pending_is_executing(const struct pending *pending) {
    struct request *request;
    list_for_each (request, &pending->requests, link) {
        if (request->type->id == MSG_TYPE_execute_request && !request->idle)
            return true;
    }
    return false;
}

void pending_forget_client(struct pending *pending, const struct kernel_client *client) {
    struct request *request;
    list_for_each (request, &pending->requests, link)
        if (request->client == client)
            request->client = NULL;
}

void pending_adopt(struct pending *pending, struct kernel_client *client, const char *session_id) {
    struct request *request;
    list_for_each (request, &pending->requests, link) {
        if (request->session_id && strcmp(request->session_id, session_id) == 0)
            request->client = client;
    }
}
