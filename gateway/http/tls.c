#include "http/tls.h"

#include <assert.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "http/plain.h"

enum {
    RECORD_MAX = SSL3_RT_MAX_PLAIN_LENGTH,
    BATCH_MAX = 8 * RECORD_MAX, /* encrypted for one write */
    WAITING_MAX = 512 * 1024,   /* of what a peer makes us say (key updates) and does not read */
    RECORDS_FIRST = 16,         /* remembered without another allocation */
    TROUBLE_MAX = 160,
};

/* Where a record ends, among the plain bytes and among those of the socket. */
struct record {
    uint64_t plain_end, cipher_end;
};

struct tls {
    SSL *ssl;
    int fd;
    bool received, unread, ended; /* anything; more than was asked for; our last word is said */
    int receive_error;            /* of the socket, positive */
    int failed;                   /* what every later receive returns */
    struct text waiting;          /* for the socket, from waiting_begin on */
    size_t waiting_begin;
    uint64_t plain, cipher; /* bytes ever encrypted; bytes ever made for the socket */
    uint64_t arrived;       /* plain bytes of acknowledged records */
    struct record *records; /* not acknowledged: a ring of capacity, a power of two */
    size_t first, count, capacity;
    char trouble[TROUBLE_MAX];
};

/* -- OpenSSL's side of the socket ------------------------------------------------------------- */

static int on_read(BIO *bio, char *buffer, size_t size, size_t *ret_got) {
    struct tls *tls = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    ssize_t got = plain_receive(tls->fd, buffer, size);
    if (got == -EAGAIN)
        BIO_set_retry_read(bio);
    else if (got < 0)
        tls->receive_error = (int)-got;
    if (got <= 0)
        return 0;
    tls->received = true;
    *ret_got = (size_t)got;
    return 1;
}

static int on_write(BIO *bio, const char *data, size_t size, size_t *ret_sent) {
    struct tls *tls = BIO_get_data(bio);
    text_append(&tls->waiting, slice_make(data, size));
    tls->cipher += size;
    *ret_sent = size;
    return 1;
}

static long on_control(BIO *bio, int command, long number, void *pointer) {
    struct tls *tls = BIO_get_data(bio);
    (void)number, (void)pointer;
    switch (command) {
    case BIO_CTRL_FLUSH:
        return 1;
    case BIO_CTRL_EOF:
        return tls->receive_error == 0 && !BIO_should_retry(bio);
    default:
        return 0;
    }
}

static BIO *create_bio(struct tls *tls) {
    static BIO_METHOD *method; /* for the life of the process */
    if (!method) {
        method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "cellblock");
        assert(method);
        BIO_meth_set_read_ex(method, on_read);
        BIO_meth_set_write_ex(method, on_write);
        BIO_meth_set_ctrl(method, on_control);
    }
    BIO *bio = BIO_new(method);
    assert(bio);
    BIO_set_data(bio, tls);
    BIO_set_init(bio, 1);
    return bio;
}

/* -- beginning and end ------------------------------------------------------------------------ */

struct tls *tls_create(SSL_CTX *settings, int fd) {
    struct tls *tls = mem_zalloc(1, sizeof *tls);
    tls->fd = fd;
    tls->ssl = SSL_new(settings);
    assert(tls->ssl);
    BIO *bio = create_bio(tls);
    SSL_set_bio(tls->ssl, bio, bio);
    SSL_set_accept_state(tls->ssl);
    return tls;
}

void tls_destroy(struct tls *tls) {
    if (!tls)
        return;
    SSL_free(tls->ssl);
    ERR_clear_error();
    text_finish(&tls->waiting);
    mem_free(tls->records);
    mem_free(tls);
}

bool tls_is_ready(const struct tls *tls) {
    return SSL_is_init_finished(tls->ssl);
}

bool tls_is_untouched(const struct tls *tls) {
    return !tls->received;
}

const char *tls_trouble(const struct tls *tls) {
    return tls->trouble[0] ? tls->trouble : NULL;
}

