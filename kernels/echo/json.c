#include "echo/json.h"

#include <assert.h>

#include "base/cleanup.h"
#include "msg/utf8.h"

static int append(const char *data, size_t size, void *text) {
    text_append(text, slice_make(data, size));
    return 0;
}

void json_append_consume(struct text *text, json_t *object) {
    int failed = json_dump_callback(object, append, text, JSON_COMPACT | JSON_ENCODE_ANY);
    assert(!failed);
    json_decref(object);
}

struct slice json_member_text(const json_t *object, const char *name) {
    const json_t *value = json_object_get(object, name);
    return slice_make(json_string_value(value), json_string_length(value));
}

bool json_member_flag(const json_t *object, const char *name, bool absent) {
    const json_t *value = json_object_get(object, name);
    return json_is_boolean(value) ? json_is_true(value) : absent;
}

int64_t json_member_number(const json_t *object, const char *name, int64_t absent) {
    const json_t *value = json_object_get(object, name);
    return json_is_integer(value) ? json_integer_value(value) : absent;
}

json_t *json_from_slice(struct slice value) {
    cleanup_text struct text mended = {0};
    utf8_append_mended(&mended, value);
    return json_stringn(mended.size ? mended.data : "", mended.size);
}

json_t *json_error(const char *ename, const char *evalue) {
    cleanup_text struct text line = {0};
    text_append_format(&line, "%s: %s", ename, evalue);
    return json_pack("{s:s, s:o, s:o, s:[o]}", "status", "error", "ename",
                     json_from_slice(slice_from_text(ename)), "evalue",
                     json_from_slice(slice_from_text(evalue)), "traceback",
                     json_from_slice(text_slice(&line)));
}
