/* The codec alone: each case is fed whole and byte by byte, and must say the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "http/ws_codec.h"

/* The mask is 00 00 00 00 in most cases, so that payloads can be read. */
#define M "\0\0\0\0"
#define INPUT(text) ((struct slice){(const uint8_t *)(text), sizeof(text) - 1})

/* What the codec says is written down as a line: T text, B binary, I ping, O pong, C close, F
 * failure, each with its code and payload. */
static const struct {
    struct slice input;
    const char *says;
} cases[] = {
    /* Messages. */
    {INPUT("\x81\x85" M "Hello"), "T:Hello "},
    {INPUT("\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"), "T:Hello "}, /* section 5.7 */
    {INPUT("\x82\x83" M "abc"), "B:abc "},
    {INPUT("\x81\x80" M), "T: "},
    {INPUT("\x82\x80" M "\x81\x81" M "x"), "B: T:x "},
    {INPUT("\x81\xfe\x00\x7e" M "1234567890123456789012345678901234567890123456789012345678901234"
           "56789012345678901234567890123456789012345678901234567890123456"),
     "T:1234567890123456789012345678901234567890123456789012345678901234"
     "56789012345678901234567890123456789012345678901234567890123456 "},
    /* Fragments, with control frames between them. */
    {INPUT("\x01\x83" M "abc\x80\x83" M "def"), "T:abcdef "},
    {INPUT("\x02\x83" M "abc\x00\x80" M "\x00\x81" M "d\x80\x80" M), "B:abcd "},
    {INPUT("\x01\x81" M "a\x89\x81" M "p\x8a\x80" M "\x80\x81" M "b\x81\x81" M "c"),
     "I:p O: T:ab T:c "},
    {INPUT("\x01\x82" M "\xe2\x82\x80\x81" M "\xac"),
     "T:\xe2\x82\xac "}, /* split inside a character */
    {INPUT("\x01\x80" M "\x80\x80" M), "T: "},
    {INPUT("\x01\x81" M "a\x88\x82" M "\x03\xe8"), "C1000: "},
    /* Control frames. */
    {INPUT("\x89\x80" M), "I: "},
    {INPUT("\x8a\x84" M "late"), "O:late "},
    {INPUT("\x88\x80" M), "C1005: "},
    {INPUT("\x88\x85" M "\x03\xe8"
           "bye"),
     "C1000:bye "},
    {INPUT("\x88\x82" M "\x03\xe9"), "C1001: "},
    {INPUT("\x88\x82" M "\x03\xeb"), "C1003: "},
    {INPUT("\x88\x82" M "\x03\xef"), "C1007: "},
    {INPUT("\x88\x82" M "\x03\xf3"), "C1011: "},
    {INPUT("\x88\x82" M "\x03\xf4"), "C1012: "},
    {INPUT("\x88\x82" M "\x03\xf5"), "C1013: "},
    {INPUT("\x88\x82" M "\x03\xf6"), "C1014: "},
    {INPUT("\x88\x82" M "\x0b\xb8"), "C3000: "},
    {INPUT("\x88\x82" M "\x13\x87"), "C4999: "},
    {INPUT("\x88\x81" M "x"), "F1002 "},
    {INPUT("\x88\x82" M "\x00\x00"), "F1002 "},
    {INPUT("\x88\x82" M "\x03\xe7"), "F1002 "},
    {INPUT("\x88\x82" M "\x03\xec"), "F1002 "},
    {INPUT("\x88\x82" M "\x03\xed"), "F1002 "},
    {INPUT("\x88\x82" M "\x03\xee"), "F1002 "},
    {INPUT("\x88\x82" M "\x03\xf7"), "F1002 "},
    {INPUT("\x88\x82" M "\x07\xd0"), "F1002 "},
    {INPUT("\x88\x82" M "\x13\x88"), "F1002 "},
    {INPUT("\x88\x82" M "\xff\xff"), "F1002 "},
    {INPUT("\x88\x83" M "\x03\xe8\xff"), "F1007 "},
    {INPUT("\x09\x80" M), "F1002 "},       /* fragmented */
    {INPUT("\x89\xfe\x00\x7e"), "F1002 "}, /* too large, seen by its second byte */
    {INPUT("\x88\xff"), "F1002 "},
    /* Frames that may not be. */
    {INPUT("\x81\x05"), "F1002 "}, /* not masked */
    {INPUT("\x81\x80" M "\x81\x00"), "T: F1002 "},
    {INPUT("\xc1\x80"), "F1002 "},
    {INPUT("\xa1\x80"), "F1002 "},
    {INPUT("\x91\x80"), "F1002 "},
    {INPUT("\x83\x80"), "F1002 "},
    {INPUT("\x87\x80"), "F1002 "},
    {INPUT("\x8b\x80"), "F1002 "},
    {INPUT("\x8f\x80"), "F1002 "},
    {INPUT("\x80\x81"), "F1002 "}, /* continues nothing */
    {INPUT("\x00\x81"), "F1002 "},
    {INPUT("\x01\x81" M "a\x80\x81" M "b\x80\x81"), "T:ab F1002 "},
    {INPUT("\x01\x81" M "a\x81\x81"), "F1002 "}, /* begins within */
    {INPUT("\x01\x81" M "a\x02\x81"), "F1002 "},
    {INPUT("\x81\xfe\x00\x7d"), "F1002 "}, /* longer form than needed */
    {INPUT("\x81\xff\0\0\0\0\0\0\xff\xff"), "F1002 "},
    {INPUT("\x81\xff\x80\0\0\0\0\0\0\x01"), "F1002 "},
    /* Not UTF-8. */
    {INPUT("\x81\x81" M "\xff"), "F1007 "},
    {INPUT("\x81\x83" M "\xed\xa0\x80"), "F1007 "},
    {INPUT("\x81\x82" M "\xc3("), "F1007 "},
    {INPUT("\x81\x81" M "\xc3"), "F1007 "},
    {INPUT("\x01\x81" M "\xc3\x80\x81" M "x"), "F1007 "},
    {INPUT("\x82\x81" M "\xff"), "B:\xff "},
    /* Limits: 70000 bytes and 4 fragments; refused before the payload comes. */
    {INPUT("\x82\xff\0\0\0\0\0\x01\x11\x71"), "F1009 "},
    {INPUT("\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff"), "F1009 "},
    {INPUT("\x01\x81" M "a\x80\xff\0\0\0\0\0\x01\x11\x70"), "F1009 "},
    {INPUT("\x01\x80" M "\x00\x80" M "\x00\x80" M "\x80\x80" M), "T: "},
    {INPUT("\x01\x80" M "\x00\x80" M "\x00\x80" M "\x00\x80" M "\x00\x80"), "F1009 "},
    /* Not whole: nothing is said. */
    {INPUT(""), ""},
    {INPUT("\x81"), ""},
    {INPUT("\x81\x85" M "Hell"), ""},
    {INPUT("\x81\xfe\x01"), ""},
};

