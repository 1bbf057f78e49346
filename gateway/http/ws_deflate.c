#include "http/ws_deflate.h"

#include <assert.h>
#include <errno.h>
#include <zlib.h>

#include "base/mem.h"

enum {
    LEVEL = 1,          /* the higher ones take 2 to 4 times as long for a tenth less */
    MEMORY_LEVEL = 8,   /* zlib's default */
    BITS_MAX = 15,      /* of a window */
    SAMPLE = 4096,      /* bytes of a large message that are tried first */
    TAIL_SIZE = 4,      /* what a flush ends with, and is not sent (section 7.2.1) */
    ROOM = 64 * 1024,   /* unpacked at a time */
    PIECE_MAX = 1 << 30 /* given to zlib at a time */
};

static const uint8_t tail[TAIL_SIZE] = {0x00, 0x00, 0xff, 0xff};

/* Streams are made when they are first used: 40 KiB for one that unpacks, 256 KiB for one that
 * packs. */
struct ws_deflate {
    z_stream *packers[BITS_MAX + 1]; /* by bits of the window */
    z_stream *unpacker;
    uint8_t room[ROOM];
};

static void *allocate(void *context, unsigned count, unsigned size) {
    (void)context;
    return mem_zalloc(count, size);
}

static void release(void *context, void *pointer) {
    (void)context;
    mem_free(pointer);
}

static z_stream *create_stream(void) {
    z_stream *stream = mem_zalloc(1, sizeof *stream);
    stream->zalloc = allocate;
    stream->zfree = release;
    return stream;
}

struct ws_deflate *ws_deflate_create(void) {
    return mem_zalloc(1, sizeof(struct ws_deflate));
}

void ws_deflate_destroy(struct ws_deflate *deflate) {
    if (!deflate)
        return;
    for (int bits = 0; bits <= BITS_MAX; bits++) {
        if (deflate->packers[bits])
            deflateEnd(deflate->packers[bits]);
        mem_free(deflate->packers[bits]);
    }
    if (deflate->unpacker)
        inflateEnd(deflate->unpacker);
    mem_free(deflate->unpacker);
    mem_free(deflate);
}

/* -- packing ---------------------------------------------------------------------------------- */

static z_stream *begin_packing(struct ws_deflate *deflate, unsigned bits) {
    assert(bits > 8 && bits <= BITS_MAX);
    z_stream **stream = &deflate->packers[bits];
    int result;
    if (*stream) {
        result = deflateReset(*stream);
    } else {
        *stream = create_stream();
        result =
            deflateInit2(*stream, LEVEL, Z_DEFLATED, -(int)bits, MEMORY_LEVEL, Z_DEFAULT_STRATEGY);
    }
    assert(result == Z_OK);
    return *stream;
}

/* The size of what it becomes, without the tail; 0 where that is more than room. */
static size_t pack_into(z_stream *stream, struct slice message, uint8_t *room, size_t size) {
    stream->next_in = (uint8_t *)message.data;
    stream->avail_in = (uInt)message.size;
    stream->next_out = room;
    stream->avail_out = (uInt)size;
    int result = deflate(stream, Z_SYNC_FLUSH);
    assert(result == Z_OK || result == Z_BUF_ERROR);
    return stream->avail_out > 0 ? size - stream->avail_out - TAIL_SIZE : 0;
}

static bool is_worth_it(struct ws_deflate *deflate, struct slice message, unsigned bits) {
    uint8_t room[SAMPLE / 4 * 3];
    if (message.size > WS_DEFLATE_MAX)
        return false;
    struct slice sample = slice_make(message.data, SAMPLE);
    return message.size < 4 * SAMPLE ||
           pack_into(begin_packing(deflate, bits), sample, room, sizeof room) > 0;
}

struct bytes *ws_deflate_pack(struct ws_deflate *deflate, struct slice message,
                              unsigned window_bits) {
    if (!is_worth_it(deflate, message, window_bits))
        return NULL;
    size_t most = message.size / 4 * 3;
    uint8_t *room = mem_alloc(most);
    size_t size = pack_into(begin_packing(deflate, window_bits), message, room, most);
    struct bytes *packed = size > 0 ? bytes_copy(slice_make(room, size)) : NULL;
    mem_free(room);
    return packed;
}

/* -- unpacking -------------------------------------------------------------------------------- */

static void begin_unpacking(struct ws_deflate *deflate) {
    int result;
    if (deflate->unpacker) {
        result = inflateReset(deflate->unpacker);
    } else {
        deflate->unpacker = create_stream();
        result = inflateInit2(deflate->unpacker, -BITS_MAX);
    }
    assert(result == Z_OK);
}

/* Some of what the stream has been given. 1 where there may be more, 0 where not, or as
 * ws_deflate_unpack. */
static int unpack_some(struct ws_deflate *deflate, size_t max, struct text *message) {
    z_stream *stream = deflate->unpacker;
    stream->next_out = deflate->room;
    stream->avail_out = ROOM;
    int result = inflate(stream, Z_SYNC_FLUSH);
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
        return -EINVAL;
    size_t size = ROOM - stream->avail_out;
    if (size > max - message->size)
        return -EMSGSIZE;
    text_append(message, slice_make(deflate->room, size));
    if (result != Z_STREAM_END)
        return stream->avail_out == 0;
    inflateReset(stream); /* a final block, behind which others may follow (section 7.2.3.4) */
    return stream->avail_in > 0;
}

static int unpack_piece(struct ws_deflate *deflate, struct slice piece, size_t max,
                        struct text *message) {
    deflate->unpacker->next_in = (uint8_t *)piece.data;
    deflate->unpacker->avail_in = (uInt)piece.size;
    int result;
    do
        result = unpack_some(deflate, max, message);
    while (result > 0);
    return result;
}

/* Whether what was unpacked ended where a block does, on a byte's border (zlib.h, data_type). */
static bool is_at_an_end(const z_stream *stream) {
    enum { BETWEEN_BLOCKS = 128, UNUSED_BITS = 63 };
    return stream->data_type & BETWEEN_BLOCKS && !(stream->data_type & UNUSED_BITS);
}

int ws_deflate_unpack(struct ws_deflate *deflate, struct slice packed, size_t max,
                      struct text *ret_message) {
    int result = 0;
    begin_unpacking(deflate);
    while (packed.size && result == 0) {
        size_t size = packed.size < PIECE_MAX ? packed.size : PIECE_MAX;
        result = unpack_piece(deflate, slice_make(packed.data, size), max, ret_message);
        packed = slice_from(packed, size);
    }
    if (result == 0)
        result = unpack_piece(deflate, slice_make(tail, sizeof tail), max, ret_message);
    if (result == 0 && !is_at_an_end(deflate->unpacker))
        result = -EINVAL;
    return result;
}
