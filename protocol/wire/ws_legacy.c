#include "wire/ws_legacy.h"

#include <assert.h>
#include <errno.h>
#include <openssl/evp.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text.h"
#include "msg/utf8.h"
#include "wire/object.h"
#include "wire/span.h"

/* Bytes of one number in a binary frame. */
enum { WIDTH = 4 };

static size_t number_at(struct slice frame, size_t place) {
    const uint8_t *at = frame.data + place * WIDTH;
    return (size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
}

static uint8_t *write_number(uint8_t *at, size_t number) {
    for (int shift = 24; shift >= 0; shift -= 8)
        *at++ = (uint8_t)(number >> shift);
    return at;
}

/* -- decoding */

enum { CHANNEL, HEADER, PARENT_HEADER, METADATA, CONTENT, MEMBER_COUNT };

static const char *const members[MEMBER_COUNT] = {
    [CHANNEL] = "channel",   [HEADER] = "header",   [PARENT_HEADER] = "parent_header",
    [METADATA] = "metadata", [CONTENT] = "content",
};

/* No channel means shell: smolagents sends none. */
static enum msg_channel channel_of(struct slice value) {
    if (!value.data || slice_equal_text(value, "null"))
        return MSG_SHELL;
    enum msg_channel channel = 0;
    while (channel < MSG_CHANNEL_COUNT && !span_string_means(value, msg_channel_name(channel)))
        channel++;
    return channel;
}

static int decode_object(struct slice json, struct msg *ret_msg, struct err *err) {
    struct slice values[MEMBER_COUNT];
    int error = span_members(json, members, MEMBER_COUNT, values, err);
    if (error)
        return error;
    values[PARENT_HEADER] = object_or_empty(values[PARENT_HEADER]);
    values[METADATA] = object_or_empty(values[METADATA]);
    for (int i = HEADER; i < MEMBER_COUNT; i++)
        if (!span_is_object(values[i]))
            return err_set(err, EINVAL, "%s is no object", members[i]);
    struct msg msg = {
        .channel = channel_of(values[CHANNEL]),
        .header = values[HEADER],
        .parent_header = values[PARENT_HEADER],
        .metadata = values[METADATA],
        .content = values[CONTENT],
    };
    if (msg.channel == MSG_CHANNEL_COUNT)
        return err_set(err, ENOENT, "unknown channel");
    *ret_msg = msg;
    return 0;
}

int ws_legacy_decode_text(struct slice frame, struct msg *ret_msg, struct err *err) {
    return decode_object(frame, ret_msg, err);
}

/* The offsets must be as an encoder writes them: from their own end on, ascending. */
static int check_offsets(struct slice frame, size_t *ret_count, struct err *err) {
    if (frame.size < WIDTH)
        return err_set(err, EINVAL, "frame of %zu bytes has no count of offsets", frame.size);
    size_t count = number_at(frame, 0);
    if (count < 1 || count > 1 + MSG_BUFFERS_MAX)
        return err_set(err, EINVAL, "%zu offsets, from 1 to %d are taken", count,
                       1 + MSG_BUFFERS_MAX);
    size_t expected = (count + 1) * WIDTH;
    if (expected > frame.size)
        return err_set(err, EINVAL, "frame of %zu bytes cannot hold its %zu offsets", frame.size,
                       count);
    if (number_at(frame, 1) != expected || number_at(frame, count) > frame.size)
        return err_set(err, EINVAL, "the offsets do not span the frame");
    for (size_t i = 1; i < count; i++)
        if (number_at(frame, i) > number_at(frame, i + 1))
            return err_set(err, EINVAL, "offset %zu lies before the one before it", i);
    *ret_count = count;
    return 0;
}

/* Segment i of count in a frame whose offsets have been checked: the JSON, then the buffers. */
static struct slice segment(struct slice frame, size_t i, size_t count) {
    size_t begin = number_at(frame, i + 1);
    size_t end = i + 1 < count ? number_at(frame, i + 2) : frame.size;
    return slice_make(frame.data + begin, end - begin);
}

int ws_legacy_decode_binary(struct slice frame, struct slice *buffers, struct msg *ret_msg,
                            struct err *err) {
    size_t count = 0;
    int error = check_offsets(frame, &count, err);
    if (error)
        return error;
    struct slice json = segment(frame, 0, count);
    if (!text_is_utf8(json))
        return err_set(err, EINVAL, "the JSON part is not UTF-8");
    struct msg msg;
    error = decode_object(json, &msg, err);
    if (error)
        return error;
    for (size_t i = 1; i < count; i++)
        buffers[i - 1] = segment(frame, i, count);
    msg.buffers = buffers;
    msg.buffer_count = count - 1;
    *ret_msg = msg;
    return 0;
}

/* -- encoding */

/* object, or {}; copied into room where it must be mended: a text frame that is not UTF-8 ends the
 * connection (RFC 6455 section 8.1), and ipykernel sends such bytes (a file name that it printed).
 */
static struct slice mend(struct slice object, struct text *room) {
    object = object_or_empty(object);
    if (text_is_utf8(object))
        return object;
    utf8_append_mended(room, object);
    return text_slice(room);
}

static void append_head(struct text *head, const struct msg *msg, const struct msg_header *parsed) {
    text_append_text(head, "{\"channel\":\"");
    text_append_text(head, msg_channel_name(msg->channel));
    text_append_text(head, "\",\"msg_id\":");
    text_append_json_string(head, slice_from_text(parsed->msg_id));
    text_append_text(head, ",\"msg_type\":");
    text_append_json_string(head, slice_from_text(parsed->msg_type));
    text_append_text(head, ",\"header\":");
}

static size_t size_of(const struct slice *slices, size_t count) {
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += slices[i].size;
    return size;
}

static uint8_t *write_slices(uint8_t *at, const struct slice *slices, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (slices[i].size)
            memcpy(at, slices[i].data, slices[i].size);
        at += slices[i].size;
    }
    return at;
}

