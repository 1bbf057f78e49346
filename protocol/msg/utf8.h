/* utf8 - UTF-8 from those who promise it and may not keep it: kernels, file names, error texts. */
#pragma once

#include "base/slice.h"
#include "base/text.h"

/* Appends more with U+FFFD in the place of every byte that is no part of a character. */
void utf8_append_mended(struct text *text, struct slice more);
