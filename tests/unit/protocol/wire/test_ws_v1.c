#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <errno.h>

#include "base/mem.h"
#include "wire/ws_v1.h"

/* The frame of channel iopub, {"h":1}, {}, {}, {"c":NaN}, and the two buffers "ab" and "". */
enum { SEGMENTS = 7, TABLE = 8 * (SEGMENTS + 2) };
static const char *const texts[SEGMENTS] = {"iopub",       "{\"h\":1}", "{}", "{}",
                                            "{\"c\":NaN}", "ab",        ""};

static void put_number(uint8_t *frame, size_t place, uint64_t number) {
    for (int i = 0; i < 8; i++)
        frame[place * 8 + i] = (uint8_t)(number >> 8 * i);
}

/* In a heap copy of its exact size, so that a read beyond it is seen. */
static struct bytes *make_frame(const char *const *segments, size_t count) {
    size_t table = 8 * (count + 2), size = table;
    for (size_t i = 0; i < count; i++)
        size += strlen(segments[i]);
    struct bytes *frame = bytes_create(size);
    put_number(frame->data, 0, count + 1);
    put_number(frame->data, count + 1, size);
    for (size_t i = 0, at = table; i < count; i++) {
        put_number(frame->data, i + 1, at);
        memcpy(frame->data + at, segments[i], strlen(segments[i]));
        at += strlen(segments[i]);
    }
    return frame;
}

static int decode(struct slice frame, struct msg *ret_msg, struct err *err) {
    static struct slice buffers[MSG_BUFFERS_MAX];
    return ws_v1_decode(frame, buffers, ret_msg, err);
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

static void points_into_the_frame(void **state) {
    (void)state;
    struct bytes *frame = make_frame(texts, SEGMENTS);
    struct msg msg;
    assert_int_equal(decode(bytes_slice(frame), &msg, NULL), 0);
    assert_int_equal(msg.channel, MSG_IOPUB);
    assert_true(slice_equal_text(msg.header, texts[1]));
    assert_ptr_equal(msg.header.data, frame->data + TABLE + 5);
    assert_true(slice_equal_text(msg.parent_header, "{}"));
    assert_true(slice_equal_text(msg.content, texts[4]));
    assert_int_equal(msg.buffer_count, 2);
    assert_true(slice_equal_text(msg.buffers[0], "ab"));
    assert_int_equal(msg.buffers[1].size, 0);

    struct bytes *again = ws_v1_encode(&msg);
    assert_true(slice_equal(bytes_slice(again), bytes_slice(frame)));
    bytes_unref(again);
    bytes_unref(frame);
    assert_int_equal(mem_live(), 0);
}

static void refuses_every_cut_and_more(void **state) {
    (void)state;
    struct bytes *frame = make_frame(texts, SEGMENTS);
    for (size_t size = 0; size < frame->size; size++) {
        struct bytes *cut = bytes_copy(slice_make(frame->data, size));
        refuse(bytes_slice(cut), EINVAL);
        bytes_unref(cut);
    }
    struct bytes *longer = bytes_create(frame->size + 1);
    memset(longer->data, 0, longer->size);
    memcpy(longer->data, frame->data, frame->size);
    refuse(bytes_slice(longer), EINVAL);
    bytes_unref(longer);
    bytes_unref(frame);
    refuse((struct slice){0}, EINVAL);
    assert_int_equal(mem_live(), 0);
}

static uint64_t number_at(const uint8_t *frame, size_t place) {
    uint64_t number = 0;
    for (int i = 7; i >= 0; i--)
        number = number << 8 | frame[place * 8 + i];
    return number;
}

/* Each number of the table in turn becomes each of these. Where the first border between segments
 * moves within the frame, the channel's name is what turns wrong. */
static void refuses_bad_numbers(void **state) {
    (void)state;
    struct bytes *frame = make_frame(texts, SEGMENTS);
    const uint64_t numbers[] = {0,
                                1,
                                5,
                                7,
                                9,
                                TABLE - 1,
                                TABLE + 1,
                                frame->size + 1,
                                1 + MSG_BUFFERS_MAX + 6,
                                1ull << 31,
                                1ull << 32,
                                1ull << 61,
                                (1ull << 61) - 1,
                                1ull << 63,
                                UINT64_MAX,
                                UINT64_MAX - 7};
    for (size_t place = 0; place < SEGMENTS + 2; place++) {
        uint64_t kept = number_at(frame->data, place);
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            put_number(frame->data, place, numbers[i]);
            bool moves_name = place == 2 && numbers[i] == TABLE + 1;
            refuse(bytes_slice(frame), moves_name ? ENOENT : EINVAL);
        }
        put_number(frame->data, place, kept);
    }
    /* Two buffers that change places: descending. */
    put_number(frame->data, SEGMENTS - 1, frame->size);
    put_number(frame->data, SEGMENTS, frame->size - 2);
    refuse(bytes_slice(frame), EINVAL);
    bytes_unref(frame);
    assert_int_equal(mem_live(), 0);
}

