#include "echo/run.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "echo/json.h"
#include "echo/kernel.h"
#include "echo/publish.h"
#include "msg/utf8.h"

int run_raise(struct run *run, const char *ename, const char *format, ...) {
    char evalue[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(evalue, sizeof evalue, format, args);
    va_end(args);
    mem_free(run->ename);
    mem_free(run->evalue);
    run->ename = mem_strdup(ename);
    run->evalue = mem_strdup(evalue);
    return -1;
}

void run_print(struct run *run, const char *stream, struct slice text) {
    if (!run->silent)
        publish_stream(run->kernel, run->request, stream, text);
}

void run_publish(struct run *run, const char *msg_type, json_t *content) {
    if (run->silent)
        json_decref(content);
    else
        publish_json(run->kernel, run->request, msg_type, content);
}

void run_result(struct run *run, struct slice text) {
    text_finish(&run->result);
    utf8_append_mended(&run->result, text);
    run->has_result = true;
    if (run->silent)
        return;
    cleanup_text struct text content = {0};
    text_append_text(&content, "{\"data\":{\"text/plain\":");
    text_append_json_string(&content, text_slice(&run->result));
    text_append_format(&content, "},\"metadata\":{},\"execution_count\":%d}", run->execution_count);
    publish(run->kernel, run->request, "execute_result", text_slice(&content));
}

int run_wait(struct run *run, void *waited, int64_t ms) {
    struct kernel *kernel = run->kernel;
    int64_t end_ms = ms < 0 ? INT64_MAX : kernel_now_ms() + ms;
    for (int64_t left_ms = ms;;) {
        bool readable = kernel_turn(kernel, waited,
                                    ms < 0              ? -1
                                    : left_ms > INT_MAX ? INT_MAX
                                                        : (int)left_ms);
        if (kernel->stopping)
            return -1;
        if (kernel->interrupted)
            return run_raise(run, "KeyboardInterrupt", "%s", "");
        if (readable)
            return 1;
        left_ms = end_ms - kernel_now_ms();
        if (left_ms <= 0)
            return 0;
    }
}
