/* fuzz_connection - any bytes as a connection file: what is read is written and read again alike.
 */
#include <errno.h>

#include "base/mem.h"
#include "fuzz_check.h"
#include "wire/connection.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct connection first, second;
    struct err err = {0};
    int error = connection_read(slice_make(data, size), &first, &err);
    assert(error == 0 || (error == -EINVAL && err.text[0]));
    if (error == 0) {
        struct bytes *text = connection_write(&first);
        assert(connection_read(bytes_slice(text), &second, NULL) == 0);
        struct bytes *again = connection_write(&second);
        assert(slice_equal(bytes_slice(again), bytes_slice(text)));
        bytes_unref(again);
        bytes_unref(text);
        connection_finish(&second);
        connection_finish(&first);
    }
    assert(mem_live() == 0);
    return 0;
}
