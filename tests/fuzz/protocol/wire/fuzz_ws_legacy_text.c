/* fuzz_ws_legacy_text - any bytes as a legacy text frame. */
#include "fuzz_legacy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    check_legacy(slice_make(data, size), false);
    return 0;
}