/* The count of offsets and the offsets, before JSON of json_size bytes and the buffers. */
static uint8_t *write_offsets(uint8_t *at, size_t json_size, const struct msg *msg) {
    size_t offset = (msg->buffer_count + 2) * WIDTH;
    at = write_number(at, msg->buffer_count + 1);
    at = write_number(at, offset);
    offset += json_size;
    for (size_t i = 0; i < msg->buffer_count; i++) {
        at = write_number(at, offset);
        offset += msg->buffers[i].size;
    }
    return at;
}

static struct bytes *write_frame(const struct slice *json, size_t count, const struct msg *msg) {
    size_t json_size = size_of(json, count);
    size_t table = msg->buffer_count ? (msg->buffer_count + 2) * WIDTH : 0;
    size_t size = table + json_size + size_of(msg->buffers, msg->buffer_count);
    assert(!table || size <= UINT32_MAX);
    struct bytes *frame = bytes_create(size);
    uint8_t *at = table ? write_offsets(frame->data, json_size, msg) : frame->data;
    at = write_slices(at, json, count);
    write_slices(at, msg->buffers, msg->buffer_count);
    return frame;
}

/* tail: what stands behind the content. */
static struct bytes *encode(const struct msg *msg, const struct msg_header *parsed,
                            struct slice tail) {
    cleanup_text struct text head = {0}, header = {0}, parent = {0}, metadata = {0}, content = {0};
    append_head(&head, msg, parsed);
    const struct slice json[] = {
        text_slice(&head),
        mend(msg->header, &header),
        SLICE_LITERAL(",\"parent_header\":"),
        mend(msg->parent_header, &parent),
        SLICE_LITERAL(",\"metadata\":"),
        mend(msg->metadata, &metadata),
        SLICE_LITERAL(",\"content\":"),
        mend(msg->content, &content),
        tail,
    };
    return write_frame(json, sizeof json / sizeof *json, msg);
}

struct bytes *ws_legacy_encode(const struct msg *msg, const struct msg_header *parsed,
                               bool *ret_binary) {
    *ret_binary = msg->buffer_count > 0;
    return encode(msg, parsed,
                  *ret_binary ? SLICE_LITERAL("}") : SLICE_LITERAL(",\"buffers\":[]}"));
}

/* RFC 4648 section 4, with its quotes. */
static void append_base64(struct text *list, struct slice buffer) {
    cleanup_mem uint8_t *encoded = mem_alloc(buffer.size / 3 * 4 + 5); /* a group and a NUL more */
    int size = EVP_EncodeBlock(encoded, buffer.data, (int)buffer.size);
    text_append_text(list, "\"");
    text_append(list, slice_make(encoded, (size_t)size));
    text_append_text(list, "\"");
}

static void append_buffers(struct text *tail, const struct msg *msg) {
    size_t size = size_of(msg->buffers, msg->buffer_count);
    if (size > WS_LEGACY_TEXT_BUFFERS_MAX) {
        text_append_format(tail, "\"left_out\":{\"buffers\":%zu,\"bytes\":%zu}", msg->buffer_count,
                           size);
        return;
    }
    text_append_text(tail, "\"buffers\":[");
    for (size_t i = 0; i < msg->buffer_count; i++) {
        text_append_text(tail, i > 0 ? "," : "");
        append_base64(tail, msg->buffers[i]);
    }
    text_append_text(tail, "]");
}

struct bytes *ws_legacy_encode_text(const struct msg *msg, const struct msg_header *parsed) {
    cleanup_text struct text tail = {0};
    struct msg bare = *msg;
    bare.buffer_count = 0;
    text_append_text(&tail, ",\"buffers\":[],\"cellblock\":{");
    append_buffers(&tail, msg);
    text_append_text(&tail, "}}");
    return encode(&bare, parsed, text_slice(&tail));
}
