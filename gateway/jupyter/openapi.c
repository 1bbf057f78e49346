/* openapi - this face described, at the paths where Kernel Gateway and jupyter_server have theirs.
 * openapi.json is compiled in; JSON is YAML too, so who asks for YAML gets the same bytes. */
#include "base/cleanup.h"
#include "jupyter/exchange.h"
#include "jupyter/handlers.h"

/* gateway/jupyter/openapi.json, by CMake. */
extern const uint8_t openapi_document[];
extern const size_t openapi_document_size;

static void reply_as(struct exchange *exchange, const char *type) {
    cleanup_bytes struct bytes *body =
        bytes_copy(slice_make(openapi_document, openapi_document_size));
    http_reply(exchange->request, 200, &(struct http_header){"Content-Type", type}, 1, body);
}

void openapi_json(struct exchange *exchange) {
    reply_as(exchange, "application/json");
}

void openapi_yaml(struct exchange *exchange) {
    reply_as(exchange, "text/x-yaml");
}
