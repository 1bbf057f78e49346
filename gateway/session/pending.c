#include "session/pending.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
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

static struct request *find_key(const struct pending *pending, const char *key) {
    return map_get(&pending->by_key, slice_from_text(key));
}

struct request *pending_find(const struct pending *pending, const struct msg_header *parent) {
    char *key = key_of(parent);
    struct request *request = find_key(pending, key);
    mem_free(key);
    return request;
}

/* -- coming and going ------------------------------------------------------------------------- */

static size_t bytes_of(const struct request *request) {
    size_t key = strlen(request->key) + 1; /* the map holds it once more */
    size_t session_id = request->session_id ? strlen(request->session_id) + 1 : 0;
    return sizeof *request + 2 * key + strlen(request->header) + 1 + session_id;
}

static bool is_executing(const struct request *request) {
    return request->type->id == MSG_TYPE_execute_request && !request->failed && !request->replied &&
           !request->idle;
}

static bool is_busy(const struct request *request) {
    return request->type->tracked && request->busy && !request->idle;
}

/* Counts a request out before it changes, and in after. */
static void count(struct pending *pending, const struct request *request, size_t by) {
    pending->executing += is_executing(request) ? by : 0;
    pending->busy += is_busy(request) ? by : 0;
}

static void join_key(struct pending *pending, struct request *request) {
    struct request *oldest = find_key(pending, request->key);
    if (!oldest) {
        map_put(&pending->by_key, slice_from_text(request->key), request);
        oldest = request;
    } else
        oldest->youngest->younger = request;
    oldest->youngest = request;
}

static void leave_key(struct pending *pending, struct request *request) {
    struct slice key = slice_from_text(request->key);
    struct request *oldest = map_get(&pending->by_key, key);
    if (oldest == request && request->younger) {
        request->younger->youngest = request->youngest;
        map_put(&pending->by_key, key, request->younger);
    } else if (oldest == request)
        map_remove(&pending->by_key, key);
    else {
        struct request *older = oldest;
        while (older->younger != request)
            older = older->younger;
        older->younger = request->younger;
        if (oldest->youngest == request)
            oldest->youngest = older;
    }
}

static struct request *find_same(const struct pending *pending, const char *key,
                                 struct slice header) {
    struct request *request = find_key(pending, key);
    return request && slice_equal(slice_from_text(request->header), header) ? request : NULL;
}

struct request *pending_add(struct pending *pending, struct seat *seat, const char *session_id,
                            const struct msg *msg, const struct msg_header *header) {
    const struct msg_type *type = msg_type_from(slice_from_text(header->msg_type));
    if (!type->reply)
        return NULL;
    char *key = key_of(header);
    struct request *same = find_same(pending, key, msg->header);
    if (same) {
        same->is_shared |= same->seat != seat;
        mem_free(key);
        return same;
    }
    struct request *request = mem_zalloc(1, sizeof *request);
    request->key = key;
    request->type = type;
    request->header = mem_copy_text(msg->header.data, msg->header.size);
    request->session_id = *session_id ? mem_strdup(session_id) : NULL;
    request->seat = seat;
    request->channel = msg->channel;
    request->number = ++pending->last_number;
    list_append(&pending->requests, &request->link);
    join_key(pending, request);
    pending->count++;
    pending->bytes += bytes_of(request);
    count(pending, request, 1);
    return request;
}

void pending_remove(struct pending *pending, struct request *request) {
    leave_key(pending, request);
    list_remove(&request->link);
    pending->count--;
    pending->bytes -= bytes_of(request);
    count(pending, request, -1);
    mem_free(request->key);
    mem_free(request->header);
    mem_free(request->session_id);
    mem_free(request);
}

/* -- what the kernel says --------------------------------------------------------------------- */

static void remove_if_over(struct pending *pending, struct request *request) {
    if (request->replied && request->idle)
        pending_remove(pending, request);
}

struct request *pending_find_asker(struct request *oldest, enum msg_channel channel,
                                   const struct msg_type *reply) {
    struct request *request = oldest;
    while (request && (request->replied || request->channel != channel ||
                       strcmp(request->type->reply, reply->name) != 0))
        request = request->younger;
    return request;
}

void pending_note_reply(struct pending *pending, struct request *request) {
    assert(!request->replied);
    count(pending, request, -1);
    request->replied = true;
    count(pending, request, 1);
    remove_if_over(pending, request);
}

void pending_note_busy(struct pending *pending, struct request *oldest) {
    struct request *request = oldest;
    while (request && request->busy)
        request = request->younger;
    if (!request)
        return;
    count(pending, request, -1);
    request->busy = true;
    count(pending, request, 1);
}

void pending_note_idle(struct pending *pending, struct request *oldest) {
    struct request *request = oldest;
    while (request && request->idle)
        request = request->younger;
    if (!request)
        return;
    count(pending, request, -1);
    request->idle = true;
    count(pending, request, 1);
    remove_if_over(pending, request);
}

void pending_note_error(struct pending *pending, struct request *oldest) {
    count(pending, oldest, -1);
    oldest->failed = true;
    count(pending, oldest, 1);
}

/* -- seats ------------------------------------------------------------------------------------ */

const struct request *pending_find_busy(const struct pending *pending) {
    struct request *request;
    list_for_each (request, &pending->requests, link)
        if (is_busy(request))
            return request;
    return NULL;
}

void pending_forget_seat(struct pending *pending, const struct seat *seat) {
    struct request *request;
    list_for_each (request, &pending->requests, link)
        if (request->seat == seat)
            request->seat = NULL;
}

void pending_adopt(struct pending *pending, struct seat *seat, const char *session_id) {
    struct request *request;
    list_for_each (request, &pending->requests, link) {
        if (request->session_id && strcmp(request->session_id, session_id) == 0)
            request->seat = seat;
    }
}
