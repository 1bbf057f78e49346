/* inform - what the kernel knows of itself and its language. Positions in code are counted in
 * characters (Unicode code points), as the protocol counts since 5.2. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "echo/answer.h"
#include "echo/command.h"
#include "echo/json.h"

#define PROTOCOL_VERSION "5.5"

json_t *answer_kernel_info(struct kernel *kernel, const struct request *request,
                           const json_t *content) {
    (void)kernel, (void)request, (void)content;
    json_t *language = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "name", "echo", "version",
                                 CELLBLOCK_VERSION, "mimetype", "text/plain", "file_extension",
                                 ".echo", "pygments_lexer", "text", "codemirror_mode", "null",
                                 "nbconvert_exporter", "script");
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:s, s:[], s:[]}", "status", "ok",
                     "protocol_version", PROTOCOL_VERSION, "implementation", "cellblock-echo",
                     "implementation_version", CELLBLOCK_VERSION, "language_info", language,
                     "banner", "Echo: says back what it is told. `help` lists its commands.",
                     "help_links", "supported_features");
}

static const char *status_of(struct slice code) {
    if (code.size && code.data[code.size - 1] == '\\')
        return "incomplete";
    cleanup_text struct text line = {0};
    while (command_next_line(&code, &line)) {
        struct slice rest;
        struct arguments arguments;
        const struct command *command = command_find(text_slice(&line), &rest);
        if (command && !command_read_arguments(command, rest, &arguments))
            return "invalid";
    }
    return "complete";
}

json_t *answer_is_complete(struct kernel *kernel, const struct request *request,
                           const json_t *content) {
    (void)kernel, (void)request;
    const char *status = status_of(json_member_text(content, "code"));
    bool incomplete = slice_equal_text(slice_from_text(status), "incomplete");
    return incomplete ? json_pack("{s:s, s:s}", "status", status, "indent", "")
                      : json_pack("{s:s}", "status", status);
}

static bool is_character_start(uint8_t byte) {
    return (byte & 0xc0) != 0x80;
}

/* Where the character number `position` begins; beyond the end: the size. */
static size_t offset_of(struct slice code, int64_t position) {
    for (size_t i = 0; i < code.size; i++) {
        if (!is_character_start(code.data[i]))
            continue;
        if (position <= 0)
            return i;
        position--;
    }
    return code.size;
}

static int64_t count_characters(struct slice code) {
    int64_t count = 0;
    for (size_t i = 0; i < code.size; i++)
        count += is_character_start(code.data[i]);
    return count;
}

/* The code's line in which offset lies begins here. */
static size_t line_start(struct slice code, size_t offset) {
    while (offset > 0 && code.data[offset - 1] != '\n')
        offset--;
    return offset;
}

/* The code up to the cursor (without one: all of it), and where its last line begins. */
static struct slice before_cursor(const json_t *content, size_t *ret_line) {
    struct slice code = json_member_text(content, "code");
    int64_t position = json_member_number(content, "cursor_pos", INT64_MAX);
    code.size = offset_of(code, position);
    *ret_line = line_start(code, code.size);
    return code;
}

json_t *answer_complete(struct kernel *kernel, const struct request *request,
                        const json_t *content) {
    (void)kernel, (void)request;
    size_t line;
    struct slice code = before_cursor(content, &line);
    struct slice typed = slice_from(code, line);
    json_t *matches = json_array();
    for (const struct command *command = commands; command->name[0]; command++)
        if (slice_starts_with(slice_from_text(command->name), typed))
            json_array_append_new(matches, json_string(command->name));
    int64_t end = count_characters(code);
    return json_pack("{s:s, s:o, s:I, s:I, s:{}}", "status", "ok", "matches", matches,
                     "cursor_start", (json_int_t)(end - count_characters(typed)), "cursor_end",
                     (json_int_t)end, "metadata");
}

/* The command of the line in which the cursor stands. */
static const struct command *command_at_cursor(const json_t *content) {
    size_t line;
    before_cursor(content, &line);
    struct slice rest, code = slice_from(json_member_text(content, "code"), line);
    const uint8_t *end = code.size ? memchr(code.data, '\n', code.size) : NULL;
    if (end)
        code.size = (size_t)(end - code.data);
    return command_find(code, &rest);
}

json_t *answer_inspect(struct kernel *kernel, const struct request *request,
                       const json_t *content) {
    (void)kernel, (void)request;
    const struct command *command = command_at_cursor(content);
    json_t *data = json_object();
    if (command) {
        cleanup_text struct text help = {0};
        command_append_help(command, &help);
        json_object_set_new(data, "text/plain", json_from_slice(text_slice(&help)));
    }
    return json_pack("{s:s, s:b, s:o, s:{}}", "status", "ok", "found", command != NULL, "data",
                     data, "metadata");
}
