#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "http/ws_codec.h"

static int set_up(void **state) {
    *state = ws_deflate_create();
    return 0;
}

static int tear_down(void **state) {
    ws_deflate_destroy(*state);
    assert_int_equal(mem_live(), 0);
    return 0;
}

static void expect(struct ws_deflate *deflate, struct slice packed, size_t max, int result,
                   const char *message) {
    cleanup_text struct text text = {0};
    assert_int_equal(ws_deflate_unpack(deflate, packed, max, &text), result);
    assert_true(text.size <= max);
    if (result == 0)
        assert_true(slice_equal_text(text_slice(&text), message));
}

#define INPUT(text) ((struct slice){(const uint8_t *)(text), sizeof(text) - 1})

/* The examples of RFC 7692 section 7.2.3. */
static void unpacks_what_the_standard_shows(void **state) {
    expect(*state, INPUT("\xf2\x48\xcd\xc9\xc9\x07\x00"), 5, 0, "Hello");
    expect(*state, INPUT("\x00\x05\x00\xfa\xffHello\x00"), 5, 0, "Hello");    /* stored */
    expect(*state, INPUT("\xf3\x48\xcd\xc9\xc9\x07\x00\x00"), 5, 0, "Hello"); /* BFINAL */
    expect(*state, INPUT("\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00"), 5, 0,
           "Hello"); /* two blocks */
    expect(*state, INPUT("\x00"), 5, 0, "");
}

/* It refers to what the message before had, whose window was not kept. */
static void keeps_no_window(void **state) {
    expect(*state, INPUT("\xf2\x48\xcd\xc9\xc9\x07\x00"), 5, 0, "Hello");
    expect(*state, INPUT("\xf2\x00\x11\x00\x00"), 5, -EINVAL, "");
    expect(*state, INPUT("\xf2\x48\xcd\xc9\xc9\x07\x00"), 5, 0, "Hello");
}

static void refuses_what_is_none(void **state) {
    expect(*state, INPUT(""), 5, -EINVAL, "");
    expect(*state, INPUT("\xff\xff\xff"), 5, -EINVAL, "");
    expect(*state, INPUT("\xf2\x48\xcd"), 5, -EINVAL, "");              /* cut */
    expect(*state, INPUT("\x00\x05\x00\xfa\xffHell"), 90, -EINVAL, ""); /* cut */
    expect(*state, INPUT("\x00\x05\x00\xfa\xfeHello\x00"), 5, -EINVAL, "");
    expect(*state, INPUT("\xf2\x48\xcd\xc9\xc9\x07\x00"), 4, -EMSGSIZE, "");
}

/* 100 MB of zeros; level 1 makes 440 kB of it, in blocks that are all the same. */
static struct bytes *make_bomb(struct ws_deflate *deflate, size_t *ret_size) {
    cleanup_bytes struct bytes *zeros = bytes_create(WS_DEFLATE_MAX);
    cleanup_text struct text bomb = {0};
    memset(zeros->data, 0, zeros->size);
    cleanup_bytes struct bytes *packed = ws_deflate_pack(deflate, bytes_slice(zeros), 15);
    assert_non_null(packed);
    *ret_size = 0;
    for (int i = 0; i < 100; i++) { /* each ends on a byte's border, but for the tail */
        text_append(&bomb, bytes_slice(packed));
        text_append(&bomb, i < 99 ? INPUT("\x00\x00\xff\xff") : SLICE_LITERAL(""));
        *ret_size += zeros->size;
    }
    return bytes_copy(text_slice(&bomb));
}

static void stops_a_bomb(void **state) {
    size_t size;
    cleanup_bytes struct bytes *bomb = make_bomb(*state, &size);
    assert_true(bomb->size < 1 << 20);
    cleanup_text struct text text = {0};
    assert_int_equal(ws_deflate_unpack(*state, bytes_slice(bomb), 100000, &text), -EMSGSIZE);
    assert_true(text.capacity <= 200001);
    text_finish(&text);
    assert_int_equal(ws_deflate_unpack(*state, bytes_slice(bomb), size - 1, &text), -EMSGSIZE);
    text_finish(&text);
    assert_int_equal(ws_deflate_unpack(*state, bytes_slice(bomb), size, &text), 0);
    assert_int_equal(text.size, size);
}

