#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <errno.h>

#include "base/mem.h"
#include "base/text.h"
#include "wire/ws_legacy.h"

#define HEADER "{\"msg_id\":\"i\",\"msg_type\":\"t\",\"date\":1732945678.5}"
#define CONTENT                                                                                    \
    "{ \"a\":NaN,\"b\":\"<\\/s>\\ud800\",\"c\":-Infinity,\"d\":123456789012345678901234567890 }"
#define WHOLE                                                                                      \
    "{\"buffers\": {}, \"header\": " HEADER ", \"parent_header\": null, \"content\": " CONTENT     \
    ", \"channel\": \"stdin\", \"metadata\": {\"m\":1}, \"unknown\": [1,{}]}"

static void refuse_text(struct slice frame, int code) {
    struct msg msg, before;
    memset(&msg, 0x5a, sizeof msg);
    before = msg;
    struct err err = {0};
    assert_int_equal(ws_legacy_decode_text(frame, &msg, &err), -code);
    assert_int_equal(err.code, code);
    assert_true(strlen(err.text) > 10);
    assert_memory_equal(&msg, &before, sizeof msg);
}

static void reads_text(void **state) {
    (void)state;
    struct slice frame = SLICE_LITERAL(WHOLE);
    struct msg msg;
    assert_int_equal(ws_legacy_decode_text(frame, &msg, NULL), 0);
    assert_int_equal(msg.channel, MSG_STDIN);
    assert_true(slice_equal_text(msg.header, HEADER));
    assert_true(slice_equal_text(msg.parent_header, "{}"));
    assert_true(slice_equal_text(msg.metadata, "{\"m\":1}"));
    assert_true(slice_equal_text(msg.content, CONTENT));
    assert_int_equal(msg.buffer_count, 0);
    assert_true(msg.content.data > frame.data && msg.content.data < frame.data + frame.size);
}

