/* ws_codec - its one complication: everything that a frame's first bytes tell is judged as soon as
 * they are there, so that a stranger who announces a gigabyte is refused before it is sent. */
#include "http/ws_codec.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct frame {
    bool final, is_packed;
    uint8_t opcode;
    uint64_t size;
    size_t header_size;
};

enum { RSV_OTHERS = 0x30 }; /* bits that no extension of ours uses */

static bool is_control(uint8_t opcode) {
    return opcode & 0x8;
}

void ws_mask(uint8_t *data, size_t size, const uint8_t key[4]) {
    uint8_t twice[8];
    memcpy(twice, key, 4);
    memcpy(twice + 4, key, 4);
    uint64_t wide, word;
    memcpy(&wide, twice, 8);
    size_t i = 0;
    for (; i + 8 <= size; i += 8) {
        memcpy(&word, data + i, 8);
        word ^= wide;
        memcpy(data + i, &word, 8);
    }
    for (; i < size; i++)
        data[i] ^= key[i & 3];
}

bool ws_code_may_be_sent(uint16_t code) {
    return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
           (code >= 3000 && code <= 4999);
}

__attribute__((format(printf, 4, 5))) static enum ws_verdict fail(struct ws_decoder *decoder,
                                                                  struct ws_event *ret_event,
                                                                  uint16_t code, const char *format,
                                                                  ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(decoder->why, sizeof decoder->why, format, args);
    va_end(args);
    *ret_event = (struct ws_event){slice_from_text(decoder->why), code, 0};
    return WS_FAILED;
}

/* What is wrong about the first two bytes of a frame, or NULL. */
static const char *judge_first_bytes(const struct ws_decoder *decoder, const uint8_t *data) {
    uint8_t opcode = data[0] & 0x0f;
    bool final = data[0] & 0x80, begun = decoder->opcode != 0;
    if (data[0] & (decoder->deflate ? RSV_OTHERS : RSV_OTHERS | WS_RSV1))
        return "a reserved bit is set, but no extension was agreed on";
    if (data[0] & WS_RSV1 && (is_control(opcode) || opcode == WS_OPCODE_CONTINUATION))
        return "RSV1 is set, but not at the beginning of a message";
    if ((opcode > WS_OPCODE_BINARY && opcode < WS_OPCODE_CLOSE) || opcode > WS_OPCODE_PONG)
        return "the opcode is reserved";
    if (!(data[1] & 0x80))
        return "the frame is not masked";
    if (is_control(opcode) && !final)
        return "a control frame is fragmented";
    if (is_control(opcode) && (data[1] & 0x7f) > WS_CONTROL_MAX)
        return "a control frame is larger than 125 bytes";
    if (opcode == WS_OPCODE_CONTINUATION && !begun)
        return "a continuation without a message";
    if (!is_control(opcode) && opcode != WS_OPCODE_CONTINUATION && begun)
        return "a new message before the last one ended";
    return NULL;
}

static uint64_t read_big_endian(const uint8_t *data, size_t size) {
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++)
        value = value << 8 | data[i];
    return value;
}

/* Section 5.2: the shortest form is the only one, and the highest bit stays clear. */
static bool is_shortest_form(uint64_t value, size_t width) {
    return width == 0 || (width == 2 ? value > 125 : value > 0xffff && value >> 63 == 0);
}

/* WS_MORE where the frame's size is not known yet, WS_FAILED, else WS_BINARY (go on). */
static enum ws_verdict read_size(struct ws_decoder *decoder, const uint8_t *data, size_t size,
                                 struct frame *ret_frame, struct ws_event *ret_event) {
    if (size < 2)
        return WS_MORE;
    const char *wrong = judge_first_bytes(decoder, data);
    if (wrong)
        return fail(decoder, ret_event, WS_CODE_PROTOCOL_ERROR, "%s", wrong);
    uint8_t small = data[1] & 0x7f;
    size_t width = small == 126 ? 2 : small == 127 ? 8 : 0;
    if (size < 2 + width)
        return WS_MORE;
    uint64_t value = width ? read_big_endian(data + 2, width) : small;
    if (!is_shortest_form(value, width))
        return fail(decoder, ret_event, WS_CODE_PROTOCOL_ERROR,
                    "a frame's size is not in its shortest form");
    *ret_frame =
        (struct frame){data[0] & 0x80, data[0] & WS_RSV1, data[0] & 0x0f, value, 2 + width + 4};
    return WS_BINARY;
}

static enum ws_verdict judge_limits(struct ws_decoder *decoder, const struct frame *frame,
                                    struct ws_event *ret_event) {
    if (is_control(frame->opcode))
        return WS_BINARY;
    if (frame->size > decoder->message_max - decoder->fragments.size)
        return fail(decoder, ret_event, WS_CODE_TOO_BIG,
                    "the message is larger than ws_message_bytes = %zu", decoder->message_max);
    if (decoder->fragment_count >= decoder->fragments_max)
        return fail(decoder, ret_event, WS_CODE_TOO_BIG,
                    "the message has more fragments than ws_fragments = %u",
                    decoder->fragments_max);
    return WS_BINARY;
}

static enum ws_verdict take_close(struct ws_decoder *decoder, struct slice payload,
                                  struct ws_event *ret_event) {
    *ret_event = (struct ws_event){.code = WS_CODE_NONE};
    if (payload.size == 0)
        return WS_CLOSE;
    if (payload.size == 1)
        return fail(decoder, ret_event, WS_CODE_PROTOCOL_ERROR, "half a close code");
    uint16_t code = (uint16_t)read_big_endian(payload.data, 2);
    if (!ws_code_may_be_sent(code))
        return fail(decoder, ret_event, WS_CODE_PROTOCOL_ERROR, "the close code is not allowed");
    if (!text_is_utf8(slice_from(payload, 2)))
        return fail(decoder, ret_event, WS_CODE_NOT_UTF8, "the close reason is not UTF-8");
    *ret_event = (struct ws_event){slice_from(payload, 2), code, 0};
    return WS_CLOSE;
}