char *tls_subject(const struct tls *tls) {
    X509 *certificate = SSL_get0_peer_certificate(tls->ssl);
    if (!certificate || SSL_get_verify_result(tls->ssl) != X509_V_OK)
        return NULL;
    BIO *memory = BIO_new(BIO_s_mem());
    assert(memory);
    X509_NAME_print_ex(memory, X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253);
    char *data;
    long size = BIO_get_mem_data(memory, &data);
    char *subject = mem_copy_text(data, size > 0 ? (size_t)size : 0);
    BIO_free(memory);
    return subject;
}

/* -- what failed ------------------------------------------------------------------------------ */

static int fail(struct tls *tls, const char *sentence) {
    if (!tls->trouble[0])
        snprintf(tls->trouble, sizeof tls->trouble, "%s", sentence);
    return tls->failed = -EPROTO;
}

/* OpenSSL's own words; of a certificate that was not accepted, why. */
static int fail_by_openssl(struct tls *tls) {
    unsigned long code = ERR_peek_error();
    const char *reason = ERR_reason_error_string(code);
    long verdict = SSL_get_verify_result(tls->ssl);
    char sentence[TROUBLE_MAX];
    snprintf(sentence, sizeof sentence, "%s%s%s", reason ? reason : "TLS failed",
             verdict == X509_V_OK ? "" : ": ",
             verdict == X509_V_OK ? "" : X509_verify_cert_error_string(verdict));
    return fail(tls, sentence);
}

/* Of an SSL_read that gave nothing: 0, -EAGAIN or another negative errno. */
static int judge(struct tls *tls) {
    switch (SSL_get_error(tls->ssl, 0)) {
    case SSL_ERROR_WANT_READ:
        return -EAGAIN;
    case SSL_ERROR_ZERO_RETURN:
        return 0;
    case SSL_ERROR_SYSCALL:
        return tls->failed = tls->receive_error ? -tls->receive_error : -ECONNRESET;
    default:
        return fail_by_openssl(tls);
    }
}

/* -- what comes ------------------------------------------------------------------------------- */

ssize_t tls_receive(struct tls *tls, void *buffer, size_t size) {
    if (tls->failed)
        return tls->failed;
    size_t got = 0, once;
    int verdict = -EAGAIN;
    ERR_clear_error();
    while (got < size) {
        if (SSL_read_ex(tls->ssl, (uint8_t *)buffer + got, size - got, &once) != 1) {
            verdict = judge(tls);
            break;
        }
        got += once;
    }
    int flushed = tls_flush(tls);
    if (tls_waiting(tls) > WAITING_MAX)
        flushed = fail(tls, "the client makes us answer and does not read");
    tls->unread = got > 0 && (got == size || verdict != -EAGAIN);
    if (got > 0)
        return (ssize_t)got;
    return verdict == -EAGAIN && flushed < 0 ? flushed : verdict;
}

bool tls_has_unread(const struct tls *tls) {
    return tls->unread;
}

/* -- what leaves ------------------------------------------------------------------------------ */

size_t tls_waiting(const struct tls *tls) {
    return tls->waiting.size - tls->waiting_begin;
}

/* A peer that makes us speak and never lets all of it leave would make the text grow for ever. */
static void forget_sent(struct tls *tls) {
    struct text rest = {0};
    text_append(&rest, slice_from(text_slice(&tls->waiting), tls->waiting_begin));
    text_finish(&tls->waiting);
    tls->waiting = rest;
    tls->waiting_begin = 0;
}

int tls_flush(struct tls *tls) {
    if (tls_waiting(tls) == 0)
        return 0;
    struct iovec rest = {tls->waiting.data + tls->waiting_begin, tls_waiting(tls)};
    ssize_t sent = plain_send(tls->fd, &rest, 1);
    if (sent < 0)
        return (int)sent;
    tls->waiting_begin += (size_t)sent;
    if (tls_waiting(tls) == 0) {
        text_finish(&tls->waiting);
        tls->waiting_begin = 0;
    } else if (tls->waiting_begin >= tls_waiting(tls)) {
        forget_sent(tls);
    }
    return 0;
}

