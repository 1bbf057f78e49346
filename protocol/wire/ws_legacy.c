#include "wire/ws_legacy.h"

#include <assert.h>
#include <errno.h>

#include "base/cleanup.h"
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

/* Appends `,"name":` and the object as it came; what is not UTF-8 is mended, since a text frame
 * with such bytes ends the connection (RFC 6455 section 8.1). */
static void append_object(struct text *json, const char *name, struct slice object) {
    text_append_format(json, ",\"%s\":", name);
    utf8_append_mended(json, object_or_empty(object));
}

static void append_message(struct text *json, const struct msg *msg,
                           const struct msg_header *parsed) {
    text_append_format(json, "{\"channel\":\"%s\",\"msg_id\":", msg_channel_name(msg->channel));
    text_append_json_string(json, slice_from_text(parsed->msg_id));
    text_append_text(json, ",\"msg_type\":");
    text_append_json_string(json, slice_from_text(parsed->msg_type));
    append_object(json, "header", msg->header);
    append_object(json, "parent_header", msg->parent_header);
    append_object(json, "metadata", msg->metadata);
    append_object(json, "content", msg->content);
    text_append_text(json, msg->buffer_count ? "}" : ",\"buffers\":[]}");
}

static uint8_t *write_slice(uint8_t *at, struct slice slice) {
    if (slice.size)
        memcpy(at, slice.data, slice.size);
    return at + slice.size;
}

struct bytes *ws_legacy_encode(const struct msg *msg, const struct msg_header *parsed,
                               bool *ret_binary) {
    cleanup_text struct text json = {0};
    append_message(&json, msg, parsed);
    *ret_binary = msg->buffer_count > 0;
    if (!*ret_binary)
        return bytes_copy(text_slice(&json));

    size_t offset = (msg->buffer_count + 2) * WIDTH, size = offset + json.size;
    for (size_t i = 0; i < msg->buffer_count; i++)
        size += msg->buffers[i].size;
    assert(size <= UINT32_MAX);
    struct bytes *frame = bytes_create(size);
    uint8_t *at = write_number(frame->data, msg->buffer_count + 1);
    at = write_number(at, offset);
    offset += json.size;
    for (size_t i = 0; i < msg->buffer_count; i++) {
        at = write_number(at, offset);
        offset += msg->buffers[i].size;
    }
    at = write_slice(at, text_slice(&json));
    for (size_t i = 0; i < msg->buffer_count; i++)
        at = write_slice(at, msg->buffers[i]);
    return frame;
}
