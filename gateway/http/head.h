/* head - the scan of a request's head that comes before llhttp, which in one version or another
 * takes bare line ends, folded lines, empty names and other protocols (RFC 9112 sections 2.2, 3,
 * 5.1, 5.2). Each byte is looked at once, however the head arrives. */
#pragma once

#include <stddef.h>

#include "base/slice.h"
#include "http/http.h"
#include "http/refusal.h"

/* All zero before the first byte. Offsets count from the first byte after the previous request. */
struct head_scan {
    size_t at;    /* bytes looked at; the size of the head once it is whole */
    size_t begin; /* of the request line: 2 behind an empty line, else 0 */
    size_t line;  /* where the present line begins */
    size_t target, target_end;
    unsigned lines;       /* ended ones: the request line and then one a header */
    bool carriage_return; /* the byte before at */
};

enum head_state { HEAD_MORE, HEAD_WHOLE, HEAD_REFUSED };

/* input begins at the first byte of the head, and is longer at each call. */
enum head_state head_scan(struct head_scan *scan, struct slice input,
                          const struct http_limits *limits, struct refusal *ret_refusal);

/* Where the pieces lie in a head that was found whole. */
struct slice head_method(const struct head_scan *scan, const uint8_t *input);
struct slice head_target(const struct head_scan *scan, const uint8_t *input);
