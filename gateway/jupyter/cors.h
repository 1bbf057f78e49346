/* cors - which web pages may call: those of the gateway's own origin, and of the parameter
 * allow_origin. A browser asks first for what is unusual (a preflight), hides answers that lack the
 * headers, but sends simple requests and opens WebSockets for every page; so requests of other
 * pages are refused too. Who is no browser sends no Origin, or one that names this server. Source:
 * WHATWG Fetch, "CORS protocol"; RFC 6455 section 10.2. */
#pragma once

#include <stdbool.h>

struct http_request;
struct params;

/* To the answer, whatever it is. */
void cors_add_headers(const struct params *params, struct http_request *request);
/* To the answer of a preflight: what the pages may do. */
void cors_add_permissions(const struct params *params, struct http_request *request);
/* False for a page that may not call. */
bool cors_admits(const struct params *params, const struct http_request *request);