static void say(struct text *said, enum ws_verdict verdict, const struct ws_event *event) {
    static const char letters[] = {[WS_TEXT] = 'T', [WS_BINARY] = 'B', [WS_PING] = 'I',
                                   [WS_PONG] = 'O', [WS_CLOSE] = 'C',  [WS_FAILED] = 'F'};
    if (verdict == WS_MORE)
        return;
    text_append_format(said, "%c", letters[verdict]);
    if (verdict == WS_CLOSE || verdict == WS_FAILED)
        text_append_format(said, "%u", event->code);
    if (verdict != WS_FAILED) {
        text_append_text(said, ":");
        text_append(said, event->payload);
    }
    text_append_text(said, " ");
}

/* Feeds input in pieces of step bytes, in memory of exactly the size of what is not consumed. */
static struct text listen_to(struct slice input, size_t step) {
    struct ws_decoder decoder = {.message_max = 70000, .fragments_max = 4};
    struct text said = {0}, window = {0};
    enum ws_verdict verdict = WS_MORE;
    size_t consumed;
    struct ws_event event;
    for (size_t at = 0; at < input.size && verdict != WS_FAILED && verdict != WS_CLOSE;) {
        size_t size = input.size - at < step ? input.size - at : step;
        text_append(&window, slice_make(input.data + at, size));
        at += size;
        do {
            struct bytes *exact = bytes_copy(text_slice(&window));
            verdict = ws_decode(&decoder, exact->data, exact->size, &consumed, &event);
            say(&said, verdict, &event);
            struct bytes *rest = bytes_copy(slice_from(bytes_slice(exact), consumed));
            text_finish(&window);
            text_append(&window, bytes_slice(rest));
            bytes_unref(exact);
            bytes_unref(rest);
        } while (verdict != WS_MORE && verdict != WS_FAILED && verdict != WS_CLOSE);
    }
    text_finish(&window);
    ws_decoder_forget(&decoder);
    return said;
}

