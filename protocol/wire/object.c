#include "wire/object.h"

#include <errno.h>

#include "base/text.h"
#include "wire/span.h"

struct slice object_or_empty(struct slice value) {
    bool absent = value.size == 0 || slice_equal_text(value, "null");
    return absent ? SLICE_LITERAL("{}") : value;
}

int object_check(struct slice value, const char *name, struct err *err) {
    if (span_members(value, NULL, 0, NULL, err) < 0)
        return err_wrap(err, "%s", name), -EINVAL;
    if (!text_is_utf8(value))
        return err_set(err, EINVAL, "%s: not UTF-8", name);
    return 0;
}
