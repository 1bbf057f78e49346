/* small_file - a file that somebody else wrote, read whole: never waited for, never more than
 * asked.
 */
#pragma once

#include "base/err.h"
#include "base/text.h"

/* Appends what the regular file at path holds. -EFBIG above most bytes, -EINVAL for what is no
 * regular file (opening a pipe would wait for its other end). */
int small_file_read(const char *path, size_t most, struct text *ret_text, struct err *err);
