#include "wire/sign.h"

#include <assert.h>
#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>

#include "base/mem.h"
#include "base/text.h"
#include "wire/replay.h"

enum { DIGEST_SIZE = SIGN_HEX_SIZE / 2 };

struct signer {
    EVP_MAC_CTX *context; /* NULL where the key is empty */
    struct replay seen;
};

/* A context that holds key, whatever libcrypto's configuration says. */
static EVP_MAC_CTX *create_context(struct slice key) {
    EVP_MAC *mac = EVP_MAC_fetch(NULL, OSSL_MAC_NAME_HMAC, NULL);
    assert(mac);
    EVP_MAC_CTX *context = EVP_MAC_CTX_new(mac);
    EVP_MAC_free(mac); /* the context holds a reference */
    char digest[] = "SHA256";
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end(),
    };
    int good = EVP_MAC_init(context, key.data, key.size, params);
    assert(good == 1);
    return context;
}

struct signer *signer_create(struct slice key) {
    struct signer *signer = mem_zalloc(1, sizeof *signer);
    if (key.size)
        signer->context = create_context(key);
    replay_init(&signer->seen);
    return signer;
}

void signer_destroy(struct signer *signer) {
    if (!signer)
        return;
    EVP_MAC_CTX_free(signer->context);
    replay_finish(&signer->seen);
    mem_free(signer);
}

static void digest(struct signer *signer, const struct msg *msg, uint8_t ret_digest[DIGEST_SIZE]) {
    const struct slice parts[] = {msg->header, msg->parent_header, msg->metadata, msg->content};
    /* No key and no params: the old ones once more. */
    int good = EVP_MAC_init(signer->context, NULL, 0, NULL);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        good &= EVP_MAC_update(signer->context, parts[i].data, parts[i].size);
    size_t size = 0;
    good &= EVP_MAC_final(signer->context, ret_digest, &size, DIGEST_SIZE);
    assert(good == 1 && size == DIGEST_SIZE);
}

static void write_hex(const uint8_t digest[DIGEST_SIZE], char ret_hex[SIGN_HEX_SIZE]) {
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < DIGEST_SIZE; i++) {
        ret_hex[2 * i] = digits[digest[i] >> 4];
        ret_hex[2 * i + 1] = digits[digest[i] & 15];
    }
}

size_t signer_sign(struct signer *signer, const struct msg *msg, char ret_hex[SIGN_HEX_SIZE]) {
    if (!signer->context)
        return 0;
    uint8_t mac[DIGEST_SIZE];
    digest(signer, msg, mac);
    write_hex(mac, ret_hex);
    return SIGN_HEX_SIZE;
}

int signer_verify(struct signer *signer, const struct msg *msg, struct slice signature,
                  struct err *err) {
    if (!signer->context)
        return 0;
    uint8_t mac[DIGEST_SIZE];
    char hex[SIGN_HEX_SIZE];
    digest(signer, msg, mac);
    write_hex(mac, hex);
    if (!text_equal_secret(signature, slice_make(hex, sizeof hex)))
        return err_set(err, EBADMSG, "the signature does not fit the message");
    uint64_t mark;
    memcpy(&mark, mac, sizeof mark);
    if (!replay_note(&signer->seen, mark))
        return err_set(err, EEXIST, "a message with this signature came before");
    return 0;
}
