#include "wire/stream_parts.h"

#include "wire/span.h"

enum { ESCAPE = 2, UNICODE_ESCAPE = 6 }; /* bytes of \n and of \u0000 */

/* -- where a text may be cut ------------------------------------------------------------------ */

static bool is_unicode_escape(struct slice text) {
    return text.size >= UNICODE_ESCAPE && text.data[0] == '\\' && text.data[1] == 'u';
}

/* \uD800 to \uDBFF: the first half of a character. */
static bool is_high_surrogate(struct slice text) {
    static const char halves[] = "89abAB";
    return is_unicode_escape(text) && (text.data[2] | 0x20) == 'd' && strchr(halves, text.data[3]);
}

/* The bytes of the escape that text begins with, or of two that are one character. */
static size_t escape_size(struct slice text) {
    if (!is_unicode_escape(text))
        return ESCAPE;
    bool is_pair = is_high_surrogate(text) && is_unicode_escape(slice_from(text, UNICODE_ESCAPE));
    return is_pair ? 2 * UNICODE_ESCAPE : UNICODE_ESCAPE;
}

/* The end of the last character that begins before end and ends there or earlier; what is not UTF-8
 * is cut anywhere, but not before begin, where an escape may end. */
static size_t back_to_character(struct slice text, size_t begin, size_t end) {
    size_t at = end;
    for (int i = 0; i < 3 && at > begin && (text.data[at] & 0xc0) == 0x80; i++)
        at--;
    return at > 0 && (text.data[at] & 0xc0) != 0x80 ? at : end;
}

/* How much of the inside of a JSON string, which is larger than that, the first part takes. */
static size_t find_cut(struct slice text) {
    size_t at = 0;
    for (;;) {
        const uint8_t *escape = memchr(text.data + at, '\\', STREAM_PART_MAX - at);
        if (!escape)
            return back_to_character(text, at, STREAM_PART_MAX);
        at = (size_t)(escape - text.data);
        size_t size = escape_size(slice_from(text, at));
        if (at + size > STREAM_PART_MAX)
            return at;
        at += size;
    }
}

/* -- the parts -------------------------------------------------------------------------------- */

bool stream_parts_begin(struct stream_parts *parts, const struct msg *msg,
                        const struct msg_header *header) {
    static const char *const text_name = "text", *const id_name = "msg_id";
    struct slice text, id;
    if (msg->content.size <= STREAM_PART_MAX || msg->buffer_count ||
        span_members(msg->content, &text_name, 1, &text, NULL) < 0 ||
        span_members(msg->header, &id_name, 1, &id, NULL) < 0)
        return false;
    bool are_strings = text.size && text.data[0] == '"' && id.size && id.data[0] == '"';
    if (!are_strings || text.size - 2 <= STREAM_PART_MAX ||
        msg_size(msg) - text.size > STREAM_REST_MAX)
        return false;
    size_t begin = (size_t)(text.data - msg->content.data) + 1, size = text.size - 2;
    *parts = (struct stream_parts){.msg = *msg,
                                   .header = *header,
                                   .whole = msg,
                                   .whole_header = header,
                                   .before = slice_make(msg->content.data, begin),
                                   .left = slice_make(text.data + 1, size),
                                   .behind = slice_from(msg->content, begin + size),
                                   .msg_id = id};
    return true;
}

/* The header with the part's number at the end of its msg_id, whatever escapes that has. */
static void number_header(struct stream_parts *parts) {
    struct slice header = parts->whole->header;
    size_t at = (size_t)(parts->msg_id.data - header.data) + parts->msg_id.size - 1;
    text_finish(&parts->header_json);
    text_finish(&parts->part_id);
    text_append(&parts->header_json, slice_make(header.data, at));
    text_append_format(&parts->header_json, ".%u", parts->number);
    text_append(&parts->header_json, slice_from(header, at));
    text_append_format(&parts->part_id, "%s.%u", parts->whole_header->msg_id, parts->number);
    parts->msg.header = text_slice(&parts->header_json);
    parts->header.msg_id = parts->part_id.data;
}

bool stream_parts_next(struct stream_parts *parts) {
    if (parts->left.size == 0)
        return false;
    size_t size = parts->left.size > STREAM_PART_MAX ? find_cut(parts->left) : parts->left.size;
    text_finish(&parts->content);
    text_append(&parts->content, parts->before);
    text_append(&parts->content, slice_make(parts->left.data, size));
    text_append(&parts->content, parts->behind);
    parts->msg.content = text_slice(&parts->content);
    parts->left = slice_from(parts->left, size);
    if (++parts->number > 1)
        number_header(parts);
    return true;
}

void stream_parts_finish(struct stream_parts *parts) {
    text_finish(&parts->header_json);
    text_finish(&parts->part_id);
    text_finish(&parts->content);
}
