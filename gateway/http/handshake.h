/* handshake - what connection.c asks about a TLS handshake. */
#pragma once

#include <stdbool.h>

struct connection;
struct http_server;

/* The client speaks HTTP without TLS, as its first byte shows. */
bool handshake_looks_plain(const struct connection *connection);
/* "HOST:PORT" (owned). */
char *handshake_name_peer(int fd);
/* Tells the owner why it came to nothing. Not worth a word: who connected and left. */
void handshake_report(const struct connection *connection, const char *why);
/* Closes the oldest connections in a handshake while there are more than tls_handshakes. */
void handshake_make_room(struct http_server *server);
