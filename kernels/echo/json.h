/* json - small JSON objects that become a message's content. */
#pragma once

#include <jansson.h>

#include "base/text.h"

/* Appends object's text; object is consumed. */
void json_append_consume(struct text *text, json_t *object);

/* A member, where it is of that kind; else what stands for its absence. */
struct slice json_member_text(const json_t *object, const char *name);
bool json_member_flag(const json_t *object, const char *name, bool absent);
int64_t json_member_number(const json_t *object, const char *name, int64_t absent);

/* A JSON string of value; bytes that are no UTF-8 become U+FFFD. */
json_t *json_from_slice(struct slice value);

/* {status: "error", ename, evalue, traceback}: the content of a reply, and of iopub `error` too. */
json_t *json_error(const char *ename, const char *evalue);
