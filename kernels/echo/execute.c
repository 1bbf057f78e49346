/* execute - a cell, line by line. The first line that fails ends it. The language is in command.h.
 */
#include "base/cleanup.h"
#include "echo/answer.h"
#include "echo/command.h"
#include "echo/json.h"
#include "echo/kernel.h"
#include "echo/message.h"
#include "echo/publish.h"
#include "echo/run.h"

/* 0 where every line was done. */
static int run_code(struct run *run, struct slice code) {
    cleanup_text struct text line = {0};
    while (command_next_line(&code, &line)) {
        int error = command_run(run, text_slice(&line));
        if (error)
            return error;
        /* What came meanwhile on control is answered, and an interrupt ends a cell of many lines.
         */
        if (run_wait(run, NULL, 0) < 0)
            return -1;
    }
    return 0;
}

static void say_input(struct run *run, struct slice code) {
    run_publish(run, "execute_input",
                json_pack("{s:s%, s:i}", "code", (const char *)code.data, code.size,
                          "execution_count", run->execution_count));
}

/* An expression's value is its own text, as that of a line without a command. */
static json_t *evaluate(const json_t *expressions) {
    json_t *values = json_object();
    const char *name;
    json_t *expression;
    json_object_foreach((json_t *)expressions, name, expression) {
        json_t *value = json_is_string(expression)
                            ? json_pack("{s:s, s:{s:O}, s:{}}", "status", "ok", "data",
                                        "text/plain", expression, "metadata")
                            : json_error("TypeError", "an expression is a string");
        json_object_set_new(values, name, value);
    }
    return values;
}

static json_t *reply_ok(struct run *run, const json_t *content) {
    return json_pack("{s:s, s:i, s:O, s:o}", "status", "ok", "execution_count",
                     run->execution_count, "payload", run->payload, "user_expressions",
                     evaluate(json_object_get(content, "user_expressions")));
}

static json_t *reply_error(struct run *run, const json_t *content) {
    run_publish(run, "error", json_error(run->ename, run->evalue));
    if (!run->silent && json_member_flag(content, "stop_on_error", true))
        kernel_abort_waiting(run->kernel);
    json_t *reply = json_error(run->ename, run->evalue);
    json_object_set_new(reply, "execution_count", json_integer(run->execution_count));
    json_object_set_new(reply, "user_expressions", json_object());
    json_object_set(reply, "payload", run->payload);
    return reply;
}

static void finish_run(struct run *run) {
    mem_free(run->ename);
    mem_free(run->evalue);
    text_finish(&run->result);
    json_decref(run->payload);
}

/* The reply, or NULL where the kernel stops. */
static json_t *execute(struct run *run, struct slice code, const json_t *content) {
    say_input(run, code);
    int error = run_code(run, code);
    if (run->kernel->stopping)
        return NULL;
    return error ? reply_error(run, content) : reply_ok(run, content);
}

json_t *answer_execute(struct kernel *kernel, const struct request *request,
                       const json_t *content) {
    if (kernel->aborting)
        return json_pack("{s:s}", "status", "aborted");
    struct slice code = json_member_text(content, "code");
    if (!code.data)
        return json_error("ValueError", "code is no string");
    if (kernel->running) /* one that came on control during a cell from shell */
        return json_error("RuntimeError", "a cell is running");

    bool silent = json_member_flag(content, "silent", false);
    bool stored = !silent && json_member_flag(content, "store_history", true);
    kernel->execution_count += stored;
    struct run run = {
        .kernel = kernel,
        .request = request,
        .silent = silent,
        .allow_stdin = json_member_flag(content, "allow_stdin", true),
        .execution_count = kernel->execution_count,
        .payload = json_array(),
    };
    kernel->interrupted = false;
    kernel->running = true;
    json_t *reply = execute(&run, code, content);
    kernel->running = false;
    if (stored)
        history_note(&kernel->history, run.execution_count, code,
                     run.has_result ? text_slice(&run.result) : (struct slice){0});
    finish_run(&run);
    return reply;
}