static void says_what_frames_mean(void **state) {
    (void)state;
    static const size_t steps[] = {SIZE_MAX, 1, 2, 3, 5};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t j = 0; j < sizeof steps / sizeof *steps; j++) {
            struct text said = listen_to(cases[i].input, steps[j]);
            if (strcmp(said.data ? said.data : "", cases[i].says) != 0)
                fail_msg("case %zu, step %zu: said %s, wanted %s", i, steps[j], said.data,
                         cases[i].says);
            text_finish(&said);
        }
    }
    assert_int_equal(mem_live(), 0);
}

static void names_what_a_frame_needs(void **state) {
    (void)state;
    struct ws_decoder decoder = {.message_max = 70000, .fragments_max = 4};
    struct ws_event event;
    size_t consumed = 9;
    uint8_t begun[] = "\x82\xff\0\0\0\0\0\x01\0\x01" M "x";
    assert_int_equal(ws_decode(&decoder, begun, 15, &consumed, &event), WS_MORE);
    assert_int_equal(consumed, 0);
    assert_int_equal(event.needed, 14 + 65537);
    assert_int_equal(ws_decode(&decoder, begun, 9, &consumed, &event), WS_MORE);
    assert_int_equal(event.needed, 0);
}

static void names_limits_in_reasons(void **state) {
    (void)state;
    struct ws_decoder decoder = {.message_max = SIZE_MAX, .fragments_max = UINT32_MAX};
    struct ws_event event;
    size_t consumed;
    uint8_t big[] = "\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff";
    decoder.message_max = 12345678;
    assert_int_equal(ws_decode(&decoder, big, 10, &consumed, &event), WS_FAILED);
    assert_non_null(strstr(decoder.why, "ws_message_bytes = 12345678"));
    decoder = (struct ws_decoder){.message_max = 100, .fragments_max = 0};
    uint8_t none[] = "\x01\x80" M;
    assert_int_equal(ws_decode(&decoder, none, 6, &consumed, &event), WS_FAILED);
    assert_non_null(strstr(decoder.why, "ws_fragments = 0"));
}

static void masks_any_alignment_and_size(void **state) {
    (void)state;
    static const uint8_t key[4] = {0xde, 0xad, 0xbe, 0xef};
    uint8_t data[80], wanted[80];
    for (size_t offset = 0; offset < 9; offset++) {
        for (size_t size = 0; size < 70; size++) {
            for (size_t i = 0; i < sizeof data; i++)
                data[i] = wanted[i] = (uint8_t)(i * 7);
            for (size_t i = 0; i < size; i++)
                wanted[offset + i] ^= key[i % 4];
            ws_mask(data + offset, size, key);
            assert_memory_equal(data, wanted, sizeof data);
        }
    }
}

static void writes_headers_in_the_shortest_form(void **state) {
    (void)state;
    static const struct {
        size_t size, header_size;
        const char *header;
    } headers[] = {
        {0, 2, "\x82\x00"},
        {125, 2, "\x82\x7d"},
        {126, 4, "\x82\x7e\x00\x7e"},
        {65535, 4, "\x82\x7e\xff\xff"},
        {65536, 10, "\x82\x7f\0\0\0\0\0\x01\0\0"},
        {0x123456789a, 10, "\x82\x7f\0\0\0\x12\x34\x56\x78\x9a"},
    };
    uint8_t header[WS_HEADER_MAX];
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        assert_int_equal(ws_encode_header(header, WS_OPCODE_BINARY, headers[i].size),
                         headers[i].header_size);
        assert_memory_equal(header, headers[i].header, headers[i].header_size);
    }
}

static void cuts_reasons_at_a_character(void **state) {
    (void)state;
    uint8_t payload[WS_CONTROL_MAX];
    char reason[200];
    memset(reason, 'a', sizeof reason);
    memcpy(reason + 122, "\xe2\x82\xac", 4);
    assert_int_equal(ws_encode_close(payload, 4000, reason), 2 + 122);
    assert_int_equal(payload[0] << 8 | payload[1], 4000);
    memcpy(reason + 120, "\xe2\x82\xac", 4);
    assert_int_equal(ws_encode_close(payload, 4000, reason), 2 + 123);
    assert_int_equal(ws_encode_close(payload, 1000, ""), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_frames_mean),
        cmocka_unit_test(names_what_a_frame_needs),
        cmocka_unit_test(names_limits_in_reasons),
        cmocka_unit_test(masks_any_alignment_and_size),
        cmocka_unit_test(writes_headers_in_the_shortest_form),
        cmocka_unit_test(cuts_reasons_at_a_character),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
