/* span - where the members of a JSON object lie, without parsing what they hold: the grammar is
 * checked all the way down (RFC 8259), nothing is decoded or allocated. Tolerant of NaN, Infinity,
 * huge integers and lone surrogates, since Python writes and reads them; bounded in depth. Whether
 * strings are UTF-8 is the caller's to ask. */
#pragma once

#include "base/err.h"
#include "base/slice.h"

/* Nesting deeper than this is refused. */
enum { SPAN_DEPTH_MAX = 512 };
/* Integers of more digits are refused, as by Python (sys.set_int_max_str_digits): its kernels would
 * drop such a message without an answer. */
enum { SPAN_DIGITS_MAX = 4300 };
/* The most names that one call looks for. */
enum { SPAN_NAMES_MAX = 16 };

/* Writes to ret_values[i] the value of the member names[i] (last one wins), .data NULL where it is
 * absent. count names; keys with escapes are compared after decoding simple escapes or never match.
 * -EINVAL with a sentence where json is not one object with only blanks around it. */
int span_members(struct slice json, const char *const *names, size_t count,
                 struct slice *ret_values, struct err *err);

/* True where value, which span_members found, is a string that means text once unescaped. */
bool span_string_means(struct slice value, const char *text);

/* First byte of the value says its kind. */
static inline bool span_is_object(struct slice value) {
    return value.size > 0 && value.data[0] == '{';
}
