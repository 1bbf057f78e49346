#include "echo/command.h"

#include "echo/commands.h"

const struct command commands[] = {
#define COMMAND(name, kind, maximum, usage, help)                                                  \
    {#name, COMMAND_##kind, maximum, usage, command_##name, help},
#include "echo/commands.def"
#undef COMMAND
    {""},
};

/* Cuts text at its first byte `at`: returns what is before it, *ret_rest is what is behind it. */
static struct slice cut(struct slice text, char at, struct slice *ret_rest) {
    const uint8_t *found = text.size ? memchr(text.data, at, text.size) : NULL;
    size_t size = found ? (size_t)(found - text.data) : text.size;
    *ret_rest = slice_from(text, found ? size + 1 : size);
    return slice_make(text.data, size);
}

const struct command *command_find(struct slice line, struct slice *ret_rest) {
    struct slice rest, name = cut(line, ' ', &rest);
    for (const struct command *command = commands; command->name[0]; command++)
        if (slice_equal_text(name, command->name)) {
            *ret_rest = rest;
            return command;
        }
    return NULL;
}

static bool read_number(struct slice text, uint64_t maximum, uint64_t *ret_number) {
    uint64_t number = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        number = number * 10 + (uint64_t)(text.data[i] - '0');
        if (number > maximum)
            return false;
    }
    *ret_number = number;
    return text.size > 0;
}

bool command_read_arguments(const struct command *command, struct slice rest,
                            struct arguments *ret_arguments) {
    struct arguments arguments = {.text = rest};
    bool fits = true;
    switch (command->kind) {
    case COMMAND_BARE:
        fits = rest.size == 0;
        break;
    case COMMAND_TEXT:
        break;
    case COMMAND_SOME:
        fits = rest.size > 0;
        break;
    case COMMAND_NUMBER:
        fits = read_number(rest, command->maximum, &arguments.number);
        break;
    case COMMAND_WORD_TEXT:
        arguments.word = cut(rest, ' ', &arguments.text);
        fits = arguments.word.size > 0;
        break;
    }
    if (fits)
        *ret_arguments = arguments;
    return fits;
}

/* Appends what is before the next newline; true where that ended in a backslash, which is gone. */
static bool take_piece(struct slice *code, struct text *line) {
    struct slice piece = cut(*code, '\n', code);
    bool goes_on = piece.size && piece.data[piece.size - 1] == '\\';
    piece.size -= goes_on;
    text_append(line, piece);
    return goes_on;
}

static void drop_blanks_before(struct text *line) {
    size_t blanks = 0;
    while (blanks < line->size && (line->data[blanks] == ' ' || line->data[blanks] == '\t'))
        blanks++;
    if (!blanks)
        return;
    line->size -= blanks;
    memmove(line->data, line->data + blanks, line->size + 1);
}

bool command_next_line(struct slice *code, struct text *line) {
    do {
        if (code->size == 0)
            return false;
        line->size = 0;
        while (take_piece(code, line) && code->size)
            ;
        drop_blanks_before(line);
    } while (line->size == 0);
    return true;
}

int command_run(struct run *run, struct slice line) {
    struct slice rest;
    const struct command *command = command_find(line, &rest);
    if (!command) {
        run_result(run, line);
        return 0;
    }
    struct arguments arguments;
    if (!command_read_arguments(command, rest, &arguments))
        return run_raise(run, "ValueError", "usage: %s %s", command->name, command->usage);
    return command->run(run, &arguments);
}

void command_append_help(const struct command *command, struct text *text) {
    text_append_format(text, "%s%s%s - %s\n", command->name, command->usage[0] ? " " : "",
                       command->usage, command->help);
}