static struct bytes *make_message(size_t size) {
    struct bytes *message = bytes_create(size);
    for (size_t i = 0; i < size; i++)
        message->data[i] = (uint8_t) "0123456789abcdef"[(i * i >> 4) & 0xf];
    return message;
}

static void packs_for_any_window(void **state) {
    static const size_t sizes[] = {100, 1000, 16384, 100000, WS_DEFLATE_MAX};
    for (unsigned bits = 9; bits <= 15; bits++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            cleanup_bytes struct bytes *message = make_message(sizes[i]);
            cleanup_bytes struct bytes *packed =
                ws_deflate_pack(*state, bytes_slice(message), bits);
            assert_non_null(packed);
            assert_true(packed->size <= message->size / 4 * 3);
            cleanup_text struct text text = {0};
            assert_int_equal(ws_deflate_unpack(*state, bytes_slice(packed), message->size, &text),
                             0);
            assert_true(slice_equal(text_slice(&text), bytes_slice(message)));
        }
}

static void leaves_alone_what_does_not_pay(void **state) {
    cleanup_bytes struct bytes *large = make_message(WS_DEFLATE_MAX + 1);
    assert_null(ws_deflate_pack(*state, bytes_slice(large), 15));
    for (size_t i = 0; i < large->size; i++)
        large->data[i] = (uint8_t)rand();
    for (size_t size = 1; size <= WS_DEFLATE_MAX; size *= 4)
        assert_null(ws_deflate_pack(*state, slice_make(large->data, size), 15));
}

/* -- in frames -------------------------------------------------------------------------------- */

#define M "\0\0\0\0" /* a mask that changes nothing */

static const struct {
    struct slice frames;
    enum ws_verdict verdict;
    const char *payload; /* or the reason of a failure */
    uint16_t code;
} cases[] = {
    {INPUT("\xc1\x87" M "\xf2\x48\xcd\xc9\xc9\x07\x00"), WS_TEXT, "Hello", 0},
    {INPUT("\x41\x83" M "\xf2\x48\xcd\x80\x84" M "\xc9\xc9\x07\x00"), WS_TEXT, "Hello", 0},
    {INPUT("\x81\x85" M "plain"), WS_TEXT, "plain", 0},
    {INPUT("\xc2\x81" M "\x00"), WS_BINARY, "", 0},
    {INPUT("\xc1\x8a" M "\xf2\x48\xcd\xc9\xc9\x57\x28\xcf\x2f\xca"), WS_FAILED,
     "the message cannot be unpacked", 1007},
    {INPUT("\xc1\x87" M "\x00\x01\x00\xfe\xff\xff\x00"), WS_FAILED, "the text is not UTF-8", 1007},
    {INPUT("\xc2\x86" M "\x4a\x4c\x24\x1f\x00\x00"), WS_FAILED,
     "the unpacked message is larger than ws_message_bytes = 13", 1009},
    {INPUT("\xc9\x80" M), WS_FAILED, "RSV1 is set, but not at the beginning of a message", 1002},
    {INPUT("\x41\x81" M "\xf2\xc0\x80" M), WS_FAILED,
     "RSV1 is set, but not at the beginning of a message", 1002},
    {INPUT("\xe1\x80" M), WS_FAILED, "a reserved bit is set, but no extension was agreed on", 1002},
};

static void reads_frames(void **state) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ws_decoder decoder = {.message_max = 13, .fragments_max = 4, .deflate = *state};
        cleanup_bytes struct bytes *input = bytes_copy(cases[i].frames);
        struct ws_event event;
        size_t consumed;
        assert_int_equal(ws_decode(&decoder, input->data, input->size, &consumed, &event),
                         cases[i].verdict);
        if (!slice_equal_text(event.payload, cases[i].payload))
            fail_msg("%zu: %.*s", i, (int)event.payload.size, (const char *)event.payload.data);
        assert_int_equal(event.code, cases[i].code);
        ws_decoder_forget(&decoder);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(unpacks_what_the_standard_shows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(keeps_no_window, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses_what_is_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(stops_a_bomb, set_up, tear_down),
        cmocka_unit_test_setup_teardown(packs_for_any_window, set_up, tear_down),
        cmocka_unit_test_setup_teardown(leaves_alone_what_does_not_pay, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reads_frames, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