static void tolerates_what_clients_leave_out(void **state) {
    (void)state;
    static const struct {
        const char *frame;
        enum msg_channel channel;
    } cases[] = {
        {"{\"header\":{},\"content\":{}}", MSG_SHELL},
        {"{\"header\":{},\"content\":{},\"channel\":null,\"buffers\":[]}", MSG_SHELL},
        {"{\"header\":{},\"content\":{},\"metadata\":null,\"channel\":\"control\"}", MSG_CONTROL},
        {"{\"header\":{},\"content\":{},\"channel\":\"\\u0069opub\"}", MSG_IOPUB},
        {"{\"header\":{},\"content\":[],\"content\":{},\"channel\":\"hb\",\"channel\":\"stdin\"}",
         MSG_STDIN},
        {" {\"h\\u0065ader\":{},\n\"content\":{},\"buffers\":{}} ", MSG_SHELL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct msg msg;
        assert_int_equal(ws_legacy_decode_text(slice_from_text(cases[i].frame), &msg, NULL), 0);
        assert_int_equal(msg.channel, cases[i].channel);
        assert_true(slice_equal_text(msg.parent_header, "{}"));
        assert_true(slice_equal_text(msg.metadata, "{}"));
        assert_true(slice_equal_text(msg.content, "{}"));
    }
}

static void refuses_what_is_no_message(void **state) {
    (void)state;
    static const char *bad[] = {
        "",
        "null",
        "[]",
        "{}",
        "{\"header\":{}}",
        "{\"content\":{}}",
        "{\"header\":null,\"content\":{}}",
        "{\"header\":{},\"content\":null}",
        "{\"header\":[],\"content\":{}}",
        "{\"header\":{},\"content\":\"{}\"}",
        "{\"header\":{},\"content\":{},\"parent_header\":[]}",
        "{\"header\":{},\"content\":{},\"metadata\":\"\"}",
        "{\"header\":{},\"content\":{}} {}",
        "{\"header\":{},\"content\":{\"a\":}}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refuse_text(slice_from_text(bad[i]), EINVAL);
    static const char *channels[] = {"\"hb\"", "\"\"", "\"Shell\"", "\"shell\\u0000\"",
                                     "1",      "[]",   "true"};
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
        struct text frame = {0};
        text_append_format(&frame, "{\"header\":{},\"content\":{},\"channel\":%s}", channels[i]);
        refuse_text(text_slice(&frame), ENOENT);
        text_finish(&frame);
    }
    for (size_t size = 0; size < sizeof WHOLE - 1; size++)
        refuse_text(slice_make(WHOLE, size), EINVAL);
    assert_int_equal(mem_live(), 0);
}

static const struct msg_header parsed = {.msg_id = "i\"\n", .msg_type = "t"};

static void writes_text(void **state) {
    (void)state;
    struct msg msg = {.channel = MSG_IOPUB,
                      .header = SLICE_LITERAL(HEADER),
                      .parent_header = SLICE_LITERAL("null"),
                      .content = SLICE_LITERAL(CONTENT)};
    bool binary = true;
    struct bytes *frame = ws_legacy_encode(&msg, &parsed, &binary);
    assert_false(binary);
    assert_true(slice_equal_text(
        bytes_slice(frame), "{\"channel\":\"iopub\",\"msg_id\":\"i\\\"\\u000a\",\"msg_type\":\"t\","
                            "\"header\":" HEADER ",\"parent_header\":{},\"metadata\":{},"
                            "\"content\":" CONTENT ",\"buffers\":[]}"));
    struct msg found;
    assert_int_equal(ws_legacy_decode_text(bytes_slice(frame), &found, NULL), 0);
    assert_true(slice_equal_text(found.content, CONTENT));
    bytes_unref(frame);
    assert_int_equal(mem_live(), 0);
}

static void mends_what_is_not_utf8(void **state) {
    (void)state;
    struct msg msg = {.channel = MSG_IOPUB,
                      .header = SLICE_LITERAL("{}"),
                      .content = SLICE_LITERAL("{\"a\":\"\xff\xc3\xa4\"}")};
    bool binary;
    struct bytes *frame = ws_legacy_encode(&msg, &parsed, &binary);
    assert_true(text_is_utf8(bytes_slice(frame)));
    struct msg found;
    assert_int_equal(ws_legacy_decode_text(bytes_slice(frame), &found, NULL), 0);
    assert_true(slice_equal_text(found.content, "{\"a\":\"\xef\xbf\xbd\xc3\xa4\"}"));
    bytes_unref(frame);
    assert_int_equal(mem_live(), 0);
}

/* -- binary frames */

static int decode(struct slice frame, struct msg *ret_msg, struct err *err) {
    static struct slice buffers[MSG_BUFFERS_MAX];
    return ws_legacy_decode_binary(frame, buffers, ret_msg, err);
}

static void refuse(struct slice frame, int code) {
    struct msg msg, before;
    memset(&msg, 0x5a, sizeof msg);
    before = msg;
    struct err err = {0};
    assert_int_equal(decode(frame, &msg, &err), -code);
    assert_int_equal(err.code, code);
    assert_true(strlen(err.text) > 10);
    assert_memory_equal(&msg, &before, sizeof msg);
}

static struct bytes *make_frame(struct slice content, const struct slice *buffers, size_t count) {
    struct msg msg = {.channel = MSG_SHELL,
                      .header = SLICE_LITERAL(HEADER),
                      .content = content,
                      .buffers = buffers,
                      .buffer_count = count};
    bool binary = false;
    struct bytes *frame = ws_legacy_encode(&msg, &parsed, &binary);
    assert_true(binary);
    return frame;
}

static const struct slice two[] = {{(const uint8_t *)"ab\0c", 4}, {NULL, 0}};

static void carries_buffers(void **state) {
    (void)state;
    struct bytes *frame = make_frame(SLICE_LITERAL(CONTENT), two, 2);
    static const uint8_t begin[] = {0, 0, 0, 3, 0, 0, 0, 16};
    assert_memory_equal(frame->data, begin, sizeof begin);
    assert_null(memmem(frame->data, frame->size, "\"buffers\"", 9));
    struct msg msg;
    assert_int_equal(decode(bytes_slice(frame), &msg, NULL), 0);
    assert_int_equal(msg.channel, MSG_SHELL);
    assert_true(slice_equal_text(msg.header, HEADER));
    assert_true(slice_equal_text(msg.content, CONTENT));
    assert_int_equal(msg.buffer_count, 2);
    assert_true(slice_equal(msg.buffers[0], two[0]));
    assert_int_equal(msg.buffers[1].size, 0);
    bytes_unref(frame);
    assert_int_equal(mem_live(), 0);
}

/* All cuts before the last buffer; what is cut from the last one shortens it, since the frame's end
 * is nowhere written. */
static void refuses_cuts_and_bad_numbers(void **state) {
    (void)state;
    struct slice buffer = SLICE_LITERAL("0123456789");
    struct bytes *frame = make_frame(SLICE_LITERAL("{}"), &buffer, 1);
    for (size_t size = 0; size < frame->size - buffer.size; size++) {
        struct bytes *cut = bytes_copy(slice_make(frame->data, size));
        refuse(bytes_slice(cut), EINVAL);
        bytes_unref(cut);
    }
    const uint32_t numbers[] = {0,
                                1,
                                3,
                                11,
                                13,
                                (uint32_t)frame->size + 1,
                                1 + MSG_BUFFERS_MAX + 1,
                                1u << 30,
                                (1u << 30) - 1,
                                1u << 31,
                                UINT32_MAX,
                                UINT32_MAX - 3};
    for (size_t place = 0; place < 3; place++) {
        uint8_t kept[4];
        memcpy(kept, frame->data + 4 * place, 4);
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            for (int byte = 0; byte < 4; byte++)
                frame->data[4 * place + byte] = (uint8_t)(numbers[i] >> 8 * (3 - byte));
            refuse(bytes_slice(frame), EINVAL);
        }
        memcpy(frame->data + 4 * place, kept, 4);
    }
    bytes_unref(frame);
    refuse((struct slice){0}, EINVAL);
    assert_int_equal(mem_live(), 0);
}