static void grow(struct tls *tls) {
    size_t capacity = tls->capacity ? 2 * tls->capacity : RECORDS_FIRST;
    struct record *records = mem_alloc(capacity * sizeof *records);
    for (size_t i = 0; i < tls->count; i++)
        records[i] = tls->records[(tls->first + i) & (tls->capacity - 1)];
    mem_free(tls->records);
    tls->records = records;
    tls->capacity = capacity;
    tls->first = 0;
}

static void note_record(struct tls *tls, size_t size) {
    if (tls->count == tls->capacity)
        grow(tls);
    tls->plain += size;
    size_t at = (tls->first + tls->count++) & (tls->capacity - 1);
    tls->records[at] = (struct record){tls->plain, tls->cipher};
}

uint64_t tls_acknowledged(struct tls *tls, uint64_t unacknowledged) {
    uint64_t given = tls->cipher - tls_waiting(tls);
    uint64_t arrived = unacknowledged > given ? 0 : given - unacknowledged;
    while (tls->count && tls->records[tls->first].cipher_end <= arrived) {
        tls->arrived = tls->records[tls->first].plain_end;
        tls->first = (tls->first + 1) & (tls->capacity - 1);
        tls->count--;
    }
    return tls->arrived;
}

/* The pieces that are left to send. */
struct rest {
    const struct iovec *iovecs;
    size_t count, offset; /* into the first */
};

static void skip(struct rest *rest, size_t size) {
    rest->offset += size;
    while (rest->count && rest->offset >= rest->iovecs->iov_len) {
        rest->offset -= rest->iovecs->iov_len;
        rest->iovecs++;
        rest->count--;
    }
}

/* The next record: where the pieces lie, if one of them fills it or is the last, else gathered. */
static struct slice take_record(struct rest *rest, uint8_t gathered[RECORD_MAX]) {
    size_t left = rest->iovecs->iov_len - rest->offset;
    if (left >= RECORD_MAX || rest->count == 1) {
        struct slice record = slice_make((uint8_t *)rest->iovecs->iov_base + rest->offset,
                                         left < RECORD_MAX ? left : RECORD_MAX);
        skip(rest, record.size);
        return record;
    }
    size_t size = 0;
    while (rest->count && size < RECORD_MAX) {
        left = rest->iovecs->iov_len - rest->offset;
        size_t part = left < RECORD_MAX - size ? left : RECORD_MAX - size;
        memcpy(gathered + size, (uint8_t *)rest->iovecs->iov_base + rest->offset, part);
        size += part;
        skip(rest, part);
    }
    return slice_make(gathered, size);
}

/* Encrypts what makes one write. Returns the plain bytes, or a negative errno. */
static ssize_t encrypt(struct tls *tls, struct rest *rest) {
    uint8_t gathered[RECORD_MAX];
    size_t taken = 0, written;
    while (rest->count && taken < BATCH_MAX) {
        struct slice record = take_record(rest, gathered);
        ERR_clear_error();
        if (SSL_write_ex(tls->ssl, record.data, record.size, &written) != 1)
            return fail_by_openssl(tls);
        assert(written == record.size); /* no SSL_MODE_ENABLE_PARTIAL_WRITE */
        note_record(tls, written);
        taken += written;
    }
    return (ssize_t)taken;
}

ssize_t tls_send(struct tls *tls, const struct iovec *iovecs, size_t count) {
    struct rest rest = {iovecs, count, 0};
    ssize_t taken = 0;
    skip(&rest, 0); /* empty pieces */
    if (tls->failed)
        return tls->failed;
    int flushed = tls_flush(tls);
    while (flushed == 0 && tls_waiting(tls) == 0 && rest.count) {
        ssize_t batch = encrypt(tls, &rest);
        if (batch < 0)
            return batch;
        taken += batch;
        flushed = tls_flush(tls);
    }
    return flushed < 0 ? flushed : taken;
}

void tls_end(struct tls *tls) {
    if (tls->ended || tls->failed || !tls_is_ready(tls))
        return;
    tls->ended = true;
    ERR_clear_error();
    SSL_shutdown(tls->ssl);
    tls_flush(tls); /* what fails here shows at the next call */
}
