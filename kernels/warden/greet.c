#include "warden/greet.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "warden/warden.h"

static void print_greeting(const char *url, const char *token) {
    char query[300] = "", header[300] = "", argument[300] = "";
    if (token[0]) {
        snprintf(query, sizeof query, "/?token=%s", token);
        snprintf(header, sizeof header, "-H 'Authorization: token %s' ", token);
        snprintf(argument, sizeof argument, " --GatewayClient.auth_token=%s", token);
    }
    printf("Cellblock is at %s%s\n\n"
           "  curl %s%s/api/kernelspecs\n"
           "  jupyter lab --gateway-url=%s%s\n"
           "  python3 -c \"import json, urllib.request as r; print(json.load(r.urlopen("
           "r.Request('%s/api/kernels', b'{}', {'Authorization': 'token %s'}))))\"\n",
           url, query, header, url, url, argument, url, token);
    fflush(stdout);
}

/* The name appears with its content or not at all. */
static int write_ready_file(const char *path, const char *url, struct err *err) {
    cleanup_mem char *draft = mem_format("%s.%d", path, (int)getpid());
    cleanup_mem char *line = mem_format("%s\n", url);
    cleanup_fd int fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0)
        return err_errno(err, errno, "create %s", draft);
    if (write(fd, line, strlen(line)) != (ssize_t)strlen(line) || rename(draft, path) < 0) {
        int code = errno;
        unlink(draft);
        return err_errno(err, code, "write %s", path);
    }
    return 0;
}

int greet(const struct warden *warden, struct err *err) {
    const char *path = warden->params.ready_file;
    int result = path[0] ? write_ready_file(path, warden->url, err) : 0;
    if (result < 0)
        return err_wrap(err, "ready_file");
    print_greeting(warden->url, warden->params.no_token ? "" : warden->params.token);
    return 0;
}