static void put_number(struct bytes *frame, size_t place, size_t number) {
    for (int i = 0; i < 4; i++)
        frame->data[4 * place + i] = (uint8_t)(number >> 8 * (3 - i));
}

/* Numbers 2 and 3 are where the two buffers begin. */
static void refuses_buffers_that_overlap_or_pass_the_end(void **state) {
    (void)state;
    struct bytes *frame = make_frame(SLICE_LITERAL("{}"), two, 2);
    size_t end = frame->size;
    put_number(frame, 3, end - 1);
    struct msg msg;
    assert_int_equal(decode(bytes_slice(frame), &msg, NULL), 0);
    assert_int_equal(msg.buffers[1].size, 1);
    put_number(frame, 3, end - two[0].size - 1); /* before the first buffer */
    refuse(bytes_slice(frame), EINVAL);
    put_number(frame, 3, end + 1);
    refuse(bytes_slice(frame), EINVAL);
    bytes_unref(frame);
    assert_int_equal(mem_live(), 0);
}

static void refuses_more_buffers(void **state) {
    (void)state;
    enum { COUNT = 1 + MSG_BUFFERS_MAX + 1, TABLE = 4 * (COUNT + 1) };
    static const char json[] = "{\"header\":{},\"content\":{}}";
    struct bytes *frame = bytes_create(TABLE + sizeof json - 1);
    memcpy(frame->data + TABLE, json, sizeof json - 1);
    put_number(frame, 0, COUNT);
    put_number(frame, 1, TABLE);
    for (size_t i = 2; i <= COUNT; i++)
        put_number(frame, i, frame->size);
    refuse(bytes_slice(frame), EINVAL);
    bytes_unref(frame);
    assert_int_equal(mem_live(), 0);
}

static void refuses_bad_json(void **state) {
    (void)state;
    static const char *bad[] = {"[]", "{\"a\":}", "\"\"", "1", "x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct bytes *frame = make_frame(slice_from_text(bad[i]), two, 2);
        refuse(bytes_slice(frame), EINVAL);
        bytes_unref(frame);
    }
    struct bytes *frame = make_frame(SLICE_LITERAL("{\"a\":\"bb\"}"), two, 2);
    uint8_t *at = memmem(frame->data, frame->size, "bb", 2);
    at[0] = 0xc3;
    refuse(bytes_slice(frame), EINVAL);
    bytes_unref(frame);
    assert_int_equal(mem_live(), 0);
}