static void refuse_with(size_t segment, const char *text, int code) {
    const char *changed[SEGMENTS];
    memcpy(changed, texts, sizeof texts);
    changed[segment] = text;
    struct bytes *frame = make_frame(changed, SEGMENTS);
    refuse(bytes_slice(frame), code);
    bytes_unref(frame);
}

static void refuses_bad_segments(void **state) {
    (void)state;
    static const char *bad[] = {"[]", "1", "{", "{}}", "{\"a\":}", "{\"a\":\"\xff\"}", "x"};
    for (size_t segment = 1; segment < 5; segment++)
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
            refuse_with(segment, bad[i], EINVAL);
    refuse_with(1, "", EINVAL);
    refuse_with(1, "null", EINVAL);
    refuse_with(4, "", EINVAL);
    refuse_with(4, "null", EINVAL);
    refuse_with(0, "", ENOENT);
    refuse_with(0, "Shell", ENOENT);
    refuse_with(0, "shell ", ENOENT);
    refuse_with(0, "hb", ENOENT);
    struct bytes *frame = make_frame(texts, 4); /* no content */
    refuse(bytes_slice(frame), EINVAL);
    bytes_unref(frame);
    assert_int_equal(mem_live(), 0);
}

static void takes_an_absent_parent(void **state) {
    (void)state;
    static const char *const absent[] = {"", "null", "{}"};
    for (size_t i = 0; i < 3; i++) {
        const char *segments[] = {"shell", "{}", absent[i], absent[i], "{}"};
        struct bytes *frame = make_frame(segments, 5);
        struct msg msg;
        assert_int_equal(decode(bytes_slice(frame), &msg, NULL), 0);
        assert_true(slice_equal_text(msg.parent_header, "{}"));
        assert_true(slice_equal_text(msg.metadata, "{}"));
        assert_int_equal(msg.buffer_count, 0);
        bytes_unref(frame);
    }
    assert_int_equal(mem_live(), 0);
}

static void writes_what_kernels_leave_out(void **state) {
    (void)state;
    struct msg msg = {.channel = MSG_SHELL,
                      .header = SLICE_LITERAL("{\"h\":1}"),
                      .parent_header = SLICE_LITERAL("null")};
    struct bytes *frame = ws_v1_encode(&msg);
    struct msg found;
    assert_int_equal(decode(bytes_slice(frame), &found, NULL), 0);
    assert_true(slice_equal_text(found.header, "{\"h\":1}"));
    assert_true(slice_equal_text(found.parent_header, "{}"));
    assert_true(slice_equal_text(found.metadata, "{}"));
    assert_true(slice_equal_text(found.content, "{}"));
    bytes_unref(frame);
    assert_int_equal(mem_live(), 0);
}

static void carries_the_most_buffers(void **state) {
    (void)state;
    static struct slice buffers[MSG_BUFFERS_MAX];
    for (size_t i = 0; i < MSG_BUFFERS_MAX; i++)
        buffers[i] = slice_make("0123456789", i % 11);
    struct slice empty = SLICE_LITERAL("{}");
    struct msg msg = {MSG_STDIN, empty, empty, empty, empty, buffers, MSG_BUFFERS_MAX}, found;
    struct bytes *frame = ws_v1_encode(&msg);
    assert_int_equal(decode(bytes_slice(frame), &found, NULL), 0);
    assert_int_equal(found.buffer_count, MSG_BUFFERS_MAX);
    for (size_t i = 0; i < MSG_BUFFERS_MAX; i++)
        assert_true(slice_equal(found.buffers[i], buffers[i]));
    bytes_unref(frame);
    assert_int_equal(mem_live(), 0);
}

static void refuses_more_buffers(void **state) {
    (void)state;
    enum { COUNT = 5 + MSG_BUFFERS_MAX + 1 };
    static const char *segments[COUNT] = {"shell", "{}", "{}", "{}", "{}"};
    for (size_t i = 5; i < COUNT; i++)
        segments[i] = "";
    struct bytes *frame = make_frame(segments, COUNT);
    refuse(bytes_slice(frame), EINVAL);
    bytes_unref(frame);
    assert_int_equal(mem_live(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_into_the_frame),    cmocka_unit_test(refuses_every_cut_and_more),
        cmocka_unit_test(refuses_bad_numbers),      cmocka_unit_test(refuses_bad_segments),
        cmocka_unit_test(takes_an_absent_parent),   cmocka_unit_test(writes_what_kernels_leave_out),
        cmocka_unit_test(carries_the_most_buffers), cmocka_unit_test(refuses_more_buffers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
