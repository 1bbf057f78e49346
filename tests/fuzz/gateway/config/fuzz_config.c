/* fuzz_config - a configuration file, the environment and flags. Input: pieces that end in NUL; the
 * first is the file, what begins with "-" is a flag or its value, the rest are variables. What is
 * taken lies within the table's ranges, is printed so that it reads back, and is handed over
 * unchanged. */
#include "fuzz_config.h"

#include <stdio.h>
#include <string.h>

enum { PIECES_MAX = 16 };

struct call {
    char *pieces[PIECES_MAX];
    size_t count;
    char *argv[PIECES_MAX + 3], *environment[PIECES_MAX + 1];
    int argc;
};

static void cut(struct call *call, struct slice input) {
    while (input.size && call->count < PIECES_MAX) {
        size_t size = strnlen((const char *)input.data, input.size);
        call->pieces[call->count++] = mem_copy_text(input.data, size);
        input = slice_from(input, size + (size < input.size));
    }
}

/* The file's flag comes last, so that no other names a file of this machine. */
static void arrange(struct call *call, char *file_flag) {
    size_t variables = 0;
    call->argv[call->argc++] = (char *)"cellblock";
    for (size_t i = 1; i < call->count; i++)
        if (call->pieces[i][0] == '-')
            call->argv[call->argc++] = call->pieces[i];
        else
            call->environment[variables++] = call->pieces[i];
    if (call->count && call->pieces[0][0])
        call->argv[call->argc++] = file_flag;
}

static bool names_a_file(const struct call *call) {
    for (size_t i = 1; i < call->count; i++)
        if (strcasestr(call->pieces[i], "config"))
            return true;
    return false;
}

static void check_ranges(const struct params *params) {
    for (size_t i = 0; i < param_row_count; i++) {
        const struct param_row *row = &param_rows[i];
        if (!row->name || !row->type->has_range || strncmp(row->name, "max_", 4) == 0)
            continue; /* a max_ of 0 has become what it stands for */
        uint64_t value = *(const uint64_t *)param_value(row, params);
        assert(value <= row->maximum);
    }
    assert(params->pids <= params->max_pids && params->memory_bytes <= params->max_memory_bytes);
    assert(params->data.count <= PARAMS_DATA_MAX && !(params->no_token && *params->token));
}

static void load(struct call *call) {
    struct params params;
    struct err err = {0};
    int result = params_load(call->argc, call->argv, call->environment, &params, &err);
    assert(result >= 0 || (err.code == -result && err.text[0]));
    if (result != 0)
        return;
    check_ranges(&params);
    fuzz_check_addresses(&params.listen);
    fuzz_check_handover(&params);
    bool is_made = params_make_token(&params);
    assert(params.no_token ? !is_made : strlen(params.token) > 0);
    params_finish(&params);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct call call = {0};
    char flag[64];
    cut(&call, slice_make(data, size));
    int fd = fuzz_write_file(slice_from_text(call.count ? call.pieces[0] : ""));
    snprintf(flag, sizeof flag, "--config=/proc/self/fd/%d", fd);
    arrange(&call, flag);
    if (!names_a_file(&call))
        load(&call);
    close(fd);
    for (size_t i = 0; i < call.count; i++)
        mem_free(call.pieces[i]);
    assert(mem_live() == 0);
    return 0;
}
