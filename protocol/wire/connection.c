#include "wire/connection.h"

#include <assert.h>
#include <errno.h>
#include <jansson.h>

#include "base/mem.h"

/* A connection file is a few hundred bytes. */
enum { CONNECTION_SIZE_MAX = 64 * 1024 };

static const char *const port_names[CONNECTION_PORT_COUNT] = {
    [CONNECTION_SHELL] = "shell_port", [CONNECTION_IOPUB] = "iopub_port",
    [CONNECTION_STDIN] = "stdin_port", [CONNECTION_CONTROL] = "control_port",
    [CONNECTION_HB] = "hb_port",
};

static void put(json_t *object, const char *name, json_t *value) {
    int error = json_object_set_new(object, name, value);
    assert(!error); /* a string that is not UTF-8 */
}

struct bytes *connection_write(const struct connection *connection) {
    json_t *object = json_object();
    for (int i = 0; i < CONNECTION_PORT_COUNT; i++)
        put(object, port_names[i], json_integer(connection->ports[i]));
    put(object, "ip", json_string(connection->ip));
    put(object, "key", json_string(connection->key));
    put(object, "transport", json_string(connection->transport));
    put(object, "signature_scheme", json_string(connection->signature_scheme));
    put(object, "kernel_name", json_string(connection->kernel_name));
    size_t size = json_dumpb(object, NULL, 0, JSON_INDENT(2));
    struct bytes *text = bytes_create(size);
    json_dumpb(object, (char *)text->data, size, JSON_INDENT(2));
    json_decref(object);
    return text;
}

/* Borrows a string member; fallback where it is absent, which NULL forbids. */
static int get_string(const json_t *object, const char *name, const char *fallback,
                      const char **ret_value, struct err *err) {
    const json_t *value = json_object_get(object, name);
    if (value ? !json_is_string(value) : !fallback)
        return err_set(err, EINVAL, "%s: expected a string", name);
    *ret_value = value ? json_string_value(value) : fallback;
    return 0;
}

static int get_port(const json_t *object, const char *name, int *ret_port, struct err *err) {
    const json_t *value = json_object_get(object, name);
    json_int_t port = json_integer_value(value);
    if (port < 1 || port > 65535)
        return err_set(err, EINVAL, "%s: expected a number from 1 to 65535", name);
    *ret_port = (int)port;
    return 0;
}

/* The members, with jupyter_client's values for those that older files lack. Borrowed. */
static int get_members(const json_t *object, struct connection *connection, struct err *err) {
    const struct {
        const char *name, *fallback;
        char **value;
    } strings[] = {
        {"transport", "tcp", &connection->transport},
        {"ip", NULL, &connection->ip},
        {"key", NULL, &connection->key},
        {"signature_scheme", "hmac-sha256", &connection->signature_scheme},
        {"kernel_name", "", &connection->kernel_name},
    };
    int error = 0;
    for (size_t i = 0; !error && i < sizeof strings / sizeof *strings; i++)
        error = get_string(object, strings[i].name, strings[i].fallback,
                           (const char **)strings[i].value, err);
    for (int i = 0; !error && i < CONNECTION_PORT_COUNT; i++)
        error = get_port(object, port_names[i], &connection->ports[i], err);
    if (error)
        return error;
    if (strcmp(connection->transport, "ipc") != 0 && strcmp(connection->transport, "tcp") != 0)
        return err_set(err, EINVAL, "transport: neither ipc nor tcp");
    if (strcmp(connection->signature_scheme, "hmac-sha256") != 0)
        return err_set(err, EINVAL, "signature_scheme: only hmac-sha256 is known");
    return 0;
}

int connection_read(struct slice json, struct connection *ret_connection, struct err *err) {
    if (json.size > CONNECTION_SIZE_MAX)
        return err_set(err, EINVAL, "connection file of %zu bytes, at most %d are taken", json.size,
                       CONNECTION_SIZE_MAX);
    json_error_t problem;
    json_t *object = json_loadb((const char *)json.data, json.size, 0, &problem);
    if (!object)
        return err_set(err, EINVAL, "connection file is not JSON: %s at byte %d", problem.text,
                       problem.position);
    struct connection found;
    int error = get_members(object, &found, err);
    if (!error) {
        found.transport = mem_strdup(found.transport);
        found.ip = mem_strdup(found.ip);
        found.key = mem_strdup(found.key);
        found.signature_scheme = mem_strdup(found.signature_scheme);
        found.kernel_name = mem_strdup(found.kernel_name);
        *ret_connection = found;
    }
    json_decref(object);
    return error;
}

void connection_finish(struct connection *connection) {
    mem_free(connection->transport);
    mem_free(connection->ip);
    mem_free(connection->key);
    mem_free(connection->signature_scheme);
    mem_free(connection->kernel_name);
    *connection = (struct connection){0};
}
