#include "certificates.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "config/params.h"
#include "http/http.h"
#include "rpc/rpc.h"

enum { FILE_MAX = 1024 * 1024, STEP = 64 * 1024 };

/* From its beginning: the warden passes the same open file again to the next gateway. */
static int read_file(const char *parameter, int fd, struct text *ret_text, struct err *err) {
    char buffer[STEP];
    ssize_t got;
    text_append_text(ret_text, ""); /* an empty file is there all the same */
    while ((got = pread(fd, buffer, sizeof buffer, (off_t)ret_text->size)) > 0) {
        text_append(ret_text, slice_make(buffer, (size_t)got));
        if (ret_text->size > FILE_MAX)
            return err_set(err, EINVAL, "%s: it is larger than %d bytes", parameter, FILE_MAX);
    }
    int error = errno;
    explicit_bzero(buffer, sizeof buffer);
    return got < 0 ? err_errno(err, error, "%s: read it", parameter) : 0;
}

static void wipe(struct text *text) {
    if (text->data)
        explicit_bzero(text->data, text->size);
    text_finish(text);
}

int certificates_use(struct http_server *server, const struct params *params,
                     const struct rpc_packet *packet, struct err *err) {
    const struct {
        const char *parameter;
        bool is_there;
    } rows[] = {{"certfile", true},
                {"keyfile", packet->tls.has_key},
                {"client_ca", packet->tls.has_client_ca}};
    struct text texts[3] = {0};
    int result = 0;
    for (size_t i = 0, next = 0; result == 0 && i < 3; i++)
        if (rows[i].is_there)
            result = read_file(rows[i].parameter, packet->fds[next++], &texts[i], err);
    struct http_tls tls = {text_slice(&texts[0]), text_slice(&texts[1]), text_slice(&texts[2]),
                           params->require_client_cert};
    if (result == 0)
        result = http_server_use_tls(server, &tls, err);
    for (size_t i = 0; i < 3; i++)
        wipe(&texts[i]);
    return result;
}
