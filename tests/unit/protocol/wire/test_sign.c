#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <errno.h>

#include "base/mem.h"
#include "wire/sign.h"

/* jupyter_client's Session(key=b"secret-key", signature_scheme="hmac-sha256").sign([...]) of the
 * four parts below; the same by `printf %s ... | openssl dgst -sha256 -hmac secret-key`. */
#define KEY "secret-key"
#define SIGNATURE "6e9bbb6a828e1fd1b11aec9f33c97b42d59ed12d05667e03d6a51bff42612e03"

static struct msg message(const char *content) {
    return (struct msg){.header = SLICE_LITERAL("{\"msg_id\":\"1\"}"),
                        .parent_header = SLICE_LITERAL("{}"),
                        .metadata = SLICE_LITERAL("{}"),
                        .content = slice_from_text(content)};
}

static void signs_as_jupyter_does(void **state) {
    (void)state;
    struct signer *signer = signer_create(SLICE_LITERAL(KEY));
    struct msg msg = message("{\"code\":\"1\"}"), other = message("{}");
    char hex[SIGN_HEX_SIZE + 1] = {0}, again[SIGN_HEX_SIZE + 1] = {0};
    assert_int_equal(signer_sign(signer, &msg, hex), SIGN_HEX_SIZE);
    assert_string_equal(hex, SIGNATURE);
    signer_sign(signer, &other, again);
    assert_string_not_equal(hex, again);
    signer_sign(signer, &msg, again); /* what was signed between leaves no trace */
    assert_string_equal(hex, again);
    signer_destroy(signer);
    assert_int_equal(mem_live(), 0);
}

static void verifies_once(void **state) {
    (void)state;
    struct signer *signer = signer_create(SLICE_LITERAL(KEY));
    struct msg msg = message("{\"code\":\"1\"}");
    struct err err = {0};
    assert_int_equal(signer_verify(signer, &msg, SLICE_LITERAL(SIGNATURE), &err), 0);
    assert_int_equal(err.code, 0);
    assert_int_equal(signer_verify(signer, &msg, SLICE_LITERAL(SIGNATURE), &err), -EEXIST);
    assert_string_equal(err.text, "a message with this signature came before");
    signer_destroy(signer);

    signer = signer_create(SLICE_LITERAL(KEY)); /* another memory */
    assert_int_equal(signer_verify(signer, &msg, SLICE_LITERAL(SIGNATURE), &err), 0);
    signer_destroy(signer);
    signer_destroy(NULL);
    assert_int_equal(mem_live(), 0);
}

static void refuses_every_other_signature(void **state) {
    (void)state;
    struct signer *signer = signer_create(SLICE_LITERAL(KEY));
    struct msg msg = message("{\"code\":\"1\"}");
    struct err err = {0};
    char signature[] = SIGNATURE;
    for (size_t i = 0; i < SIGN_HEX_SIZE; i++) {
        char kept = signature[i];
        for (int bit = 0; bit < 8; bit++) {
            signature[i] = (char)(kept ^ 1 << bit);
            struct slice wrong = slice_make(signature, SIGN_HEX_SIZE);
            assert_int_equal(signer_verify(signer, &msg, wrong, &err), -EBADMSG);
        }
        signature[i] = kept;
    }
    for (size_t size = 0; size < SIGN_HEX_SIZE; size++)
        assert_int_equal(signer_verify(signer, &msg, slice_make(signature, size), &err), -EBADMSG);
    assert_int_equal(signer_verify(signer, &msg, SLICE_LITERAL(SIGNATURE "0"), &err), -EBADMSG);
    assert_int_equal(signer_verify(signer, &msg, (struct slice){0}, &err), -EBADMSG);

    struct msg changed = msg;
    changed.metadata = SLICE_LITERAL("{ }");
    assert_int_equal(signer_verify(signer, &changed, SLICE_LITERAL(SIGNATURE), &err), -EBADMSG);
    /* None of this was remembered. */
    assert_int_equal(signer_verify(signer, &msg, SLICE_LITERAL(SIGNATURE), &err), 0);
    signer_destroy(signer);
    assert_int_equal(mem_live(), 0);
}

static void checks_nothing_without_a_key(void **state) {
    (void)state;
    struct signer *signer = signer_create((struct slice){0});
    struct msg msg = message("{}");
    char hex[SIGN_HEX_SIZE];
    assert_int_equal(signer_sign(signer, &msg, hex), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(signer_verify(signer, &msg, (struct slice){0}, NULL), 0);
        assert_int_equal(signer_verify(signer, &msg, SLICE_LITERAL("anything"), NULL), 0);
    }
    signer_destroy(signer);
    assert_int_equal(mem_live(), 0);
}

static void takes_keys_of_any_size_and_bytes(void **state) {
    (void)state;
    static const uint8_t key[200] = {0, 1, 2, 0xff};
    struct msg msg = message("{}");
    char before[SIGN_HEX_SIZE] = {0};
    for (size_t size = 1; size <= sizeof key; size++) {
        struct signer *signer = signer_create(slice_make(key, size));
        char hex[SIGN_HEX_SIZE];
        assert_int_equal(signer_sign(signer, &msg, hex), SIGN_HEX_SIZE);
        assert_int_equal(signer_verify(signer, &msg, slice_make(hex, sizeof hex), NULL), 0);
        signer_destroy(signer);
        /* Zeroes at the end of a key that fits the block change nothing (RFC 2104). */
        if (size == 3 || size == 4 || size > 64)
            assert_memory_not_equal(hex, before, sizeof hex);
        memcpy(before, hex, sizeof hex);
    }
    assert_int_equal(mem_live(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signs_as_jupyter_does),
        cmocka_unit_test(verifies_once),
        cmocka_unit_test(refuses_every_other_signature),
        cmocka_unit_test(checks_nothing_without_a_key),
        cmocka_unit_test(takes_keys_of_any_size_and_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
