/* span - where the members of a JSON object lie, without parsing what they hold: strings and
 * brackets are matched, nothing is decoded. Tolerant of NaN, Infinity, huge integers and lone
 * surrogates, since Python writes and reads them; bounded in depth. */
#pragma once

#include "base/err.h"
#include "base/slice.h"

/* Nesting deeper than this is refused. */
enum { SPAN_DEPTH_MAX = 512 };

/* Writes to ret_values[i] the value of the member names[i] (last one wins), .data NULL where it is
 * absent. count names; keys with escapes are compared after decoding simple escapes or never match.
 * -EINVAL with a sentence where json is not one object with only blanks around it. */
int span_members(struct slice json, const char *const *names, size_t count,
                 struct slice *ret_values, struct err *err);

/* First byte of the value says its kind. */
static inline bool span_is_object(struct slice value) {
    return value.size > 0 && value.data[0] == '{';
}
