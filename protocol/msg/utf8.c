#include "msg/utf8.h"

/* The length of the character that more begins with, 0 where there is none. */
static size_t character_size(struct slice more) {
    for (size_t size = 1; size <= 4 && size <= more.size; size++)
        if (text_is_utf8(slice_make(more.data, size)))
            return size;
    return 0;
}

void utf8_append_mended(struct text *text, struct slice more) {
    if (text_is_utf8(more)) {
        text_append(text, more);
        return;
    }
    size_t begin = 0, i = 0;
    while (i < more.size) {
        size_t size = character_size(slice_from(more, i));
        if (!size) {
            text_append(text, slice_make(more.data + begin, i - begin));
            text_append_text(text, "\xef\xbf\xbd");
            begin = i + 1;
        }
        i += size ? size : 1;
    }
    text_append(text, slice_make(more.data + begin, i - begin));
}
