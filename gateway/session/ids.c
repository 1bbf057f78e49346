#include "session/ids.h"

#include <assert.h>
#include <stdio.h>
#include <sys/random.h>
#include <time.h>

static void fill(void *data, size_t size) {
    ssize_t count = getrandom(data, size, 0);
    assert(count == (ssize_t)size); /* up to 256 bytes never come short: getrandom(2) */
}

void id_make(uint8_t ret_id[ID_BYTES]) {
    fill(ret_id, ID_BYTES);
    ret_id[6] = (ret_id[6] & 0x0f) | 0x40;
    ret_id[8] = (ret_id[8] & 0x3f) | 0x80;
}

static bool dash_before(int byte) {
    return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

void id_format(const uint8_t id[ID_BYTES], char ret_text[ID_TEXT_SIZE]) {
    char *at = ret_text;
    for (int i = 0; i < ID_BYTES; i++)
        at += snprintf(at, 4, dash_before(i) ? "-%02x" : "%02x", id[i]);
}

static int digit_of(uint8_t c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool id_parse(struct slice text, uint8_t ret_id[ID_BYTES]) {
    if (text.size != ID_TEXT_SIZE - 1)
        return false;
    uint8_t id[ID_BYTES];
    const uint8_t *at = text.data;
    for (int i = 0; i < ID_BYTES; i++, at += 2) {
        if (dash_before(i) && *at++ != '-')
            return false;
        int high = digit_of(at[0]), low = digit_of(at[1]);
        if (high < 0 || low < 0)
            return false;
        id[i] = (uint8_t)(high << 4 | low);
    }
    memcpy(ret_id, id, ID_BYTES);
    return true;
}

uint64_t id_seed(void) {
    uint64_t seed;
    fill(&seed, sizeof seed);
    return seed;
}

int64_t id_now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}
