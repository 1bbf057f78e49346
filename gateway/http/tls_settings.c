/* tls_settings - certificate, key and authorities from PEM to what OpenSSL shakes hands with. What
 * is refused here was written by whoever runs the server, so a sentence names the parameter. */
#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <string.h>

#include "http/http.h"
#include "http/tls.h"

static int refuse(struct err *err, const char *parameter, const char *what) {
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());
    ERR_clear_error();
    return err_set(err, EINVAL, "%s: %s%s%s%s", parameter, what, reason ? " (" : "",
                   reason ? reason : "", reason ? ")" : "");
}

/* Nobody is there to type a passphrase. */
static int give_no_passphrase(char *buffer, int size, int writing, void *context) {
    (void)buffer, (void)size, (void)writing, (void)context;
    return -1;
}

static BIO *open_pem(struct slice pem) {
    return BIO_new_mem_buf(pem.data, (int)pem.size);
}

/* The next certificate; NULL behind the last. */
static X509 *read_certificate(BIO *pem) {
    return PEM_read_bio_X509(pem, NULL, give_no_passphrase, NULL);
}

/* True where reading stopped at the end, not at something broken. */
static bool is_end(void) {
    unsigned long code = ERR_peek_last_error();
    bool end = ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE;
    if (end)
        ERR_clear_error();
    return end;
}

static int use_certificates(SSL_CTX *settings, struct slice text, struct err *err) {
    BIO *pem = open_pem(text);
    X509 *certificate = read_certificate(pem);
    int result = 0;
    if (!certificate)
        result = refuse(err, "certfile", "there is no certificate in PEM form");
    else if (SSL_CTX_use_certificate(settings, certificate) != 1)
        result = refuse(err, "certfile", "the certificate cannot be used");
    X509_free(certificate);
    while (result == 0 && (certificate = read_certificate(pem)))
        SSL_CTX_add0_chain_cert(settings, certificate);
    if (result == 0 && !is_end())
        result = refuse(err, "certfile", "a certificate of the chain is broken");
    BIO_free(pem);
    return result;
}

static int use_key(SSL_CTX *settings, const struct http_tls *files, struct err *err) {
    const char *parameter = files->key.data ? "keyfile" : "certfile";
    BIO *pem = open_pem(files->key.data ? files->key : files->certificates);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(pem, NULL, give_no_passphrase, NULL);
    int result = 0;
    if (!key)
        result = refuse(err, parameter, "there is no private key without a passphrase in PEM form");
    else if (SSL_CTX_use_PrivateKey(settings, key) != 1 || SSL_CTX_check_private_key(settings) != 1)
        result = refuse(err, parameter, "the key does not belong to the certificate");
    EVP_PKEY_free(key);
    BIO_free(pem);
    return result;
}

static int trust(SSL_CTX *settings, struct slice text, struct err *err) {
    BIO *pem = open_pem(text);
    X509 *authority;
    int count = 0;
    while ((authority = read_certificate(pem))) {
        X509_STORE_add_cert(SSL_CTX_get_cert_store(settings), authority);
        SSL_CTX_add_client_CA(settings, authority);
        X509_free(authority);
        count++;
    }
    BIO_free(pem);
    if (!is_end())
        return refuse(err, "client_ca", "a certificate is broken");
    return count ? 0 : refuse(err, "client_ca", "there is no certificate in PEM form");
}

/* RFC 7301; a client that offers other protocols alone cannot talk to us. */
static int choose_protocol(SSL *ssl, const unsigned char **ret_name, unsigned char *ret_size,
                           const unsigned char *offered, unsigned offered_size, void *context) {
    static const unsigned char ours[] = "\x08http/1.1";
    (void)ssl, (void)context;
    unsigned char *chosen;
    if (SSL_select_next_proto(&chosen, ret_size, ours, sizeof ours - 1, offered, offered_size) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *ret_name = chosen;
    return SSL_TLSEXT_ERR_OK;
}

/* Sessions are in the tickets that clients keep, and their key ends with these settings. A stream
 * that ends without a farewell is told by HTTP's own framing. */
static void harden(SSL_CTX *settings) {
    static const unsigned char name[] = "cellblock";
    SSL_CTX_set_min_proto_version(settings, TLS1_2_VERSION);
    SSL_CTX_set_options(settings, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                      SSL_OP_CIPHER_SERVER_PREFERENCE |
                                      SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(settings, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(settings, 1);
    SSL_CTX_set_session_cache_mode(settings, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_session_id_context(settings, name, sizeof name - 1);
    SSL_CTX_set_alpn_select_cb(settings, choose_protocol, NULL);
}

int tls_settings_create(const struct http_tls *files, SSL_CTX **ret_settings, struct err *err) {
    ERR_clear_error();
    SSL_CTX *settings = SSL_CTX_new(TLS_server_method());
    if (!settings)
        return refuse(err, "TLS", "OpenSSL gives none");
    harden(settings);
    int result = use_certificates(settings, files->certificates, err);
    if (result == 0)
        result = use_key(settings, files, err);
    if (result == 0 && files->client_authorities.data) {
        int must = files->client_must ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0;
        SSL_CTX_set_verify(settings, SSL_VERIFY_PEER | must, NULL);
        result = trust(settings, files->client_authorities, err);
    }
    if (result < 0)
        SSL_CTX_free(settings);
    else
        *ret_settings = settings;
    return result;
}
