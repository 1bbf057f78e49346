/* command - the language of the echo kernel: a line is a command of commands.def with its
 * arguments, else it is its own result. A backslash at the end of a line takes the next line to it;
 * blanks before a command and empty lines do nothing. docs/echo.md is the reference for those who
 * use it. */
#pragma once

#include "base/text.h"
#include "echo/run.h"

/* What stands behind a command's name. */
enum command_kind {
    COMMAND_BARE,      /* nothing */
    COMMAND_TEXT,      /* any text, or none */
    COMMAND_SOME,      /* a text that is not empty */
    COMMAND_NUMBER,    /* a decimal number up to the command's maximum */
    COMMAND_WORD_TEXT, /* a word, then any text or none */
};

struct arguments {
    struct slice text;
    struct slice word;
    uint64_t number;
};

struct command {
    const char *name;
    enum command_kind kind;
    uint64_t maximum;  /* of a number */
    const char *usage; /* the arguments, as a reader sees them */
    int (*run)(struct run *run, const struct arguments *arguments);
    const char *help;
};

/* The rows of commands.def; an empty name ends them. */
extern const struct command commands[];

/* NULL where line does not begin with a command's name. ret_rest is what stands behind it. */
const struct command *command_find(struct slice line, struct slice *ret_rest);
/* False where rest is not what command takes. */
bool command_read_arguments(const struct command *command, struct slice rest,
                            struct arguments *ret_arguments);

/* Takes the next line off code, joined where backslashes say so, without blanks before it. False
 * at the end. Empty lines are skipped. line is reused from call to call. */
bool command_next_line(struct slice *code, struct text *line);

/* Runs one line; 0, or -1 where it raised an error or the kernel stops. */
int command_run(struct run *run, struct slice line);

/* One line per command: name, usage, help. */
void command_append_help(const struct command *command, struct text *text);
