/* tls - one connection's TLS, between plain bytes and a socket. Its one complication is arithmetic:
 * what the socket sends is not what it was given, so each record is remembered until the peer has
 * acknowledged it, and an acknowledgement counts for whole records alone. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct http_tls;
struct iovec;
struct ssl_ctx_st;
struct tls;

/* tls_settings.c: what all handshakes of a server share. The caller's, for SSL_CTX_free. */
int tls_settings_create(const struct http_tls *files, struct ssl_ctx_st **ret_settings,
                        struct err *err);

/* fd is borrowed. The settings are referenced. */
struct tls *tls_create(struct ssl_ctx_st *settings, int fd);
void tls_destroy(struct tls *tls);

/* As transport.h has them. */
ssize_t tls_receive(struct tls *tls, void *buffer, size_t size);
bool tls_has_unread(const struct tls *tls);
ssize_t tls_send(struct tls *tls, const struct iovec *iovecs, size_t count);
size_t tls_waiting(const struct tls *tls);
int tls_flush(struct tls *tls);
void tls_end(struct tls *tls);
/* unacknowledged: of the bytes that the socket was given. */
uint64_t tls_acknowledged(struct tls *tls, uint64_t unacknowledged);

/* The handshake is done. */
bool tls_is_ready(const struct tls *tls);
/* Nothing at all has come yet. */
bool tls_is_untouched(const struct tls *tls);
/* Why it failed; NULL where it did not. */
const char *tls_trouble(const struct tls *tls);
/* Of the client's verified certificate, as in RFC 2253 (owned); NULL where it showed none. */
char *tls_subject(const struct tls *tls);
