/* What is taken and what is refused, whole, byte by byte, and in other pieces: the verdicts must be
 * the same with every llhttp, so no test looks at llhttp's own words.
 * With files as arguments it only says what it makes of each, a line of JSON per file: so
 * tests/conform/http compares it with other parsers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "http/parser.h"

static const struct http_limits limits = {.head = 2048, .headers = 20, .body = 100000};

#define H "Host: h\r\n"
#define GET "GET / HTTP/1.1\r\n" H
#define POST "POST / HTTP/1.1\r\n" H
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"
#define UPGRADE GET "Upgrade: websocket\r\nConnection: Upgrade\r\n"
#define KEY "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define VERSION "Sec-WebSocket-Version: 13\r\n"

static const struct refused {
    int status;
    const char *input;
} refused[] = {
    /* Line ends. */
    {400, "GET / HTTP/1.1\n" H "\r\n"},
    {400, "GET / HTTP/1.1\r" H "\r\n"},
    {400, "GET / HTTP/1.1\r\r\n" H "\r\n"},
    {400, "GET / HTTP/1.1\r\nHost: h\n\r\n"},
    {400, "GET / HTTP/1.1\r\nHost: h\rX: y\r\n\r\n"},
    {400, GET "\n"},
    {400, GET "\r\r\n"},
    {400, GET "A: b\r\n\n\r"},
    {400, "\n" GET "\r\n"},
    {400, "\r" GET "\r\n"},
    {400, "\r\n\r\n" GET "\r\n"},
    {400, "\r\n\n" GET "\r\n"},
    /* Folded lines and empty names. */
    {400, GET "A: b\r\n c\r\n\r\n"},
    {400, GET "A: b\r\n\tc\r\n\r\n"},
    {400, GET " A: b\r\n\r\n"},
    {400, GET "A: b\r\n \r\n\r\n"},
    {400, GET "A:\r\n b\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\n " H "\r\n"},
    {400, POST "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n"},
    {400, POST "Content-Length:\r\n 5\r\n\r\nhello"},
    {400, "POST / HTTP/1.1\r\nHost: h\r\n Content-Length: 5\r\n\r\nhello"},
    {400, GET ": 1\r\n\r\n"},
    {400, GET ":\r\n\r\n"},
    {400, GET "A b: c\r\n\r\n"},
    {400, GET "A : c\r\n\r\n"},
    {400, GET "A\t: c\r\n\r\n"},
    {400, GET "no colon\r\n\r\n"},
    {400, GET "(A): c\r\n\r\n"},
    {400, GET "A\x01: c\r\n\r\n"},
    {400, GET "A: \x01\r\n\r\n"},
    {400, GET "A: \x7f\r\n\r\n"},
    {400, GET "\xc3\xa4: c\r\n\r\n"},
    /* Request lines. */
    {400, "\x16\x03\x01\x02"},
    {400, "GET\r\n" H "\r\n"},
    {400, "GET /\r\n" H "\r\n"},
    {400, "GET  / HTTP/1.1\r\n" H "\r\n"},
    {400, "GET /  HTTP/1.1\r\n" H "\r\n"},
    {400, "GET / HTTP/1.1 \r\n" H "\r\n"},
    {400, " GET / HTTP/1.1\r\n" H "\r\n"},
    {400, "GET\t/ HTTP/1.1\r\n" H "\r\n"},
    {400, "GET /\tHTTP/1.1\r\n" H "\r\n"},
    {400, "GET /a b HTTP/1.1\r\n" H "\r\n"},
    {400, "GET /\xc3\xa4 HTTP/1.1\r\n" H "\r\n"},
    {400, "GET / http/1.1\r\n" H "\r\n"},
    {400, "GET / HTTP/1\r\n" H "\r\n"},
    {400, "GET / HTTP/1.10\r\n" H "\r\n"},
    {400, "GET / RTSP/1.0\r\n" H "\r\n"},
    {400, "GET / ICE/1.0\r\n" H "\r\n"},
    {400, "SOURCE / ICE/1.0\r\n" H "\r\n"},
    {505, "GET / HTTP/0.9\r\n" H "\r\n"},
    {505, "GET / HTTP/1.2\r\n" H "\r\n"},
    {505, "GET / HTTP/2.0\r\n" H "\r\n"},
    {505, "GET / HTTP/9.9\r\n" H "\r\n"},
    {505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
    {405, "CONNECT h:80 HTTP/1.1\r\n" H "\r\n"},
    {405, "TRACE / HTTP/1.1\r\n" H "\r\n"},
    {501, "SOURCE / HTTP/1.1\r\n" H "\r\n"},
    {501, "BREW / HTTP/1.1\r\n" H "\r\n"},
    {501, "M-SEARCH / HTTP/1.1\r\n" H "\r\n"},
    {501, "get / HTTP/1.1\r\n" H "\r\n"},
    {501, "GETT / HTTP/1.1\r\n" H "\r\n"},
    {400, "G(T / HTTP/1.1\r\n" H "\r\n"},
    {400, "GET http://h/ HTTP/1.1\r\n" H "\r\n"},
    {400, "GET * HTTP/1.1\r\n" H "\r\n"},
    {400, "OPTIONS * HTTP/1.1\r\n" H "\r\n"},
    {400, "GET /#f HTTP/1.1\r\n" H "\r\n"},
    {400, "GET /?#f HTTP/1.1\r\n" H "\r\n"},
    {400, "GET h HTTP/1.1\r\n" H "\r\n"},
    {400, "GET ?a HTTP/1.1\r\n" H "\r\n"},
    /* Hosts. */
    {400, "GET / HTTP/1.1\r\n\r\n"},
    {400, GET H "\r\n"},
    {400, "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\nHost: a b\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\nHost: u@h\r\n\r\n"},
    {400, "GET / HTTP/1.0\r\n" H H "\r\n"},
    /* Framing. */
    {400, POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"},
    {400, POST "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
    {400, POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
    {400, POST "Transfer-Encoding: ,chunked\r\n\r\n0\r\n\r\n"},
    {400, POST "Transfer-Encoding: chunked,\r\n\r\n0\r\n\r\n"},
    {400, POST "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n"},
    {400, POST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"},
    {400, POST "Transfer-Encoding: chunkedx\r\n\r\n0\r\n\r\n"},
    {400, POST "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n"},
    {400, POST "Transfer-Encoding: \x0b"
               "chunked\r\n\r\n0\r\n\r\n"},
    {400, POST "Transfer-Encoding:\r\n\r\n"},
    {400, POST "Transfer-Encoding: identity\r\n\r\n"},
    {400, "POST / HTTP/1.0\r\n" H "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
    {400, POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"},
    {400, POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
    {400, POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello"},
    {400, POST "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello"},
    {400, POST "Content-Length: 5, 5\r\n\r\nhello"},
    {400, POST "Content-Length: +5\r\n\r\nhello"},
    {400, POST "Content-Length: -5\r\n\r\nhello"},
    {400, POST "Content-Length: 0x5\r\n\r\nhello"},
    {400, POST "Content-Length: 5 5\r\n\r\nhello"},
    {400, POST "Content-Length: 5.0\r\n\r\nhello"},
    {400, POST "Content-Length: \r\n\r\n"},
    {400, POST "Content-Length: 18446744073709551615\r\n\r\n"},
    {400, POST "Content-Length: 18446744073709551621\r\n\r\nhello"},
    {413, POST "Content-Length: 9223372036854775807\r\n\r\n"},
    {413, POST "Content-Length: 100001\r\n\r\n"},
    {417, POST "Content-Length: 1\r\nExpect: 200-ok\r\n\r\nx"},
    {417, POST "Content-Length: 1\r\nExpect: 100-continue\r\nExpect: 100-continue\r\n\r\nx"},
    /* Chunks. */
    {400, CHUNKED "\r\n0\r\n\r\n"},
    {400, CHUNKED "x\r\n"},
    {400, CHUNKED "-1\r\n"},
    {400, CHUNKED "0x1\r\nx\r\n0\r\n\r\n"},
    {400, CHUNKED " 1\r\nx\r\n0\r\n\r\n"},
    {400, CHUNKED "1 \r\nx\r\n0\r\n\r\n"},
    {400, CHUNKED "1\t\r\nx\r\n0\r\n\r\n"},
    {400, CHUNKED "1\nx\r\n0\r\n\r\n"},
    {400, CHUNKED "1\rx\r\n0\r\n\r\n"},
    {400, CHUNKED "1\r\nx\n0\r\n\r\n"},
    {400, CHUNKED "1\r\nxx\r\n0\r\n\r\n"},
    {400, CHUNKED "1\r\nx0\r\n\r\n"},
    {400, CHUNKED "1;a\nx\r\n0\r\n\r\n"},
    {400, CHUNKED "1;a=b\nx\r\n0\r\n\r\n"},
    {400, CHUNKED "1;a=\"b\nx\r\n0\r\n\r\n"},
    {400, CHUNKED "1\r\nx\r\n0\n\r\n"},
    {400, CHUNKED "1\r\nx\r\n0\r\n\n"},
    {400, CHUNKED "1\r\nx\r\n0\n\n"},
    {400, CHUNKED "1\r\nx\r\n0\r\n\rx"},
    {400, CHUNKED "10000000000000000\r\nx"},
    {400, CHUNKED "fffffffffffffffff\r\nx"},
    {413, CHUNKED "fffffffffffffff0\r\n"},
    {413, CHUNKED "186a1\r\n"},
    {413, CHUNKED "18000\r\n@most\r\n6a1\r\n"},
    {400, CHUNKED "0\r\nA: b\r\n\r\n"},
    {400, CHUNKED "0\r\nA: b\n\r\n"},
    {400, CHUNKED "0\r\nA: b\r\n c\r\n\r\n"},
    {400, CHUNKED "0\r\nContent-Length: 5\r\n\r\n"},
    {400, CHUNKED "0\r\nHost: other\r\n\r\n"},
    {400, CHUNKED "0\r\nUpgrade: websocket\r\n\r\n"},
    {400, CHUNKED "0\r\n: b\r\n\r\n"},
    {400, CHUNKED "1;@framing\r\nx\r\n0\r\n\r\n"},
    {400, CHUNKED "@zeros1\r\nx\r\n0\r\n\r\n"},
    /* Sizes. */
    {431, "GET /@target HTTP/1.1\r\n" H "\r\n"},
    {431, "@garbage"},
    {431, GET "A: @target\r\n\r\n"},
    {431, GET "@headers\r\n"},
    /* Upgrades. */
    {426, UPGRADE KEY "Sec-WebSocket-Version: 8\r\n\r\n"},
    {426, UPGRADE KEY "Sec-WebSocket-Version: 13, 8\r\n\r\n"},
    {400, UPGRADE KEY "\r\n"},
    {400, UPGRADE VERSION "\r\n"},
    {400, UPGRADE VERSION KEY KEY "\r\n"},
    {400, UPGRADE VERSION VERSION KEY "\r\n"},
    {400, UPGRADE VERSION "Sec-WebSocket-Key: short\r\n\r\n"},
    {400, UPGRADE VERSION "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZ(==\r\n\r\n"},
    {400, UPGRADE VERSION "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQQQ\r\n\r\n"},
    {400, UPGRADE VERSION KEY "Content-Length: 1\r\n\r\nx"},
    {400, POST "Upgrade: websocket\r\nConnection: Upgrade\r\n" VERSION KEY "\r\n"},
};

static const struct taken {
    const char *input;
    const char *body;
    bool keep_alive, wants_websocket;
} taken[] = {
    {GET "\r\n", "", true, false},
    {"\r\n" GET "\r\n", "", true, false},
    {"GET / HTTP/1.0\r\n\r\n", "", false, false},
    {"GET / HTTP/1.0\r\n" H "Connection: Keep-Alive\r\n\r\n", "", true, false},
    {"GET / HTTP/1.0\r\n" H "Connection: keep-alive, close\r\n\r\n", "", false, false},
    {GET "Connection: close\r\n\r\n", "", false, false},
    {GET "Connection: close\t\r\n\r\n", "", false, false},
    {GET "Connection: foo ,CLOSE\r\n\r\n", "", false, false},
    {GET "Connection: foo\r\nConnection: close\r\n\r\n", "", false, false},
    {GET "Connection: closed\r\n\r\n", "", true, false},
    {GET "Connection:\r\n\r\n", "", true, false},
    {"PUT /a//b/../c?x=y;z:@!$&'()*+,[]{}|\\^`\"<> HTTP/1.1\r\n" H "\r\n", "", true, false},
    {"GET / HTTP/1.1\r\nHost:\r\n\r\n", "", true, false},
    {"GET / HTTP/1.1\r\nHost: [::1]:8888\r\n\r\n", "", true, false},
    {GET "A: \xc3\xa4\xff\r\nB:c\r\nC: \t d \t\r\nD:\r\n\r\n", "", true, false},
    {GET "!#$%&'*+-.^_`|~1a: c\r\n\r\n", "", true, false},
    {GET "Content-Length: 5\r\n\r\nhello", "hello", true, false},
    {POST "Content-Length: 0\r\n\r\n", "", true, false},
    {POST "Content-Length:  5 \r\n\r\nhello", "hello", true, false},
    {POST "Content-Length: 0005\r\n\r\nhello", "hello", true, false},
    {POST "Connection: close\r\nContent-Length: 5\r\n\r\nhello", "hello", false, false},
    {CHUNKED "0\r\n\r\n", "", true, false},
    {CHUNKED "000\r\n\r\n", "", true, false},
    {CHUNKED "5\r\nhello\r\n00A\r\n, worlds!!\r\n0\r\n\r\n", "hello, worlds!!", true, false},
    {CHUNKED "1;a\r\nx\r\n1;a=b\r\ny\r\n1;a=\"b c\"\r\nz\r\n0;last\r\n\r\n", "xyz", true, false},
    {CHUNKED "1\r\n\r\r\n1\r\n\n\r\n0\r\n\r\n", "\r\n", true, false},
    {POST "Transfer-Encoding: \tCHUNKED \r\n\r\n1\r\nx\r\n0\r\n\r\n", "x", true, false},
    {POST "Expect: 100-Continue\r\nContent-Length: 1\r\n\r\nx", "x", true, false},
    {GET "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: x\r\n\r\n", "",
     true, false},
    {POST "Upgrade: h2c\r\nConnection: Upgrade\r\nContent-Length: 5\r\n\r\nhello", "hello", true,
     false},
    {GET "Upgrade: websocket\r\n" VERSION KEY "\r\n", "", true, false},
    {"GET / HTTP/1.0\r\n" H "Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n", "", false, false},
    {UPGRADE VERSION KEY "\r\n", "", true, true},
    {GET "upgrade: h2c, WebSocket\r\nconnection: keep-alive, upgrade\r\n" VERSION KEY "\r\n", "",
     true, true},
};

/* An input with its placeholders filled in. */
static struct text expand(const char *input) {
    static const struct {
        const char *name, *piece;
        int times;
    } fillers[] = {{"@target", "a", 2100},       {"@garbage", "GARBAGE ", 300},
                   {"@headers", "A: b\r\n", 21}, {"@framing", "a", 5000},
                   {"@zeros", "0", 5000},        {"@most", "x", 0x18000}};
    struct text text = {0};
    while (*input) {
        bool found = false;
        for (size_t i = 0; *input == '@' && i < sizeof fillers / sizeof *fillers; i++) {
            if (strncmp(input, fillers[i].name, strlen(fillers[i].name)) != 0)
                continue;
            for (int j = 0; j < fillers[i].times; j++)
                text_append_text(&text, fillers[i].piece);
            input += strlen(fillers[i].name);
            found = true;
            break;
        }
        if (!found)
            text_append(&text, slice_make(input++, 1));
    }
    return text;
}

/* Feeds input in pieces of step bytes, each at the end of memory of exactly its size, so that ASan
 * sees a look beyond. Returns the last state; the bytes that were taken in *ret_taken. */
static enum parser_state feed(struct parser *parser, struct slice input, size_t step,
                              size_t *ret_taken) {
    size_t begin = 0, end = 0, consumed;
    enum parser_state state = PARSER_MORE;
    while (end < input.size && state != PARSER_DONE && state != PARSER_REFUSED) {
        end = input.size - end < step ? input.size : end + step;
        do {
            struct bytes *window = bytes_copy(slice_make(input.data + begin, end - begin));
            state = parser_feed(parser, bytes_slice(window), &consumed);
            bytes_unref(window);
            begin += consumed;
        } while (state == PARSER_HEAD);
    }
    *ret_taken = begin;
    return state;
}

static const size_t steps[] = {SIZE_MAX, 1, 2, 3, 7, 50};

static void refuses_what_it_should(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct text input = expand(refused[i].input);
        for (size_t j = 0; j < sizeof steps / sizeof *steps; j++) {
            if (input.size > 50000 && steps[j] < 50)
                continue; /* a body of 100 kB byte by byte says nothing more */
            struct parser parser;
            size_t count;
            parser_init(&parser, &limits);
            enum parser_state verdict = feed(&parser, text_slice(&input), steps[j], &count);
            if (verdict != PARSER_REFUSED || parser.refusal.status != refused[i].status)
                fail_msg("step %zu, state %d, status %d \"%s\" (wanted %d): %s", steps[j], verdict,
                         parser.refusal.status, parser.refusal.message, refused[i].status,
                         refused[i].input);
            assert_non_null(parser.refusal.code);
            assert_true(parser.refusal.message[0]);
            size_t consumed;
            assert_int_equal(parser_feed(&parser, SLICE_LITERAL("x"), &consumed), PARSER_REFUSED);
            parser_finish(&parser);
        }
        text_finish(&input);
    }
    assert_int_equal(mem_live(), 0);
}

static void takes_what_it_should(void **state) {
    (void)state;
    static const struct slice next = {(const uint8_t *)"GET /next HTTP/1.1\r\n", 20};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        struct text input = expand(taken[i].input);
        size_t size = input.size, count;
        text_append(&input, next); /* pipelined behind: must be left alone */
        for (size_t j = 0; j < sizeof steps / sizeof *steps; j++) {
            struct parser parser;
            parser_init(&parser, &limits);
            enum parser_state verdict = feed(&parser, text_slice(&input), steps[j], &count);
            if (verdict != PARSER_DONE || count != size)
                fail_msg("step %zu, state %d, %zu of %zu, \"%s\": %s", steps[j], verdict, count,
                         size, parser.refusal.message, taken[i].input);
            assert_true(slice_equal_text(text_slice(&parser.body), taken[i].body));
            if (parser.keep_alive != taken[i].keep_alive ||
                parser.wants_websocket != taken[i].wants_websocket)
                fail_msg("wrong flags: %s", taken[i].input);
            parser_finish(&parser);
        }
        text_finish(&input);
    }
    assert_int_equal(mem_live(), 0);
}

static void splits_targets_and_fields(void **state) {
    (void)state;
    static const char input[] =
        "DELETE /a%2Fb?c=d?e HTTP/1.1\r\nHost: h\r\nA: 1\r\nEmpty:\r\na:\t2 "
        "\r\nList: x , Y\r\nlist: z\r\n\r\n";
    struct parser parser;
    size_t count;
    parser_init(&parser, &limits);
    assert_int_equal(feed(&parser, slice_make(input, sizeof input - 1), 1, &count), PARSER_DONE);
    assert_true(slice_equal_text(parser.method, "DELETE"));
    assert_true(slice_equal_text(parser.path, "/a%2Fb"));
    assert_true(slice_equal_text(parser.query, "c=d?e"));
    assert_int_equal(parser.field_count, 6);
    assert_true(slice_equal_text(fields_find(&parser, "a", 0)->value, "1"));
    assert_true(slice_equal_text(fields_find(&parser, "A", 1)->value, "2"));
    assert_null(fields_find(&parser, "A", 2));
    assert_non_null(fields_find(&parser, "empty", 0)->value.data);
    assert_true(fields_have_word(&parser, "List", "y"));
    assert_true(fields_have_word(&parser, "List", "z"));
    assert_false(fields_have_word(&parser, "List", "x , Y"));
    parser_finish(&parser);
    assert_int_equal(mem_live(), 0);
}

static void takes_heads_and_bodies_up_to_the_limit(void **state) {
    (void)state;
    struct text input = {0};
    text_append_text(&input, "GET / HTTP/1.1\r\nHost: h\r\nA: ");
    while (input.size < limits.head - 4)
        text_append_text(&input, "x");
    text_append_text(&input, "\r\n\r\n");
    struct parser parser;
    size_t count;
    parser_init(&parser, &limits);
    assert_int_equal(feed(&parser, text_slice(&input), 100, &count), PARSER_DONE);
    parser_finish(&parser);
    text_finish(&input);
    text_append_text(&input, POST "Content-Length: 100000\r\n\r\n");
    for (size_t i = 0; i < limits.body; i++)
        text_append_text(&input, "y");
    parser_init(&parser, &limits);
    assert_int_equal(feed(&parser, text_slice(&input), 1000, &count), PARSER_DONE);
    assert_int_equal(parser.body.size, limits.body);
    parser_finish(&parser);
    text_finish(&input);
    assert_int_equal(mem_live(), 0);
}

static void takes_any_number_of_small_chunks(void **state) {
    (void)state;
    struct text input = {0};
    text_append_text(&input, CHUNKED);
    for (int i = 0; i < 20000; i++)
        text_append_text(&input, "1\r\nx\r\n");
    text_append_text(&input, "0\r\n\r\n");
    struct parser parser;
    size_t count;
    parser_init(&parser, &limits);
    assert_int_equal(feed(&parser, text_slice(&input), 4096, &count), PARSER_DONE);
    assert_int_equal(parser.body.size, 20000);
    parser_finish(&parser);
    text_finish(&input);
    assert_int_equal(mem_live(), 0);
}

static void say_hex(const char *name, struct slice value) {
    printf(", \"%s\": \"", name);
    for (size_t i = 0; i < value.size; i++)
        printf("%02x", value.data[i]);
    printf("\"");
}

static int judge_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file)
        return 1;
    static uint8_t data[1 << 16];
    struct slice input = slice_make(data, fread(data, 1, sizeof data, file));
    fclose(file);
    struct parser parser;
    size_t count;
    parser_init(&parser, &limits);
    enum parser_state verdict = feed(&parser, input, SIZE_MAX, &count);
    printf("{\"status\": %d, \"done\": %s, \"fields\": %u", parser.refusal.status,
           verdict == PARSER_DONE ? "true" : "false", parser.field_count);
    say_hex("method", parser.method);
    say_hex("path", parser.path);
    say_hex("query", parser.query);
    say_hex("body", text_slice(&parser.body));
    printf("}\n");
    parser_finish(&parser);
    return 0;
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        if (judge_file(argv[i]) != 0)
            return 1;
    if (argc > 1)
        return 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_what_it_should),
        cmocka_unit_test(takes_what_it_should),
        cmocka_unit_test(splits_targets_and_fields),
        cmocka_unit_test(takes_heads_and_bodies_up_to_the_limit),
        cmocka_unit_test(takes_any_number_of_small_chunks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
