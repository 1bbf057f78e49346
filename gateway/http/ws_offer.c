#include "http/ws_offer.h"

#include <ctype.h>

enum { WINDOW_BITS_LEAST = 9 };

/* -- words: RFC 6455 section 9.1, RFC 9110 section 5.6 ---------------------------------------- */

static void skip_blanks(struct slice *rest) {
    while (rest->size && (*rest->data == ' ' || *rest->data == '\t'))
        *rest = slice_from(*rest, 1);
}

static bool take_sign(struct slice *rest, char sign) {
    skip_blanks(rest);
    if (rest->size == 0 || *rest->data != sign)
        return false;
    *rest = slice_from(*rest, 1);
    return true;
}

static bool is_token_byte(uint8_t c) {
    return isalnum(c) || (c && strchr("!#$%&'*+-.^_`|~", c));
}

/* False where there is none. */
static bool take_token(struct slice *rest, struct slice *ret_token) {
    skip_blanks(rest);
    size_t size = 0;
    while (size < rest->size && is_token_byte(rest->data[size]))
        size++;
    *ret_token = slice_make(rest->data, size);
    *rest = slice_from(*rest, size);
    return size > 0;
}

/* A value may stand in quotes, but must be a token then too. */
static bool take_value(struct slice *rest, struct slice *ret_value) {
    bool is_quoted = take_sign(rest, '"');
    return take_token(rest, ret_value) && (!is_quoted || take_sign(rest, '"'));
}

/* -- the parameters: RFC 7692 section 7.1 ----------------------------------------------------- */

struct offer {
    bool is_possible;
    unsigned seen; /* a bit for each row of the table */
    struct ws_agreement agreement;
};

enum value_form { VALUE_NONE, VALUE_BITS, VALUE_PERHAPS_BITS };

static const struct {
    const char *name;
    enum value_form form;
    bool is_ours; /* the bits bind what we send */
} parameters[] = {
    {"server_no_context_takeover", VALUE_NONE, false},
    {"client_no_context_takeover", VALUE_NONE, false},
    {"server_max_window_bits", VALUE_BITS, true},
    {"client_max_window_bits", VALUE_PERHAPS_BITS, false},
};

/* 8 to 15, without a leading zero; else 0. */
static unsigned bits_of(struct slice value) {
    if (value.size == 1 && (*value.data == '8' || *value.data == '9'))
        return *value.data - '0';
    bool is_teen =
        value.size == 2 && value.data[0] == '1' && value.data[1] >= '0' && value.data[1] <= '5';
    return is_teen ? 10 + value.data[1] - '0' : 0;
}

static bool is_formed(enum value_form form, struct slice value) {
    if (form == VALUE_NONE || !value.data)
        return !value.data && form != VALUE_BITS;
    return bits_of(value) != 0;
}

static bool judge_parameter(struct offer *offer, struct slice name, struct slice value) {
    unsigned i = 0;
    while (i < sizeof parameters / sizeof *parameters &&
           !slice_equal_text(name, parameters[i].name))
        i++;
    if (i == sizeof parameters / sizeof *parameters || offer->seen & 1u << i ||
        !is_formed(parameters[i].form, value))
        return false;
    offer->seen |= 1u << i;
    if (!parameters[i].is_ours)
        return true;
    offer->agreement = (struct ws_agreement){true, bits_of(value)};
    return offer->agreement.window_bits >= WINDOW_BITS_LEAST;
}

/* False where the list is none. */
static bool take_offer(struct slice *rest, struct offer *ret_offer) {
    struct slice name;
    if (!take_token(rest, &name))
        return false;
    *ret_offer = (struct offer){.is_possible = slice_equal_text(name, "permessage-deflate"),
                                .agreement = {false, WS_WINDOW_BITS_MAX}};
    while (take_sign(rest, ';')) {
        struct slice value = {0};
        if (!take_token(rest, &name) || (take_sign(rest, '=') && !take_value(rest, &value)))
            return false;
        if (ret_offer->is_possible)
            ret_offer->is_possible = judge_parameter(ret_offer, name, value);
    }
    return true;
}

bool ws_offer_judge(struct slice value, struct ws_agreement *ret_agreement) {
    struct ws_agreement agreement;
    bool is_found = false;
    do {
        struct offer offer;
        if (!take_offer(&value, &offer))
            return false;
        if (offer.is_possible && !is_found)
            agreement = offer.agreement;
        is_found |= offer.is_possible;
    } while (take_sign(&value, ','));
    if (!is_found || value.size)
        return false;
    *ret_agreement = agreement;
    return true;
}

void ws_offer_append_answer(const struct ws_agreement *agreement, struct text *lines) {
    text_append_text(lines, "Sec-WebSocket-Extensions: permessage-deflate; "
                            "server_no_context_takeover; client_no_context_takeover");
    if (agreement->names_window)
        text_append_format(lines, "; server_max_window_bits=%u", agreement->window_bits);
    text_append_text(lines, "\r\n");
}
