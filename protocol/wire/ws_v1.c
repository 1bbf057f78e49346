#include "wire/ws_v1.h"

#include <assert.h>
#include <errno.h>

#include "wire/object.h"

enum { CHANNEL, HEADER, PARENT_HEADER, METADATA, CONTENT, BUFFERS };

/* Bytes of one number. */
enum { WIDTH = 8 };

/* The number at place: the count of offsets at 0, the offsets behind it. */
static uint64_t number_at(struct slice frame, size_t place) {
    uint64_t number = 0;
    for (int i = WIDTH - 1; i >= 0; i--)
        number = number << 8 | frame.data[place * WIDTH + i];
    return number;
}

static uint8_t *write_number(uint8_t *at, uint64_t number) {
    for (int i = 0; i < WIDTH; i++)
        *at++ = (uint8_t)(number >> 8 * i);
    return at;
}

/* Segment i of a frame whose offsets have been checked. */
static struct slice segment(struct slice frame, size_t i) {
    uint64_t begin = number_at(frame, i + 1), end = number_at(frame, i + 2);
    return slice_make(frame.data + begin, end - begin);
}

/* The offsets must be as an encoder writes them: from their own end to the frame's, ascending. */
static int check_offsets(struct slice frame, size_t *ret_segments, struct err *err) {
    if (frame.size < WIDTH)
        return err_set(err, EINVAL, "frame of %zu bytes has no count of offsets", frame.size);
    uint64_t count = number_at(frame, 0);
    if (count < BUFFERS + 1 || count > BUFFERS + 1 + MSG_BUFFERS_MAX)
        return err_set(err, EINVAL, "%llu offsets, from %d to %d are taken",
                       (unsigned long long)count, BUFFERS + 1, BUFFERS + 1 + MSG_BUFFERS_MAX);
    uint64_t expected = (count + 1) * WIDTH;
    if (expected > frame.size)
        return err_set(err, EINVAL, "frame of %zu bytes cannot hold its %llu offsets", frame.size,
                       (unsigned long long)count);
    if (number_at(frame, 1) != expected || number_at(frame, count) != frame.size)
        return err_set(err, EINVAL, "the offsets do not span the frame");
    for (uint64_t i = 1; i < count; i++)
        if (number_at(frame, i) > number_at(frame, i + 1))
            return err_set(err, EINVAL, "offset %llu lies before the one before it",
                           (unsigned long long)i);
    *ret_segments = count - 1;
    return 0;
}

static int check_parts(const struct msg *msg, struct err *err) {
    int error = object_check(msg->header, "header", err);
    if (!error)
        error = object_check(msg->parent_header, "parent_header", err);
    if (!error)
        error = object_check(msg->metadata, "metadata", err);
    if (!error)
        error = object_check(msg->content, "content", err);
    return error;
}

int ws_v1_decode(struct slice frame, struct slice *buffers, struct msg *ret_msg, struct err *err) {
    size_t segments = 0;
    int error = check_offsets(frame, &segments, err);
    if (error)
        return error;
    struct slice name = segment(frame, CHANNEL);
    struct msg msg = {
        .channel = msg_channel_from(name),
        .header = segment(frame, HEADER),
        .parent_header = object_or_empty(segment(frame, PARENT_HEADER)),
        .metadata = object_or_empty(segment(frame, METADATA)),
        .content = segment(frame, CONTENT),
        .buffers = buffers,
        .buffer_count = segments - BUFFERS,
    };
    if (msg.channel == MSG_CHANNEL_COUNT)
        return err_set(err, ENOENT, "unknown channel");
    error = check_parts(&msg, err);
    if (error)
        return error;
    for (size_t i = 0; i < msg.buffer_count; i++)
        buffers[i] = segment(frame, BUFFERS + i);
    *ret_msg = msg;
    return 0;
}

/* Where the next offset and the next segment go, and what that offset is. */
struct writer {
    uint8_t *number, *segment;
    size_t offset;
};

static void write_segments(struct writer *writer, const struct slice *segments, size_t count) {
    for (size_t i = 0; i < count; i++) {
        writer->number = write_number(writer->number, writer->offset);
        if (segments[i].size)
            memcpy(writer->segment, segments[i].data, segments[i].size);
        writer->segment += segments[i].size;
        writer->offset += segments[i].size;
    }
}

static size_t size_of(const struct slice *slices, size_t count) {
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += slices[i].size;
    return size;
}

struct bytes *ws_v1_encode(const struct msg *msg) {
    assert(msg->buffer_count <= MSG_BUFFERS_MAX);
    const struct slice parts[BUFFERS] = {
        [CHANNEL] = slice_from_text(msg_channel_name(msg->channel)),
        [HEADER] = msg->header,
        [PARENT_HEADER] = object_or_empty(msg->parent_header),
        [METADATA] = object_or_empty(msg->metadata),
        [CONTENT] = object_or_empty(msg->content),
    };
    size_t table = (BUFFERS + msg->buffer_count + 2) * WIDTH;
    struct bytes *frame =
        bytes_create(table + size_of(parts, BUFFERS) + size_of(msg->buffers, msg->buffer_count));
    struct writer writer = {
        .number = write_number(frame->data, BUFFERS + msg->buffer_count + 1),
        .segment = frame->data + table,
        .offset = table,
    };
    write_segments(&writer, parts, BUFFERS);
    write_segments(&writer, msg->buffers, msg->buffer_count);
    write_number(writer.number, writer.offset);
    return frame;
}
