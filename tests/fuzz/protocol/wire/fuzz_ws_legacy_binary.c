/* fuzz_ws_legacy_binary - any bytes as a legacy binary frame. */
#include "fuzz_legacy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    check_legacy(slice_make(data, size), true);
    return 0;
}
