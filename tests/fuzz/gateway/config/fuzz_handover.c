/* fuzz_handover - any bytes as the parameters that the gateway is given. Input: either these bytes,
 * or, where the first one is "+", records that are put over those of the defaults. */
#include "fuzz_config.h"

#include "config/loader.h"

/* The defaults' records, and behind them those of the input. */
static struct bytes *put_over_defaults(struct slice records) {
    struct loader loader;
    struct err err;
    int fd;
    loader_init(&loader);
    assert(params_write_fd(&loader.params, &fd, &err) == 0);
    loader_finish(&loader);
    size_t size = (size_t)lseek(fd, 0, SEEK_END);
    struct bytes *all = bytes_create(size + records.size);
    ssize_t got = pread(fd, all->data, size, 0);
    assert(got == (ssize_t)size);
    memcpy(all->data + size, records.data, records.size);
    close(fd);
    return all;
}

static void hand_over(struct slice records) {
    struct params params;
    struct err err = {0};
    int fd = fuzz_write_file(records);
    int result = params_read_fd(fd, &params, &err);
    close(fd);
    assert(result == 0 || (result < 0 && err.code == -result && err.text[0]));
    if (result < 0)
        return;
    fuzz_check_addresses(&params.listen);
    fuzz_check_handover(&params);
    params_finish(&params);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct slice input = slice_make(data, size);
    if (size && *data == '+') {
        struct bytes *all = put_over_defaults(slice_from(input, 1));
        hand_over(bytes_slice(all));
        bytes_unref(all);
    } else {
        hand_over(input);
    }
    assert(mem_live() == 0);
    return 0;
}
