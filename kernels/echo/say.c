/* say - the commands that only put something out. */
#include "base/cleanup.h"
#include "echo/command.h"
#include "echo/commands.h"
#include "echo/json.h"

enum { LINES_A_TURN = 256 }; /* between two looks at control and signals */

int command_echo(struct run *run, const struct arguments *arguments) {
    run_result(run, arguments->text);
    return 0;
}

static int print_line(struct run *run, const char *stream, struct slice said) {
    cleanup_text struct text line = {0};
    text_append(&line, said);
    text_append_text(&line, "\n");
    run_print(run, stream, text_slice(&line));
    return 0;
}

int command_print(struct run *run, const struct arguments *arguments) {
    return print_line(run, "stdout", arguments->text);
}

int command_stderr(struct run *run, const struct arguments *arguments) {
    return print_line(run, "stderr", arguments->text);
}

int command_lines(struct run *run, const struct arguments *arguments) {
    cleanup_text struct text line = {0};
    for (uint64_t i = 1; i <= arguments->number; i++) {
        line.size = 0;
        text_append_format(&line, "line %llu\n", (unsigned long long)i);
        run_print(run, "stdout", text_slice(&line));
        if (i % LINES_A_TURN == 0 && run_wait(run, NULL, 0) < 0)
            return -1;
    }
    return 0;
}

/* Digits that tell where a byte came from: 0123456789 again and again. */
static struct bytes *make_digits(uint64_t size) {
    struct bytes *digits = bytes_create(size);
    for (uint64_t i = 0; i < size; i++)
        digits->data[i] = (uint8_t)('0' + i % 10);
    return digits;
}

int command_bytes(struct run *run, const struct arguments *arguments) {
    cleanup_bytes struct bytes *digits = make_digits(arguments->number);
    run_print(run, "stdout", bytes_slice(digits));
    return 0;
}

int command_result(struct run *run, const struct arguments *arguments) {
    cleanup_bytes struct bytes *digits = make_digits(arguments->number);
    run_result(run, bytes_slice(digits));
    return 0;
}

static bool is_json_type(struct slice mime) {
    static const char ending[] = "json";
    size_t size = sizeof ending - 1;
    return mime.size >= size && memcmp(mime.data + mime.size - size, ending, size) == 0;
}

int command_display(struct run *run, const struct arguments *arguments) {
    struct slice data = arguments->text;
    json_t *value = NULL;
    if (is_json_type(arguments->word))
        value = json_loadb((const char *)data.data, data.size, JSON_DECODE_ANY, NULL);
    if (!value)
        value = json_from_slice(data);
    json_t *bundle = json_object();
    json_object_setn_new(bundle, (const char *)arguments->word.data, arguments->word.size, value);
    run_publish(run, "display_data",
                json_pack("{s:o, s:{}, s:{}}", "data", bundle, "metadata", "transient"));
    return 0;
}

int command_clear(struct run *run, const struct arguments *arguments) {
    (void)arguments;
    run_publish(run, "clear_output", json_pack("{s:b}", "wait", 0));
    return 0;
}

int command_page(struct run *run, const struct arguments *arguments) {
    json_array_append_new(run->payload,
                          json_pack("{s:s, s:i, s:{s:o}}", "source", "page", "start", 0, "data",
                                    "text/plain", json_from_slice(arguments->text)));
    return 0;
}

int command_error(struct run *run, const struct arguments *arguments) {
    cleanup_mem char *ename = mem_copy_text(arguments->word.data, arguments->word.size);
    return run_raise(run, ename, "%.*s", (int)arguments->text.size,
                     (const char *)arguments->text.data);
}

int command_help(struct run *run, const struct arguments *arguments) {
    (void)arguments;
    cleanup_text struct text text = {0};
    for (const struct command *command = commands; command->name[0]; command++)
        command_append_help(command, &text);
    run_print(run, "stdout", text_slice(&text));
    return 0;
}
