/* test_vectors - what real clients, kernels and servers said, decoded and encoded again: see the
 * README in the folder vectors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <jansson.h>

#include "base/mem.h"
#include "base/text.h"
#include "msg/header.h"
#include "msg/types.h"
#include "vectors.h"
#include "wire/multipart.h"
#include "wire/sign.h"
#include "wire/ws_legacy.h"
#include "wire/ws_v1.h"

#define KEY "5a0c1b9e-vectors"

static void check_same(struct slice a, struct slice b) {
    assert_int_equal(a.size, b.size);
    if (a.size)
        assert_memory_equal(a.data, b.data, a.size);
}

static void check_same_messages(const struct msg *a, const struct msg *b) {
    assert_int_equal(a->channel, b->channel);
    check_same(a->header, b->header);
    check_same(a->parent_header, b->parent_header);
    check_same(a->metadata, b->metadata);
    check_same(a->content, b->content);
    assert_int_equal(a->buffer_count, b->buffer_count);
    for (size_t i = 0; i < a->buffer_count; i++)
        check_same(a->buffers[i], b->buffers[i]);
}

/* The message is what its file's name says, and types.def knows that its sender sends it there. */
static void check_name(const struct vector *vector, const struct msg *msg) {
    const char *channel = strcmp(vector->channel, "none") == 0 ? "shell" : vector->channel;
    assert_string_equal(msg_channel_name(msg->channel), channel);
    assert_int_equal(msg->buffer_count > 0, vector->has_buffers);

    struct msg_header header;
    assert_int_equal(msg_header_parse(msg->header, &header, NULL), 0);
    assert_string_equal(header.msg_type, vector->type);
    assert_true(header.msg_id[0] && header.session[0] && header.version[0]);
    const struct msg_type *type = msg_type_from(slice_from_text(header.msg_type));
    assert_int_not_equal(type->id, MSG_TYPE_UNKNOWN);
    assert_true(strcmp(vector->sender, "client") == 0 ? msg_type_fits_client(type, msg->channel)
                                                      : msg_type_fits_kernel(type, msg->channel));
    msg_header_finish(&header);
    assert_int_equal(msg_header_parse(msg->parent_header, &header, NULL), 0);
    msg_header_finish(&header);
}

/* -- ZeroMQ */

enum { PARTS_MAX = 32 };

struct capture {
    struct slice parts[PARTS_MAX], signature;
    size_t identities;
    struct msg msg;
};

static void read_capture(const struct vector *vector, struct capture *ret_capture) {
    struct capture *capture = ret_capture;
    size_t count = read_netstrings(bytes_slice(vector->bytes), capture->parts, PARTS_MAX);
    capture->msg.channel = msg_channel_from(slice_from_text(vector->channel));
    assert_int_equal(multipart_read(capture->parts, count, &capture->identities,
                                    &capture->signature, &capture->msg, NULL),
                     0);
}

static struct signer *signer;

static void check_zeromq(const struct vector *vector) {
    struct capture capture;
    read_capture(vector, &capture);
    check_name(vector, &capture.msg);
    /* A ROUTER puts the sender's identity in front, a SUB the topic, which a welcome has not; a
     * DEALER gets neither. */
    bool has_topic = capture.msg.channel == MSG_IOPUB && strcmp(vector->type, "iopub_welcome") != 0;
    bool has_one = strcmp(vector->sender, "client") == 0 || has_topic;
    assert_int_equal(capture.identities, has_one ? 1 : 0);

    char hex[SIGN_HEX_SIZE];
    assert_int_equal(signer_sign(signer, &capture.msg, hex), SIGN_HEX_SIZE);
    check_same(slice_make(hex, sizeof hex), capture.signature);
    assert_int_equal(signer_verify(signer, &capture.msg, capture.signature, NULL), 0);
    assert_int_equal(signer_verify(signer, &capture.msg, capture.signature, NULL), -EEXIST);
    hex[63] ^= 1;
    assert_int_equal(signer_verify(signer, &capture.msg, slice_make(hex, sizeof hex), NULL),
                     -EBADMSG);
}

static void verifies_what_jupyter_client_and_ipykernel_sign(void **state) {
    (void)state;
    signer = signer_create(SLICE_LITERAL(KEY));
    assert_true(each_vector("zeromq", check_zeromq) >= 30);
    signer_destroy(signer);
    assert_int_equal(mem_live(), 0);
}

/* -- v1 */

static void check_v1(const struct vector *vector) {
    static struct slice buffers[MSG_BUFFERS_MAX];
    struct msg msg;
    assert_int_equal(ws_v1_decode(bytes_slice(vector->bytes), buffers, &msg, NULL), 0);
    check_name(vector, &msg);
    struct bytes *again = ws_v1_encode(&msg);
    check_same(bytes_slice(again), bytes_slice(vector->bytes));
    bytes_unref(again);
}

static void writes_v1_as_services_and_jupyter_server_do(void **state) {
    (void)state;
    assert_true(each_vector("v1", check_v1) >= 20);
    assert_int_equal(mem_live(), 0);
}

