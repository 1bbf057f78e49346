/* act - the commands that take time, ask, or do something to the process. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "echo/commands.h"
#include "echo/json.h"
#include "echo/kernel.h"
#include "echo/message.h"
#include "report/report.h"

int command_sleep(struct run *run, const struct arguments *arguments) {
    return run_wait(run, NULL, (int64_t)arguments->number);
}

int command_spin(struct run *run, const struct arguments *arguments) {
    enum { SLICE_MS = 2 }; /* without a look at control */
    int64_t end_ms = kernel_now_ms() + (int64_t)arguments->number;
    while (kernel_now_ms() < end_ms) {
        int64_t slice_end_ms = kernel_now_ms() + SLICE_MS;
        while (kernel_now_ms() < slice_end_ms)
            ;
        if (run_wait(run, NULL, 0) < 0)
            return -1;
    }
    return 0;
}

static void ask(struct run *run, struct slice prompt, bool is_password) {
    cleanup_text struct text content = {0};
    json_append_consume(&content, json_pack("{s:o, s:b}", "prompt", json_from_slice(prompt),
                                            "password", is_password));
    struct outgoing request = {
        .channel = MSG_STDIN,
        .msg_type = "input_request",
        .prefix = run->request->parts,
        .prefix_count = run->request->identity_count,
        .parent_header = run->request->msg.header,
        .content = text_slice(&content),
    };
    message_send(run->kernel, &request);
}

/* Makes the value of an input_reply the result. False where request is none. */
static bool take_line(struct run *run, const struct request *request) {
    if (strcmp(request->header.msg_type, "input_reply") != 0)
        return false;
    struct slice text = request->msg.content;
    json_t *content = json_loadb((const char *)text.data, text.size, JSON_ALLOW_NUL, NULL);
    struct slice value = json_member_text(content, "value");
    if (value.data)
        run_result(run, value);
    json_decref(content);
    return value.data != NULL;
}

/* 1: the line came, 0: something else did, a negative errno: nothing did. */
static int receive_line(struct run *run, bool wanted) {
    struct request request;
    int error = request_receive(run->kernel, MSG_STDIN, &request);
    if (error)
        return error == -EAGAIN ? error : 0;
    bool taken = wanted && take_line(run, &request);
    request_finish(&request);
    return taken;
}

static int ask_line(struct run *run, struct slice prompt, bool is_password) {
    if (!run->allow_stdin)
        return run_raise(run, "StdinNotImplementedError", "the client takes no input requests");
    while (receive_line(run, false) == 0)
        ; /* what answers an earlier cell */
    ask(run, prompt, is_password);
    for (;;) {
        if (run_wait(run, run->kernel->sockets[CONNECTION_STDIN], -1) < 0)
            return -1;
        if (receive_line(run, true) == 1)
            return 0;
    }
}

int command_input(struct run *run, const struct arguments *arguments) {
    return ask_line(run, arguments->text, false);
}

int command_password(struct run *run, const struct arguments *arguments) {
    return ask_line(run, arguments->text, true);
}

int command_exit(struct run *run, const struct arguments *arguments) {
    run->kernel->exit_status = (int)arguments->number;
    run->kernel->stopping = true;
    return -1;
}

/* Those that end a process which does nothing about them, and that this kernel leaves alone. */
static bool is_fatal(int number) {
    static const int fatal[] = {SIGHUP,  SIGQUIT, SIGILL,  SIGTRAP, SIGABRT, SIGBUS,
                                SIGFPE,  SIGKILL, SIGUSR1, SIGSEGV, SIGUSR2, SIGPIPE,
                                SIGALRM, SIGXCPU, SIGXFSZ, SIGSYS};
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        if (fatal[i] == number)
            return true;
    return false;
}

int command_signal(struct run *run, const struct arguments *arguments) {
    int number = (int)arguments->number;
    if (is_fatal(number)) {
        signal(number, SIG_DFL); /* a sanitizer has handlers of its own */
        report_signal(number);
    }
    if (kill(getpid(), number) < 0)
        return run_raise(run, "OSError", "%s", strerror(errno));
    return 0;
}

/* In the child: holds nothing of the kernel's but its standard streams. */
static _Noreturn void linger(uint64_t ms, bool alone) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (alone)
        setsid();
    close_range(STDERR_FILENO + 1, ~0U, 0);
    poll(NULL, 0, (int)ms);
    _exit(0);
}

static int start_child(struct run *run, uint64_t ms, bool alone) {
    pid_t child = fork();
    if (child < 0)
        return run_raise(run, "OSError", "fork: %s", strerror(errno));
    if (child == 0)
        linger(ms, alone);
    cleanup_mem char *text = mem_format("%d", (int)child);
    run_result(run, slice_from_text(text));
    return 0;
}

int command_fork(struct run *run, const struct arguments *arguments) {
    return start_child(run, arguments->number, false);
}

int command_daemon(struct run *run, const struct arguments *arguments) {
    return start_child(run, arguments->number, true);
}

#ifdef CELLBLOCK_TESTS
int command_overflow(struct run *run, const struct arguments *arguments) {
    (void)run, (void)arguments;
    volatile size_t size = 16;
    cleanup_mem char *memory = mem_alloc(size);
    ((volatile char *)memory)[size] = 1;
    return 0;
}
#endif
