/* fuzz_span - any bytes as a JSON object, held against jansson: what it accepts we accept, up to
 * our depth, with the same members; what only we accept is one of the four things that span lets
 * pass. */
#include <errno.h>
#include <jansson.h>

#include "base/text.h"
#include "fuzz_check.h"
#include "wire/span.h"

static const char *const names[] = {"a", "content", "", "\"\\/\n"};
enum { NAME_COUNT = sizeof names / sizeof *names };

static json_t *load(struct slice json, size_t flags, json_error_t *ret_error) {
    return json_loadb((const char *)json.data, json.size, flags | JSON_ALLOW_NUL, ret_error);
}

static void check_members(json_t *object, const struct slice *values) {
    for (size_t i = 0; i < NAME_COUNT; i++) {
        json_t *wanted = json_object_get(object, names[i]);
        assert((wanted != NULL) == (values[i].data != NULL));
        if (!wanted)
            continue;
        json_error_t error;
        json_t *found = load(values[i], JSON_DECODE_ANY, &error);
        assert(found && json_equal(found, wanted));
        if (json_is_string(wanted) && strlen(json_string_value(wanted)) < 2)
            assert(span_string_means(values[i], json_string_value(wanted)) ==
                   (json_string_length(wanted) == strlen(json_string_value(wanted)) &&
                    (json_string_value(wanted)[0] & 0x80) == 0));
        json_decref(found);
    }
}

static bool contains(struct slice json, const char *word) {
    return memmem(json.data, json.size, word, strlen(word)) != NULL;
}

/* Why jansson refused what span accepted: not UTF-8, NaN or Infinity, numbers that are too large,
 * lone surrogates; and NUL in a key or more than 2048 levels, which are jansson's own bounds. */
static bool is_known(struct slice json, const json_error_t *error) {
    switch (json_error_code(error)) {
    case json_error_numeric_overflow:
    case json_error_null_byte_in_key:
    case json_error_stack_overflow:
        return true;
    default:
        return !text_is_utf8(json) || strstr(error->text, "invalid Unicode") ||
               contains(json, "NaN") || contains(json, "Infinity");
    }
}

/* Where jansson is the one who takes too much: more levels, and a NUL byte behind a number. */
static bool is_right_refusal(struct slice json, const struct err *err) {
    return strstr(err->text, "nested too deeply") || memchr(json.data, 0, json.size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct slice json = slice_make(data, size), values[NAME_COUNT];
    struct err err = {0};
    int refused = span_members(json, names, NAME_COUNT, values, &err);
    assert(refused == 0 || (refused == -EINVAL && err.code == EINVAL && err.text[0]));
    for (size_t i = 0; !refused && i < NAME_COUNT; i++)
        if (values[i].data)
            check_inside(values[i], json);

    json_error_t error;
    json_t *object = load(json, 0, &error);
    if (json_is_object(object)) {
        assert(!refused || is_right_refusal(json, &err));
        if (!refused)
            check_members(object, values);
    } else {
        assert(refused || is_known(json, &error));
    }
    json_decref(object);
    return 0;
}
