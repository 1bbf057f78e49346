#include "warden/uuid_text.h"

#include <stdio.h>

void uuid_text(const uint8_t uuid[16], char ret_text[UUID_TEXT_SIZE]) {
    char *at = ret_text;
    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *at++ = '-';
        at += sprintf(at, "%02x", uuid[i]);
    }
}
