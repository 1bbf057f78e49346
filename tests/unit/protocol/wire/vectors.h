/* vectors - reads the captured messages in the folder vectors, for tests. */
#pragma once

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "msg/msg.h"

/* One captured message: the words of its file's name, and its bytes. */
struct vector {
    char name[256], sender[16], channel[16], type[64];
    bool has_buffers, is_binary;
    struct bytes *bytes;
};

static inline struct bytes *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    static uint8_t data[1 << 16];
    size_t size = fread(data, 1, sizeof data, file);
    assert_true(size > 0 && size < sizeof data);
    fclose(file);
    return bytes_copy(slice_make(data, size));
}

static inline void read_vector(const char *folder, const char *name, struct vector *ret_vector) {
    struct vector vector = {0};
    char path[1024], end[16] = "";
    snprintf(path, sizeof path, "%s/vectors/%s/%s", TEST_DATA, folder, name);
    snprintf(vector.name, sizeof vector.name, "%s", name);
    int words = sscanf(name, "%*d-%15[a-z]-%15[a-z]-%63[a-z_]%15s", vector.sender, vector.channel,
                       vector.type, end);
    assert_int_equal(words, 4);
    vector.has_buffers = strncmp(end, "-buffers", 8) == 0;
    vector.is_binary = !strstr(end, ".json");
    vector.bytes = read_file(path);
    *ret_vector = vector;
}

static inline int is_visible(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

/* Calls check with every vector of folder, in the order of their names; returns their number. */
static inline int each_vector(const char *folder, void (*check)(const struct vector *)) {
    char path[1024];
    struct dirent **entries;
    snprintf(path, sizeof path, "%s/vectors/%s", TEST_DATA, folder);
    int count = scandir(path, &entries, is_visible, alphasort);
    assert_true(count > 0);
    for (int i = 0; i < count; i++) {
        struct vector vector;
        read_vector(folder, entries[i]->d_name, &vector);
        check(&vector);
        bytes_unref(vector.bytes);
        free(entries[i]);
    }
    free(entries);
    return count;
}

/* Cuts netstrings into parts; returns how many. */
static inline size_t read_netstrings(struct slice text, struct slice *parts, size_t room) {
    size_t count = 0;
    while (text.size) {
        size_t size = 0;
        while (text.size && *text.data != ':') {
            size = size * 10 + (size_t)(*text.data - '0');
            text = slice_from(text, 1);
        }
        assert_true(text.size >= size + 2 && count < room && text.data[size + 1] == ',');
        parts[count++] = slice_make(text.data + 1, size);
        text = slice_from(text, size + 2);
    }
    return count;
}
