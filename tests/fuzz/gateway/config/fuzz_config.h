/* fuzz_config - what both targets of this room check of parameters that were taken. */
#pragma once

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "config/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Where a file is that holds these bytes. */
static inline int fuzz_write_file(struct slice content) {
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    ssize_t wrote = write(fd, content.data, content.size);
    assert(fd >= 0 && wrote == (ssize_t)content.size);
    return fd;
}

static inline void fuzz_print_row(const struct param_row *row, const struct params *params,
                                  struct text *ret_text) {
    text_append_text(ret_text, "");
    row->type->print(row, param_value(row, params), ret_text);
}

static inline void fuzz_check_same(const struct params *a, const struct params *b) {
    for (size_t i = 0; i < param_row_count; i++) {
        const struct param_row *row = &param_rows[i];
        if (!row->name || row->type->is_kept_back)
            continue;
        cleanup_text struct text first = {0}, second = {0};
        fuzz_print_row(row, a, &first);
        fuzz_print_row(row, b, &second);
        assert(slice_equal(text_slice(&first), text_slice(&second)));
    }
}

/* What was taken is handed over unchanged. */
static inline void fuzz_check_handover(const struct params *params) {
    struct params again;
    struct err err;
    int fd;
    assert(params_write_fd(params, &fd, &err) == 0);
    assert(params_read_fd(fd, &again, &err) == 0);
    close(fd);
    fuzz_check_same(params, &again);
    params_finish(&again);
}

static inline void fuzz_check_addresses(const struct params_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        struct params_address address;
        struct err err;
        assert(params_address_read(list->items[i], &address, &err) == 0);
        char *printed = params_address_print(&address);
        assert(strcmp(printed, list->items[i]) == 0);
        mem_free(printed);
    }
}
