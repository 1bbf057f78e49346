/* comms - a comm of any target opens, and whatever is said to it comes back: content and buffers.
 * The data is never parsed, so what a JSON library would refuse (NaN, lone surrogates) returns too.
 */
#include "base/cleanup.h"
#include "echo/answer.h"
#include "echo/json.h"
#include "echo/kernel.h"
#include "echo/message.h"
#include "echo/publish.h"
#include "wire/span.h"

enum { COMMS_MAX = 10000 }; /* open at once; further ones are closed at once */

enum { COMM_ID, TARGET_NAME, DATA, MEMBER_COUNT };

/* Strings keep their quotes and escapes. False where content is no comm's. */
static bool read_comm(const struct request *request, struct slice ret_members[MEMBER_COUNT]) {
    static const char *const names[MEMBER_COUNT] = {"comm_id", "target_name", "data"};
    if (span_members(request->msg.content, names, MEMBER_COUNT, ret_members, NULL) < 0)
        return false;
    if (!ret_members[DATA].data)
        ret_members[DATA] = SLICE_LITERAL("{}");
    return ret_members[COMM_ID].size > 2 && ret_members[COMM_ID].data[0] == '"';
}

static void say(struct kernel *kernel, const struct request *request, const char *msg_type,
                const struct slice members[MEMBER_COUNT]) {
    cleanup_text struct text content = {0};
    text_append_text(&content, "{\"comm_id\":");
    text_append(&content, members[COMM_ID]);
    text_append_text(&content, ",\"data\":");
    text_append(&content, members[DATA]);
    text_append_text(&content, "}");
    publish_with_buffers(kernel, request, msg_type, text_slice(&content));
}

json_t *answer_comm_open(struct kernel *kernel, const struct request *request,
                         const json_t *content) {
    (void)content;
    struct slice members[MEMBER_COUNT];
    if (!read_comm(request, members))
        return NULL;
    if (kernel->comms.count >= COMMS_MAX) {
        say(kernel, request, "comm_close", members);
        return NULL;
    }
    struct slice target = members[TARGET_NAME];
    mem_free(map_put(&kernel->comms, members[COMM_ID], mem_copy_text(target.data, target.size)));
    say(kernel, request, "comm_msg", members);
    return NULL;
}

/* A message to a comm that is not open is answered as ipykernel does: not at all. */
json_t *answer_comm_msg(struct kernel *kernel, const struct request *request,
                        const json_t *content) {
    (void)content;
    struct slice members[MEMBER_COUNT];
    if (read_comm(request, members) && map_get(&kernel->comms, members[COMM_ID]))
        say(kernel, request, "comm_msg", members);
    return NULL;
}

json_t *answer_comm_close(struct kernel *kernel, const struct request *request,
                          const json_t *content) {
    (void)content;
    struct slice members[MEMBER_COUNT];
    if (!read_comm(request, members))
        return NULL;
    char *target = map_remove(&kernel->comms, members[COMM_ID]);
    if (target)
        say(kernel, request, "comm_close", members);
    mem_free(target);
    return NULL;
}

/* A JSON string as it came, or null where it is none. */
static json_t *load_string(struct slice text) {
    json_t *value =
        json_loadb((const char *)text.data, text.size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    return value ? value : json_null();
}

static void add_comm(json_t *comms, struct slice quoted_id, json_t *target) {
    json_t *id = load_string(quoted_id);
    if (json_is_string(id))
        json_object_setn_new(comms, json_string_value(id), json_string_length(id),
                             json_pack("{s:O}", "target_name", target));
    json_decref(id);
}

json_t *answer_comm_info(struct kernel *kernel, const struct request *request,
                         const json_t *content) {
    (void)request;
    json_t *wanted = json_object_get(content, "target_name"), *comms = json_object();
    size_t at = 0;
    struct slice id;
    void *quoted;
    while (map_next(&kernel->comms, &at, &id, &quoted)) {
        json_t *target = load_string(slice_from_text(quoted));
        if (!json_is_string(wanted) || json_equal(wanted, target))
            add_comm(comms, id, target);
        json_decref(target);
    }
    return json_pack("{s:s, s:o}", "status", "ok", "comms", comms);
}
