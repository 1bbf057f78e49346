#include "warden/greet.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "warden/warden.h"

/* Empty where there is no path. */
static char *name_file(const char *before, const char *path, const char *behind) {
    return path[0] ? mem_format("%s%s%s", before, path, behind) : mem_strdup("");
}

/* A certificate of one's own making is its own authority. */
static void print_greeting(const char *url, const char *token, const char *certfile) {
    char query[300] = "", header[300] = "", argument[300] = "";
    cleanup_mem char *for_curl = name_file("--cacert ", certfile, " ");
    cleanup_mem char *for_lab = name_file(" --GatewayClient.ca_certs=", certfile, "");
    cleanup_mem char *for_python = name_file("SSL_CERT_FILE=", certfile, " ");
    if (token[0]) {
        snprintf(query, sizeof query, "/?token=%s", token);
        snprintf(header, sizeof header, "-H 'Authorization: token %s' ", token);
        snprintf(argument, sizeof argument, " --GatewayClient.auth_token=%s", token);
    }
    printf("Cellblock is at %s%s\n\n"
           "  curl %s%s%s/api/kernelspecs\n"
           "  jupyter lab --gateway-url=%s%s%s\n"
           "  %spython3 -c \"import json, urllib.request as r; print(json.load(r.urlopen("
           "r.Request('%s/api/kernels', b'{}', {'Authorization': 'token %s'}))))\"\n",
           url, query, for_curl, header, url, url, argument, for_lab, for_python, url, token);
}

static void print_unix_greeting(const char *path, const char *token) {
    printf("Cellblock is at %s\n\n  curl --unix-socket %s ", path, path);
    if (token[0])
        printf("-H 'Authorization: token %s' ", token);
    printf("http://localhost/api/kernelspecs\n");
}

/* One is enough; over TCP there is more to say. */
static void print_greetings(const struct warden *warden) {
    const struct listener *listener = warden->listeners.items, *first = NULL;
    const char *token = warden->params.no_token ? "" : warden->params.token;
    for (size_t i = warden->listeners.count; i-- > 0;)
        if (!listener[i].path)
            first = &listener[i];
    if (first)
        print_greeting(first->url, token, warden->params.certfile);
    for (size_t i = 0; i < warden->listeners.count; i++)
        if (listener[i].path)
            print_unix_greeting(listener[i].path, token);
    fflush(stdout);
}

/* The name appears with its content or not at all. */
static int write_ready_file(const char *path, struct slice lines, struct err *err) {
    cleanup_mem char *draft = mem_format("%s.%d", path, (int)getpid());
    cleanup_fd int fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0)
        return err_errno(err, errno, "create %s", draft);
    if (write(fd, lines.data, lines.size) != (ssize_t)lines.size || rename(draft, path) < 0) {
        int code = errno;
        unlink(draft);
        return err_errno(err, code, "write %s", path);
    }
    return 0;
}

int greet(const struct warden *warden, struct err *err) {
    const char *path = warden->params.ready_file;
    cleanup_text struct text urls = {0};
    for (size_t i = 0; i < warden->listeners.count; i++)
        text_append_format(&urls, "%s\n", warden->listeners.items[i].url);
    int result = path[0] ? write_ready_file(path, text_slice(&urls), err) : 0;
    if (result < 0)
        return err_wrap(err, "ready_file");
    print_greetings(warden);
    return 0;
}