/* WS_BINARY where *payload is the message now. */
static enum ws_verdict unpack(struct ws_decoder *decoder, struct slice *payload,
                              struct ws_event *ret_event) {
    int result =
        ws_deflate_unpack(decoder->deflate, *payload, decoder->message_max, &decoder->unpacked);
    if (result == -EMSGSIZE)
        return fail(decoder, ret_event, WS_CODE_TOO_BIG,
                    "the unpacked message is larger than ws_message_bytes = %zu",
                    decoder->message_max);
    if (result < 0)
        return fail(decoder, ret_event, WS_CODE_NOT_UTF8, "the message cannot be unpacked");
    *payload = text_slice(&decoder->unpacked);
    return WS_BINARY;
}

static enum ws_verdict take_message(struct ws_decoder *decoder, uint8_t opcode, bool is_packed,
                                    struct slice payload, struct ws_event *ret_event) {
    decoder->opcode = 0;
    decoder->fragment_count = 0;
    if (is_packed && unpack(decoder, &payload, ret_event) == WS_FAILED)
        return WS_FAILED;
    if (opcode == WS_OPCODE_TEXT && !text_is_utf8(payload))
        return fail(decoder, ret_event, WS_CODE_NOT_UTF8, "the text is not UTF-8");
    *ret_event = (struct ws_event){.payload = payload};
    return opcode == WS_OPCODE_TEXT ? WS_TEXT : WS_BINARY;
}

/* WS_MORE where the message goes on. */
static enum ws_verdict take_data(struct ws_decoder *decoder, const struct frame *frame,
                                 struct slice payload, struct ws_event *ret_event) {
    if (frame->final && decoder->opcode == 0)
        return take_message(decoder, frame->opcode, frame->is_packed, payload, ret_event);
    if (decoder->opcode == 0) {
        decoder->opcode = frame->opcode;
        decoder->is_packed = frame->is_packed;
    }
    decoder->fragment_count++;
    text_append(&decoder->fragments, payload);
    if (!frame->final)
        return WS_MORE;
    return take_message(decoder, decoder->opcode, decoder->is_packed,
                        text_slice(&decoder->fragments), ret_event);
}

static enum ws_verdict take_frame(struct ws_decoder *decoder, const struct frame *frame,
                                  struct slice payload, struct ws_event *ret_event) {
    if (frame->opcode == WS_OPCODE_CLOSE)
        return take_close(decoder, payload, ret_event);
    if (!is_control(frame->opcode))
        return take_data(decoder, frame, payload, ret_event);
    *ret_event = (struct ws_event){.payload = payload};
    return frame->opcode == WS_OPCODE_PING ? WS_PING : WS_PONG;
}

/* One frame; WS_MORE with *ret_consumed 0 where it is not whole. */
static enum ws_verdict decode_frame(struct ws_decoder *decoder, uint8_t *data, size_t size,
                                    size_t *ret_consumed, struct ws_event *ret_event) {
    struct frame frame = {0};
    *ret_event = (struct ws_event){0};
    enum ws_verdict verdict = read_size(decoder, data, size, &frame, ret_event);
    if (verdict == WS_BINARY)
        verdict = judge_limits(decoder, &frame, ret_event);
    if (verdict != WS_BINARY)
        return verdict;
    size_t whole = frame.header_size + (size_t)frame.size;
    if (size < whole) {
        ret_event->needed = whole;
        return WS_MORE;
    }
    uint8_t *payload = data + frame.header_size;
    ws_mask(payload, (size_t)frame.size, payload - 4);
    *ret_consumed = whole;
    return take_frame(decoder, &frame, slice_make(payload, (size_t)frame.size), ret_event);
}

enum ws_verdict ws_decode(struct ws_decoder *decoder, uint8_t *data, size_t size,
                          size_t *ret_consumed, struct ws_event *ret_event) {
    if (decoder->opcode == 0)
        ws_decoder_forget(decoder);
    size_t consumed = 0, frame_size;
    enum ws_verdict verdict;
    do {
        frame_size = 0;
        verdict = decode_frame(decoder, data + consumed, size - consumed, &frame_size, ret_event);
        consumed += frame_size;
    } while (verdict == WS_MORE && frame_size);
    *ret_consumed = consumed;
    return verdict;
}

void ws_decoder_forget(struct ws_decoder *decoder) {
    text_finish(&decoder->fragments);
    text_finish(&decoder->unpacked);
}

size_t ws_encode_header(uint8_t ret_header[WS_HEADER_MAX], enum ws_opcode opcode, size_t size) {
    size_t width = size > 0xffff ? 8 : size > 125 ? 2 : 0;
    ret_header[0] = (uint8_t)(0x80 | opcode);
    ret_header[1] = width == 8 ? 127 : width == 2 ? 126 : (uint8_t)size;
    for (size_t i = 0; i < width; i++)
        ret_header[2 + i] = (uint8_t)((uint64_t)size >> 8 * (width - 1 - i));
    return 2 + width;
}

size_t ws_encode_close(uint8_t ret_payload[WS_CONTROL_MAX], uint16_t code, const char *reason) {
    size_t size = strlen(reason);
    if (size > WS_CONTROL_MAX - 2)
        for (size = WS_CONTROL_MAX - 2; size && (reason[size] & 0xc0) == 0x80;)
            size--;
    ret_payload[0] = (uint8_t)(code >> 8);
    ret_payload[1] = (uint8_t)code;
    memcpy(ret_payload + 2, reason, size);
    return 2 + size;
}
