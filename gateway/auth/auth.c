#include "auth/auth.h"

#include <assert.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "http/http.h"

/* What one form of showing a token came to. */
enum finding { ABSENT, WRONG, RIGHT };

static enum finding compare(const struct auth *auth, struct slice shown) {
    if (shown.size == 0)
        return ABSENT;
    return text_equal_secret(shown, auth->token) ? RIGHT : WRONG;
}

static bool is_blank(uint8_t byte) {
    return byte == ' ' || byte == '\t';
}

/* What stands behind the scheme and blanks; empty where value has another scheme. */
static struct slice behind_scheme(struct slice value, struct slice scheme) {
    size_t at = scheme.size;
    if (value.size <= at || !slice_equal_nocase(slice_make(value.data, at), scheme) ||
        !is_blank(value.data[at]))
        return (struct slice){0};
    while (at < value.size && is_blank(value.data[at]))
        at++;
    return slice_from(value, at);
}

static enum finding check_header(const struct auth *auth, const struct http_request *request) {
    struct slice value = http_request_header(request, "Authorization");
    struct slice shown = behind_scheme(value, SLICE_LITERAL("token"));
    if (shown.size == 0)
        shown = behind_scheme(value, SLICE_LITERAL("bearer"));
    return compare(auth, shown);
}

static enum finding check_query(const struct auth *auth, const struct http_request *request) {
    cleanup_mem char *shown = http_query_get(http_request_query(request), "token");
    return shown ? compare(auth, slice_from_text(shown)) : ABSENT;
}

/* The path from the last of the slashes on that it begins with: some clients join "h:p/" and
 * "/api". */
static struct slice collapse(struct slice path) {
    size_t at = 0;
    while (at + 1 < path.size && path.data[at] == '/' && path.data[at + 1] == '/')
        at++;
    return slice_from(path, at);
}

/* What follows base; absent where path is not below it. */
static struct slice strip_base(struct slice path, struct slice base) {
    struct slice rest = slice_from(path, base.size < path.size ? base.size : path.size);
    if (!slice_starts_with(path, base) || (rest.size && rest.data[0] != '/'))
        return (struct slice){0};
    return rest.size ? collapse(rest) : SLICE_LITERAL("/");
}

/* Takes "/t/X" off the path; ret_token is X as sent, absent where the path has no such prefix. */
static struct slice strip_prefix(struct slice path, struct slice *ret_token) {
    struct slice prefix = SLICE_LITERAL("/t/");
    *ret_token = (struct slice){0};
    if (!slice_starts_with(path, prefix))
        return path;
    struct slice token = slice_from(path, prefix.size);
    const uint8_t *slash = memchr(token.data, '/', token.size);
    struct slice rest = SLICE_LITERAL("/");
    if (slash) {
        token.size = (size_t)(slash - token.data);
        rest = collapse(slice_from(path, prefix.size + token.size));
    }
    *ret_token = token;
    return rest;
}

static enum finding check_prefix(const struct auth *auth, struct slice encoded) {
    char *shown;
    if (!encoded.data)
        return ABSENT;
    if (http_percent_decode(encoded, false, &shown) < 0)
        return WRONG;
    enum finding finding = compare(auth, slice_from_text(shown));
    mem_free(shown);
    return finding;
}

static struct auth_answer refuse(struct slice path, bool is_shown) {
    if (is_shown)
        return (struct auth_answer){403, "the token is wrong", path};
    return (struct auth_answer){
        401, "a token is needed: Authorization: Bearer TOKEN, ?token=TOKEN or /t/TOKEN/", path};
}

/* -- what the connection says ------------------------------------------------------------------ */

static bool is_user(const struct auth *auth, const struct http_peer *peer) {
    for (size_t i = 0; peer->has_user && i < auth->user_count; i++)
        if (auth->users[i] == peer->user)
            return true;
    return false;
}

/* A browser shows its certificate for every page that it runs: where pages of anybody are answered,
 * it could be anybody who acts in its owner's name. */
static bool is_known(const struct auth *auth, const struct http_request *request) {
    bool is_page = http_request_header(request, "Origin").data != NULL;
    const struct http_peer *peer = http_request_peer(request);
    return is_user(auth, peer) || (peer->subject && !(auth->any_page && is_page));
}

struct auth_answer auth_check(const struct auth *auth, const struct http_request *request) {
    assert((auth->is_open || auth->token.size > 0) && "an empty token would let everyone in");
    struct slice token;
    struct slice path = strip_base(collapse(http_request_path(request)), auth->base);
    path = strip_prefix(path, &token);
    if (auth->is_open || is_known(auth, request))
        return (struct auth_answer){.path = path};
    const enum finding findings[] = {check_prefix(auth, token), check_header(auth, request),
                                     check_query(auth, request)};
    bool is_shown = false;
    for (size_t i = 0; i < sizeof findings / sizeof *findings; i++) {
        if (findings[i] == RIGHT)
            return (struct auth_answer){.path = path};
        is_shown |= findings[i] == WRONG;
    }
    return refuse(path, is_shown);
}
