#include "msg/header.h"

#include <errno.h>
#include <jansson.h>

#include "base/mem.h"

static char *copy_string(const json_t *object, const char *name) {
    const json_t *value = json_object_get(object, name);
    return mem_copy_text(json_string_value(value), json_string_length(value));
}

static int load(struct slice json, json_t **ret_value, struct err *err) {
    if (json.size > MSG_HEADER_MAX)
        return err_set(err, EMSGSIZE, "header of %zu bytes, at most %d are taken", json.size,
                       MSG_HEADER_MAX);
    json_error_t error;
    json_t *value = json_loadb((const char *)json.data, json.size, JSON_DECODE_ANY, &error);
    if (!value)
        return err_set(err, EINVAL, "header is not JSON: %s at byte %d", error.text,
                       error.position);
    if (!json_is_object(value) && !json_is_null(value)) {
        json_decref(value);
        return err_set(err, EINVAL, "header is not a JSON object");
    }
    *ret_value = value;
    return 0;
}

int msg_header_parse(struct slice json, struct msg_header *ret_header, struct err *err) {
    json_t *object; /* null has no members, as {} has none */
    int error = load(json, &object, err);
    if (error)
        return error;
    const json_t *date = json_object_get(object, "date");
    *ret_header = (struct msg_header){
        .msg_id = copy_string(object, "msg_id"),
        .msg_type = copy_string(object, "msg_type"),
        .session = copy_string(object, "session"),
        .username = copy_string(object, "username"),
        .version = copy_string(object, "version"),
        .date = copy_string(object, "date"),
        .date_is_number = json_is_number(date),
        .date_s = json_number_value(date),
    };
    json_decref(object);
    return 0;
}

void msg_header_finish(struct msg_header *header) {
    mem_free(header->msg_id);
    mem_free(header->msg_type);
    mem_free(header->session);
    mem_free(header->username);
    mem_free(header->version);
    mem_free(header->date);
    *header = (struct msg_header){0};
}
