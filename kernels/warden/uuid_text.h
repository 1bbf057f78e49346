/* uuid_text - a session's id as people read it. */
#pragma once

#include <stdint.h>

enum { UUID_TEXT_SIZE = 37 };

/* Lower-case, with hyphens, NUL-terminated. */
void uuid_text(const uint8_t uuid[16], char ret_text[UUID_TEXT_SIZE]);
