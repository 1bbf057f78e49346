/* help - the table as people read it: --help and docs/config.md. */
#include <string.h>

#include "base/cleanup.h"
#include "config/table.h"

enum { COLUMN_DOC = 34, COLUMN_END = 100 };

/* Words of doc, broken at COLUMN_END, from COLUMN_DOC on; the first line begins at column. */
static void print_wrapped(const char *doc, int column, FILE *out) {
    while (*doc) {
        int size = (int)strcspn(doc, " ");
        if (column < COLUMN_DOC || column + 1 + size > COLUMN_END) {
            if (column >= COLUMN_DOC)
                column = fprintf(out, "\n") - 1;
            column += fprintf(out, "%*s", COLUMN_DOC - column, "");
        }
        column += fprintf(out, " %.*s", size, doc);
        doc += size + (doc[size] == ' ');
    }
    fprintf(out, "\n");
}

static void print_row_help(const struct param_row *row, FILE *out) {
    char flag[PARAM_NAME_MAX];
    param_flag(row, flag);
    const char *placeholder = row->type->placeholder;
    int column =
        fprintf(out, "  %s%s%s", flag, placeholder ? " " : "", placeholder ? placeholder : "");
    if (column >= COLUMN_DOC)
        column = fprintf(out, "\n") - 1;
    cleanup_text struct text doc = {0};
    text_append_text(&doc, row->doc);
    if (*row->value && placeholder)
        text_append_format(&doc, " (%s)", row->value);
    print_wrapped(doc.data, column, out);
}

void params_print_help(FILE *out) {
    fprintf(out,
            "usage: cellblock serve [FLAG ...]\n"
            "\n"
            "Serves jailed kernels over HTTP and WebSocket until SIGTERM or SIGINT.\n"
            "Each flag may also stand in the file that --config names (--max-kernels 5 as\n"
            "max_kernels = 5) or in the environment (CELLBLOCK_MAX_KERNELS=5). Flags win over\n"
            "the environment, which wins over the file. Sizes take KiB, MiB, GiB; times take\n"
            "ms, s, min, h.\n");
    for (size_t i = 0; i < param_row_count; i++)
        if (param_rows[i].name)
            print_row_help(&param_rows[i], out);
        else
            fprintf(out, "\n%s:\n", param_rows[i].doc);
    fprintf(out, "\n  --help    This text.\n  --version The version.\n");
}

static void print_row_doc(const struct param_row *row, FILE *out) {
    char flag[PARAM_NAME_MAX], variable[PARAM_NAME_MAX];
    param_flag(row, flag);
    param_variable(row, variable);
    cleanup_text struct text range = {0};
    param_print_range(row, &range);
    fprintf(out, "| `%s` | %s | %s%s%s | `%s` | `%s` | %s |\n", row->name, range.data,
            *row->value ? "`" : "", row->value, *row->value ? "`" : "", flag, variable, row->doc);
}

void params_print_doc(FILE *out) {
    fprintf(out,
            "# Configuration of `cellblock serve`\n"
            "\n"
            "Generated from `gateway/config/params.def` by `ninja docs`; do not edit.\n"
            "\n"
            "Every parameter has a default and can be given in three places. Later wins: the\n"
            "file that `--config FILE` names, the environment, the flags. Lists given in one\n"
            "place replace those of an earlier place; given again in the same place, they\n"
            "add up.\n"
            "\n"
            "* **Flags**: `--max-kernels 5` or `--max-kernels=5`. What is true or false is a\n"
            "  bare flag: `--no-token`.\n"
            "* **Environment**: `CELLBLOCK_MAX_KERNELS=5`. A variable that looks like a\n"
            "  misspelt one is refused; others with that prefix are ignored.\n"
            "* **File**: lines `max_kernels = 5`, at most 190 bytes long, without sections.\n"
            "  `;` or `#` begins a comment line, a blank and `;` a comment behind a value. A\n"
            "  list may be given in several lines.\n"
            "\n"
            "Sizes take `KiB`, `MiB` or `GiB`, times `ms`, `s`, `min` or `h`; a bare number\n"
            "is in bytes or milliseconds. Relative paths are meant from the working directory\n"
            "at the start.\n");
    for (size_t i = 0; i < param_row_count; i++)
        if (param_rows[i].name)
            print_row_doc(&param_rows[i], out);
        else
            fprintf(out,
                    "\n## %s\n\n| Name | Takes | Default | Flag | Environment | Meaning |\n"
                    "|---|---|---|---|---|---|\n",
                    param_rows[i].doc);
}
