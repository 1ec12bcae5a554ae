/* SPDX-License-Identifier: BSD-3-Clause */
/* compressed_lz4.c - LZ4 frames, by liblz4. Part of compressed_codec.h. */
#include <lz4frame.h>

#include "base/assert.h"
#include "base/compressed_codec.h"
#include "base/zmalloc.h"

#define LZ4_HISTORY      (64 * 1024) /* bytes that a linked block may refer back to */
#define LZ4_STREAM_STATE 16416       /* what the library calls LZ4_STREAM_MINSIZE */
#define LZ4_DICTIONARY   0x01        /* the frame needs a dictionary, in the descriptor's first byte */

struct lz4Encoder {
    LZ4F_cctx *context;
    LZ4F_preferences_t preferences;
    bool begun;
};

struct lz4Decoder {
    LZ4F_dctx *context;
    size_t block; /* bytes of a block, once the frame's header has been read */
    bool linked;
};

/* ---- Encoding ---- */

static LZ4F_preferences_t lz4Preferences(bool checksums) {
    return (LZ4F_preferences_t){
        .frameInfo = {.blockSizeID = LZ4F_max64KB,
                      .blockMode = LZ4F_blockLinked,
                      .contentChecksumFlag = checksums ? LZ4F_contentChecksumEnabled : LZ4F_noContentChecksum,
                      .blockChecksumFlag = checksums ? LZ4F_blockChecksumEnabled : LZ4F_noBlockChecksum}};
}

static size_t lz4Room(void) {
    LZ4F_preferences_t preferences = lz4Preferences(true);
    return LZ4F_compressBound(CODEC_PIECE, &preferences);
}

static void *lz4NewEncoder(bool checksums) {
    struct lz4Encoder *e = zmalloc(sizeof(*e));
    *e = (struct lz4Encoder){.preferences = lz4Preferences(checksums)};
    serverAssert(!LZ4F_isError(LZ4F_createCompressionContext(&e->context, LZ4F_VERSION)));
    return e;
}

static size_t lz4Encode(void *encoder, enum codecOp op, struct str *in, char *out, bool *done) {
    struct lz4Encoder *e = encoder;
    size_t room = lz4Room(), n;
    if (!e->begun) {
        e->begun = true;
        *done = false;
        n = LZ4F_compressBegin(e->context, out, room, &e->preferences);
    } else if (op == CODEC_WRITE) {
        size_t piece = in->len < CODEC_PIECE ? in->len : CODEC_PIECE;
        n = LZ4F_compressUpdate(e->context, out, room, in->ptr, piece, NULL);
        *in = strN(in->ptr + piece, in->len - piece);
        *done = in->len == 0;
    } else {
        *done = true;
        n = op == CODEC_FLUSH ? LZ4F_flush(e->context, out, room, NULL)
                              : LZ4F_compressEnd(e->context, out, room, NULL);
    }
    return LZ4F_isError(n) ? CODEC_FAILED : n;
}

static size_t lz4EncoderMemory(const void *encoder) {
    const struct lz4Encoder *e = encoder;
    return sizeof(*e) + LZ4_STREAM_STATE + (e->begun ? CODEC_PIECE + 2 * LZ4_HISTORY : 0);
}

static void lz4FreeEncoder(void *encoder) {
    struct lz4Encoder *e = encoder;
    LZ4F_freeCompressionContext(e->context);
    zfree(e);
}

/* ---- Decoding ---- */

static void *lz4NewDecoder(void) {
    struct lz4Decoder *d = zcalloc(1, sizeof(*d));
    serverAssert(!LZ4F_isError(LZ4F_createDecompressionContext(&d->context, LZ4F_VERSION)));
    return d;
}

static const char *lz4Refuse(uint8_t descriptor) {
    return descriptor & LZ4_DICTIONARY ? "the LZ4 frame needs a dictionary" : NULL;
}

static void lz4LearnFrame(struct lz4Decoder *d) {
    static const size_t sizes[] = {64 << 10, 256 << 10, 1 << 20, 4 << 20};
    LZ4F_frameInfo_t info = {0};
    size_t none = 0;
    if (LZ4F_isError(LZ4F_getFrameInfo(d->context, &info, NULL, &none))) return;
    serverAssert(info.blockSizeID >= LZ4F_max64KB && info.blockSizeID <= LZ4F_max4MB);
    d->block = sizes[info.blockSizeID - LZ4F_max64KB];
    d->linked = info.blockMode == LZ4F_blockLinked;
}

static const char *lz4Decode(void *decoder, struct str *in, char *out, size_t size, size_t *written,
                             bool *ended) {
    struct lz4Decoder *d = decoder;
    size_t used = in->len;
    *written = size;
    size_t left = LZ4F_decompress(d->context, out, written, in->ptr, &used, NULL);
    if (LZ4F_isError(left)) {
        *written = 0;
        return LZ4F_getErrorName(left);
    }
    *in = strN(in->ptr + used, in->len - used);
    *ended = left == 0;
    if (!d->block && !*ended) lz4LearnFrame(d);
    return NULL;
}

static size_t lz4DecoderMemory(const void *decoder) {
    const struct lz4Decoder *d = decoder;
    return sizeof(*d) + 2 * d->block + (d->linked ? 2 * LZ4_HISTORY : 0);
}

static void lz4FreeDecoder(void *decoder) {
    struct lz4Decoder *d = decoder;
    LZ4F_freeDecompressionContext(d->context);
    zfree(d);
}

const struct codec codecLz4 = {.name = "lz4",
                               .magic = {0x04, 0x22, 0x4d, 0x18},
                               .available = true,
                               .room = lz4Room,
                               .newEncoder = lz4NewEncoder,
                               .encode = lz4Encode,
                               .encoderMemory = lz4EncoderMemory,
                               .freeEncoder = lz4FreeEncoder,
                               .newDecoder = lz4NewDecoder,
                               .refuse = lz4Refuse,
                               .decode = lz4Decode,
                               .decoderMemory = lz4DecoderMemory,
                               .freeDecoder = lz4FreeDecoder};
