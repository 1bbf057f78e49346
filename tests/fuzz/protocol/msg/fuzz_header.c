/* fuzz_header - any bytes as a header: what is read survives its rewriting for a strict kernel. */
#include <assert.h>
#include <errno.h>

#include "base/mem.h"
#include "msg/build.h"
#include "msg/header.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_rewritten(const struct msg_header *before, struct slice json) {
    struct msg_header after;
    assert(msg_header_parse(json, &after, NULL) == 0);
    assert(!after.date_is_number && after.date[10] == 'T');
    assert(strcmp(before->msg_id, after.msg_id) == 0);
    assert(strcmp(before->session, after.session) == 0);
    assert(!msg_header_with_iso_date(json, &after));
    msg_header_finish(&after);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct slice json = slice_make(data, size);
    struct msg_header header;
    struct err err = {0};
    int error = msg_header_parse(json, &header, &err);
    assert(error == 0 || (err.code == -error && err.text[0]));
    if (error)
        return 0;
    struct bytes *rewritten = msg_header_with_iso_date(json, &header);
    if (rewritten && rewritten->size <= MSG_HEADER_MAX)
        check_rewritten(&header, bytes_slice(rewritten));
    bytes_unref(rewritten);
    msg_header_finish(&header);
    assert(mem_live() == 0);
    return 0;
}
