/* object - the rules for the JSON parts of a message that both WebSocket encodings share. */
#pragma once

#include "base/err.h"
#include "base/slice.h"

/* value, or {} where it is empty or null: what kernels and clients send for no parent. */
struct slice object_or_empty(struct slice value);

/* -EINVAL, with a sentence that begins with name, unless value is one JSON object in UTF-8: a
 * kernel would drop such a message without an answer, so it is refused before. */
int object_check(struct slice value, const char *name, struct err *err);