/* -- legacy */

static struct slice decode_buffers[2][MSG_BUFFERS_MAX];

static void decode_legacy(struct slice frame, bool is_binary, struct slice *buffers,
                          struct msg *ret_msg) {
    int error = is_binary ? ws_legacy_decode_binary(frame, buffers, ret_msg, NULL)
                          : ws_legacy_decode_text(frame, ret_msg, NULL);
    assert_int_equal(error, 0);
}

static struct bytes *encode_legacy(const struct msg *msg, bool *ret_binary) {
    struct msg_header header;
    assert_int_equal(msg_header_parse(msg->header, &header, NULL), 0);
    struct bytes *frame = ws_legacy_encode(msg, &header, ret_binary);
    msg_header_finish(&header);
    return frame;
}

/* The JSON of a frame. Integers as reals: one of them has 71 digits. */
static json_t *load_frame(struct slice frame, bool is_binary) {
    size_t begin = 0, end = frame.size;
    if (is_binary) {
        begin = (size_t)frame.data[6] << 8 | frame.data[7];
        end = (size_t)frame.data[10] << 8 | frame.data[11];
    }
    json_t *value =
        json_loadb((const char *)frame.data + begin, end - begin, JSON_DECODE_INT_AS_REAL, NULL);
    assert_non_null(value);
    return value;
}

/* What a server sends is, member for member, what our encoder makes of the same message. */
static void check_equal_json(const struct vector *vector, struct slice ours) {
    json_t *theirs = load_frame(bytes_slice(vector->bytes), vector->is_binary);
    json_t *found = load_frame(ours, vector->is_binary);
    assert_true(json_equal(theirs, found));
    json_decref(theirs);
    json_decref(found);
}

static void check_legacy(const struct vector *vector) {
    struct msg msg, again;
    decode_legacy(bytes_slice(vector->bytes), vector->is_binary, decode_buffers[0], &msg);
    check_name(vector, &msg);

    bool binary;
    struct bytes *frame = encode_legacy(&msg, &binary);
    assert_int_equal(binary, vector->is_binary);
    decode_legacy(bytes_slice(frame), binary, decode_buffers[1], &again);
    check_same_messages(&msg, &again);
    if (strcmp(vector->sender, "server") == 0)
        check_equal_json(vector, bytes_slice(frame));
    bytes_unref(frame);
}

static void speaks_legacy_as_services_and_jupyter_server_do(void **state) {
    (void)state;
    assert_true(each_vector("legacy", check_legacy) >= 20);
    assert_int_equal(mem_live(), 0);
}

static void check_nbclient(const struct vector *vector) {
    check_legacy(vector);
    if (strcmp(vector->sender, "client") != 0)
        return;
    struct msg msg;
    struct msg_header header;
    decode_legacy(bytes_slice(vector->bytes), false, NULL, &msg);
    assert_int_equal(msg_header_parse(msg.header, &header, NULL), 0);
    assert_true(header.date_is_number && header.date_s > 1.7e9);
    msg_header_finish(&header);
}

static void reads_what_nbclient_sends(void **state) {
    (void)state;
    assert_true(each_vector("nbclient", check_nbclient) >= 10);
    assert_int_equal(mem_live(), 0);
}

/* -- our own legacy frames, which tests/conform/wire gives to the decoders of others */

static void path_of_ours(const struct vector *vector, bool is_binary, char ret_path[1024]) {
    int stem = (int)strcspn(vector->name, ".");
    snprintf(ret_path, 1024, "%s/vectors/ours/%.*s.%s", TEST_DATA, stem, vector->name,
             is_binary ? "frame" : "json");
}

static void check_ours(const struct vector *vector) {
    if (strcmp(vector->sender, "kernel") != 0)
        return;
    struct capture capture;
    read_capture(vector, &capture);
    bool is_binary;
    struct bytes *frame = encode_legacy(&capture.msg, &is_binary);
    assert_int_equal(is_binary, vector->has_buffers);
    assert_true(is_binary || text_is_utf8(bytes_slice(frame)));
    char path[1024];
    path_of_ours(vector, is_binary, path);
    if (getenv("VECTORS_WRITE")) {
        FILE *file = fopen(path, "wb");
        assert_non_null(file);
        assert_int_equal(fwrite(frame->data, 1, frame->size, file), frame->size);
        assert_int_equal(fclose(file), 0);
    }
    struct bytes *kept = read_file(path);
    check_same(bytes_slice(frame), bytes_slice(kept));
    bytes_unref(kept);
    bytes_unref(frame);
}

static void writes_the_legacy_frames_that_others_check(void **state) {
    (void)state;
    each_vector("zeromq", check_ours);
    assert_int_equal(mem_live(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verifies_what_jupyter_client_and_ipykernel_sign),
        cmocka_unit_test(writes_v1_as_services_and_jupyter_server_do),
        cmocka_unit_test(speaks_legacy_as_services_and_jupyter_server_do),
        cmocka_unit_test(reads_what_nbclient_sends),
        cmocka_unit_test(writes_the_legacy_frames_that_others_check),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