static void takes_a_binary_frame_without_buffers(void **state) {
    (void)state;
    static const char frame[] = "\0\0\0\1\0\0\0\10{\"header\":{},\"content\":{}}";
    struct msg msg;
    assert_int_equal(decode(slice_make(frame, sizeof frame - 1), &msg, NULL), 0);
    assert_int_equal(msg.buffer_count, 0);
}

static void carries_the_most_buffers(void **state) {
    (void)state;
    static struct slice buffers[MSG_BUFFERS_MAX];
    for (size_t i = 0; i < MSG_BUFFERS_MAX; i++)
        buffers[i] = slice_make("0123456789", i % 11);
    struct bytes *frame = make_frame(SLICE_LITERAL("{}"), buffers, MSG_BUFFERS_MAX);
    struct msg msg;
    assert_int_equal(decode(bytes_slice(frame), &msg, NULL), 0);
    assert_int_equal(msg.buffer_count, MSG_BUFFERS_MAX);
    for (size_t i = 0; i < MSG_BUFFERS_MAX; i++)
        assert_true(slice_equal(msg.buffers[i], buffers[i]));
    bytes_unref(frame);
    assert_int_equal(mem_live(), 0);
}

static void writes_text_alone(void **state) {
    (void)state;
    static const struct slice buffers[] = {
        {(const uint8_t *)"", 0}, {(const uint8_t *)"\x00\xff", 2}, {(const uint8_t *)"abc", 3}};
    const struct msg msg = {.channel = MSG_IOPUB,
                            .header = SLICE_LITERAL(HEADER),
                            .content = SLICE_LITERAL("{}"),
                            .buffers = buffers,
                            .buffer_count = 3};
    struct msg_header own;
    assert_int_equal(msg_header_parse(msg.header, &own, NULL), 0);
    struct bytes *frame = ws_legacy_encode_text(&msg, &own);
    struct slice tail = SLICE_LITERAL("\"content\":{},\"buffers\":[],"
                                      "\"cellblock\":{\"buffers\":[\"\",\"AP8=\",\"YWJj\"]}}");
    assert_true(slice_equal(slice_from(bytes_slice(frame), frame->size - tail.size), tail));
    struct msg again;
    assert_int_equal(ws_legacy_decode_text(bytes_slice(frame), &again, NULL), 0);
    bytes_unref(frame);
    msg_header_finish(&own);
}

static void counts_what_text_does_not_carry(void **state) {
    (void)state;
    struct bytes *large = bytes_create(WS_LEGACY_TEXT_BUFFERS_MAX + 1);
    memset(large->data, 0, large->size);
    const struct slice buffers[] = {bytes_slice(large)};
    struct msg msg = {.channel = MSG_IOPUB,
                      .header = SLICE_LITERAL(HEADER),
                      .content = SLICE_LITERAL("{}"),
                      .buffers = buffers,
                      .buffer_count = 1};
    struct msg_header own;
    assert_int_equal(msg_header_parse(msg.header, &own, NULL), 0);
    struct bytes *frame = ws_legacy_encode_text(&msg, &own);
    struct slice tail =
        SLICE_LITERAL("\"cellblock\":{\"left_out\":{\"buffers\":1,\"bytes\":4194305}}}");
    assert_true(slice_equal(slice_from(bytes_slice(frame), frame->size - tail.size), tail));
    bytes_unref(frame);
    bytes_unref(large);
    msg_header_finish(&own);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_text),
        cmocka_unit_test(tolerates_what_clients_leave_out),
        cmocka_unit_test(refuses_what_is_no_message),
        cmocka_unit_test(writes_text),
        cmocka_unit_test(mends_what_is_not_utf8),
        cmocka_unit_test(carries_buffers),
        cmocka_unit_test(refuses_cuts_and_bad_numbers),
        cmocka_unit_test(refuses_buffers_that_overlap_or_pass_the_end),
        cmocka_unit_test(refuses_more_buffers),
        cmocka_unit_test(refuses_bad_json),
        cmocka_unit_test(takes_a_binary_frame_without_buffers),
        cmocka_unit_test(carries_the_most_buffers),
        cmocka_unit_test(writes_text_alone),
        cmocka_unit_test(counts_what_text_does_not_carry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
