/* ids - random names: lower-case UUIDs of version 4 (RFC 9562 section 5.4). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

enum { ID_BYTES = 16, ID_TEXT_SIZE = 37 };

void id_make(uint8_t ret_id[ID_BYTES]);
void id_format(const uint8_t id[ID_BYTES], char ret_text[ID_TEXT_SIZE]);
/* False where text is no UUID; upper case is taken, any version too. */
bool id_parse(struct slice text, uint8_t ret_id[ID_BYTES]);
/* A random number, for hash seeds. */
uint64_t id_seed(void);
/* Microseconds since 1970, for dates in headers and models. */
int64_t id_now_us(void);
