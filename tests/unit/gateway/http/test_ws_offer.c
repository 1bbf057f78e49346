#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "http/ws_offer.h"

/* bits 0: declined; below 0: agreed on without naming the window. */
static const struct {
    const char *value;
    int bits;
} cases[] = {
    /* What browsers, `ws` and `websockets` send, and what RFC 7692 shows. */
    {"permessage-deflate", -15},
    {"permessage-deflate; client_max_window_bits", -15},
    {"permessage-deflate; client_max_window_bits; server_max_window_bits=10", 10},
    {"permessage-deflate;client_max_window_bits=12 ;server_max_window_bits = \"15\"", 15},
    {"permessage-deflate; server_no_context_takeover; client_no_context_takeover", -15},
    {"permessage-deflate; server_max_window_bits=9", 9},
    {"x-webkit-deflate-frame, permessage-deflate", -15},
    {"foo; bar=\"1\"; baz, permessage-deflate; server_max_window_bits=11", 11},
    /* The best that can be kept. */
    {"permessage-deflate; server_max_window_bits=8, permessage-deflate", -15},
    {"permessage-deflate; unknown, permessage-deflate; server_max_window_bits=14", 14},
    {"permessage-deflate; server_max_window_bits=10, permessage-deflate", 10},
    /* Declined. */
    {"", 0},
    {"permessage-bzip2", 0},
    {"PERMESSAGE-DEFLATE", 0},
    {"permessage-deflate; unknown", 0},
    {"permessage-deflate; server_max_window_bits", 0},
    {"permessage-deflate; server_max_window_bits=8", 0},
    {"permessage-deflate; server_max_window_bits=16", 0},
    {"permessage-deflate; server_max_window_bits=07", 0},
    {"permessage-deflate; server_max_window_bits=010", 0},
    {"permessage-deflate; client_max_window_bits=7", 0},
    {"permessage-deflate; server_no_context_takeover=1", 0},
    {"permessage-deflate; server_no_context_takeover; server_no_context_takeover", 0},
    {"permessage-deflate; server_max_window_bits=10; server_max_window_bits=10", 0},
    /* No list of offers. */
    {",", 0},
    {"permessage-deflate,", 0},
    {"permessage-deflate;", 0},
    {"permessage-deflate; client_max_window_bits=", 0},
    {"permessage-deflate; client_max_window_bits=\"15", 0},
    {"permessage-deflate client_max_window_bits", 0},
    {"permessage-deflate; (", 0},
};

static void judges_offers(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ws_agreement agreement = {false, 77};
        bool is_kept = ws_offer_judge(slice_from_text(cases[i].value), &agreement);
        int bits =
            agreement.names_window ? (int)agreement.window_bits : -(int)agreement.window_bits;
        if (is_kept != (cases[i].bits != 0) || bits != (is_kept ? cases[i].bits : -77))
            fail_msg("%s: %d %d", cases[i].value, is_kept, bits);
    }
}

#define ANSWER                                                                                     \
    "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; "                   \
    "client_no_context_takeover"

static void says_what_is_agreed(void **state) {
    (void)state;
    cleanup_text struct text lines = {0};
    ws_offer_append_answer(&(struct ws_agreement){false, 15}, &lines);
    assert_string_equal(lines.data, ANSWER "\r\n");
    ws_offer_append_answer(&(struct ws_agreement){true, 9}, &lines);
    assert_string_equal(lines.data, ANSWER "\r\n" ANSWER "; server_max_window_bits=9\r\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(judges_offers),
        cmocka_unit_test(says_what_is_agreed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
