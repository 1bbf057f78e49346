#include "jupyter/cors.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/slice.h"
#include "config/params.h"
#include "http/http.h"

static const char *any_origin(const struct params *params) {
    for (size_t i = 0; i < params->allow_origin.count; i++)
        if (strcmp(params->allow_origin.items[i], "*") == 0)
            return "*";
    return NULL;
}

/* What Access-Control-Allow-Origin says; NULL: nothing. Who names no origin (curl) is shown the one
 * that there is. */
static const char *allowed_origin(const struct params *params, const struct http_request *request) {
    struct slice origin = http_request_header(request, "Origin");
    const struct params_list *list = &params->allow_origin;
    const char *any = any_origin(params);
    if (!origin.data && list->count == 1)
        return list->items[0];
    for (size_t i = 0; !any && i < list->count; i++)
        if (slice_equal_nocase(origin, slice_from_text(list->items[i])))
            return list->items[i];
    return any;
}

void cors_add_headers(const struct params *params, struct http_request *request) {
    const char *allowed = allowed_origin(params, request);
    if (params->allow_origin.count && !any_origin(params))
        http_request_add_header(request, "Vary", "Origin");
    if (!allowed)
        return;
    http_request_add_header(request, "Access-Control-Allow-Origin", allowed);
    http_request_add_header(request, "Access-Control-Expose-Headers", "Location");
}

void cors_add_permissions(const struct params *params, struct http_request *request) {
    static const struct http_header headers[] = {
        {"Access-Control-Allow-Methods", "GET, PUT, POST, PATCH, DELETE, OPTIONS"},
        {"Access-Control-Allow-Headers", "accept, content-type, authorization, x-xsrftoken"},
        {"Access-Control-Max-Age", "600"}, /* seconds */
    };
    if (!allowed_origin(params, request))
        return;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        http_request_add_header(request, headers[i].name, headers[i].value);
}

/* Whether the origin is of the server that the request names. The scheme is not looked at: behind a
 * proxy that ends TLS it is another. */
static bool is_own(struct slice origin, struct slice host) {
    const uint8_t *colon = memchr(origin.data, ':', origin.size);
    struct slice rest = colon ? slice_from(origin, (size_t)(colon - origin.data)) : origin;
    return slice_starts_with(rest, SLICE_LITERAL("://")) &&
           slice_equal_nocase(slice_from(rest, 3), host);
}

/* host without its port: an address, or a name that is this machine's to every browser. */
static bool is_sure(struct slice host) {
    char name[INET_ADDRSTRLEN];
    struct in_addr address;
    const uint8_t *colon = memchr(host.data, ':', host.size);
    size_t size = colon ? (size_t)(colon - host.data) : host.size;
    if (slice_starts_with(host, SLICE_LITERAL("[")) ||
        slice_equal_nocase(slice_make(host.data, size), SLICE_LITERAL("localhost")))
        return true;
    if (size >= sizeof name)
        return false;
    memcpy(name, host.data, size);
    name[size] = 0;
    return inet_pton(AF_INET, name, &address) == 1;
}

static bool is_for_this_machine(const struct params *params) {
    struct params_address address;
    for (size_t i = 0; i < params->listen.count; i++) {
        if (params_address_read(params->listen.items[i], &address, NULL) < 0)
            return false;
        sa_family_t family = address.any.sa_family;
        if ((family == AF_INET && ntohl(address.ipv4.sin_addr.s_addr) >> 24 != IN_LOOPBACKNET) ||
            (family == AF_INET6 && !IN6_IS_ADDR_LOOPBACK(&address.ipv6.sin6_addr)))
            return false;
    }
    return true;
}

/* A page whose owner lets its name point at this machine once it is read (DNS rebinding) is of the
 * gateway's own origin. Where a token is asked for, it lacks that; where other machines call, they
 * may have any name for this one. */
static bool believes(const struct params *params, struct slice host) {
    return !params->no_token || is_sure(host) || !is_for_this_machine(params);
}

bool cors_admits(const struct params *params, const struct http_request *request) {
    struct slice origin = http_request_header(request, "Origin");
    struct slice host = http_request_header(request, "Host");
    return !origin.data || allowed_origin(params, request) ||
           (is_own(origin, host) && believes(params, host));
}
