/* fuzz_multipart - any parts as a ZeroMQ message: a byte of size, then so many bytes, and so on;
 * 255 stands for the delimiter. What is read is then signed and verified. */
#include <errno.h>

#include "base/mem.h"
#include "fuzz_check.h"
#include "wire/multipart.h"
#include "wire/sign.h"

enum { PARTS_MAX = 2048, IS_DELIMITER = 255 };
static struct slice parts[PARTS_MAX];

static size_t cut(struct slice input) {
    size_t count = 0;
    while (input.size && count < PARTS_MAX) {
        size_t size = *input.data;
        input = slice_from(input, 1);
        if (size == IS_DELIMITER) {
            parts[count++] = SLICE_LITERAL(MULTIPART_DELIMITER);
            continue;
        }
        size = size < input.size ? size : input.size;
        parts[count++] = slice_make(input.data, size);
        input = slice_from(input, size);
    }
    return count;
}

static void check_signatures(const struct msg *msg) {
    struct signer *signer = signer_create(SLICE_LITERAL("key"));
    char hex[SIGN_HEX_SIZE];
    assert(signer_sign(signer, msg, hex) == SIGN_HEX_SIZE);
    struct slice signature = slice_make(hex, sizeof hex);
    assert(signer_verify(signer, msg, signature, NULL) == 0);
    assert(signer_verify(signer, msg, signature, NULL) == -EEXIST);
    hex[0] ^= 1;
    assert(signer_verify(signer, msg, signature, NULL) == -EBADMSG);
    signer_destroy(signer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    size_t count = cut(slice_make(data, size)), identities;
    struct slice signature;
    struct msg msg;
    struct err err = {0};
    int error = multipart_read(parts, count, &identities, &signature, &msg, &err);
    assert(error == 0 || (error == -EINVAL && err.text[0]));
    if (error)
        return 0;
    assert(slice_equal_text(parts[identities], MULTIPART_DELIMITER) && identities < 16);
    assert(identities + MULTIPART_FIXED + msg.buffer_count == count);
    assert(signature.data == parts[identities + 1].data);
    assert(msg.content.data == parts[identities + 5].data);
    assert(msg.buffers == parts + identities + MULTIPART_FIXED);
    check_signatures(&msg);
    assert(mem_live() == 0);
    return 0;
}
