/* SPDX-License-Identifier: BSD-3-Clause */
/* compressed_zstd.c - Zstandard frames, by libzstd. Part of compressed_codec.h. */
#include <zstd.h>

#include "base/assert.h"
#include "base/compressed_codec.h"

#define ZSTD_WRITE_LEVEL     1 /* RDB files hardly get smaller at 2 to 4, which take 1.3 to 4 times the CPU */
#define ZSTD_READ_WINDOW_LOG 23 /* 8 MiB: what RFC 8878 wants every decoder to support */

/* ---- Encoding ---- */

static void *zstdNewEncoder(bool checksums) {
    ZSTD_CCtx *e = ZSTD_createCCtx();
    serverAssert(e);
    serverAssert(!ZSTD_isError(ZSTD_CCtx_setParameter(e, ZSTD_c_compressionLevel, ZSTD_WRITE_LEVEL)));
    serverAssert(!ZSTD_isError(ZSTD_CCtx_setParameter(e, ZSTD_c_checksumFlag, checksums)));
    return e;
}

static size_t zstdEncode(void *encoder, enum codecOp op, struct str *in, char *out, bool *done) {
    static const ZSTD_EndDirective directives[] = {
        [CODEC_WRITE] = ZSTD_e_continue, [CODEC_FLUSH] = ZSTD_e_flush, [CODEC_END] = ZSTD_e_end};
    size_t piece = in->len < CODEC_PIECE ? in->len : CODEC_PIECE;
    ZSTD_inBuffer from = {in->ptr, piece, 0};
    ZSTD_outBuffer to = {out, ZSTD_CStreamOutSize(), 0};
    size_t left = ZSTD_compressStream2(encoder, &to, &from, directives[op]);
    if (ZSTD_isError(left)) return CODEC_FAILED;
    *in = strN(in->ptr + from.pos, in->len - from.pos);
    *done = op == CODEC_WRITE ? in->len == 0 : left == 0;
    return to.pos;
}

static size_t zstdEncoderMemory(const void *encoder) {
    return ZSTD_sizeof_CCtx(encoder);
}

static void zstdFreeEncoder(void *encoder) {
    ZSTD_freeCCtx(encoder);
}

/* ---- Decoding ---- */

static void *zstdNewDecoder(void) {
    ZSTD_DCtx *d = ZSTD_createDCtx();
    serverAssert(d);
    serverAssert(!ZSTD_isError(ZSTD_DCtx_setParameter(d, ZSTD_d_windowLogMax, ZSTD_READ_WINDOW_LOG)));
    return d;
}

static const char *zstdRefuse(uint8_t descriptor) {
    (void)descriptor; /* libzstd refuses reserved bits and unknown dictionaries */
    return NULL;
}

static const char *zstdDecode(void *decoder, struct str *in, char *out, size_t size, size_t *written,
                              bool *ended) {
    ZSTD_inBuffer from = {in->ptr, in->len, 0};
    ZSTD_outBuffer to = {out, size, 0};
    size_t left = ZSTD_decompressStream(decoder, &to, &from);
    *written = 0;
    if (ZSTD_isError(left)) return ZSTD_getErrorName(left);
    *written = to.pos;
    *in = strN(in->ptr + from.pos, in->len - from.pos);
    *ended = left == 0;
    return NULL;
}

static size_t zstdDecoderMemory(const void *decoder) {
    return ZSTD_sizeof_DCtx(decoder);
}

static void zstdFreeDecoder(void *decoder) {
    ZSTD_freeDCtx(decoder);
}

const struct codec codecZstd = {.name = "zstd",
                                .magic = {0x28, 0xb5, 0x2f, 0xfd},
                                .available = true,
                                .room = ZSTD_CStreamOutSize,
                                .newEncoder = zstdNewEncoder,
                                .encode = zstdEncode,
                                .encoderMemory = zstdEncoderMemory,
                                .freeEncoder = zstdFreeEncoder,
                                .newDecoder = zstdNewDecoder,
                                .refuse = zstdRefuse,
                                .decode = zstdDecode,
                                .decoderMemory = zstdDecoderMemory,
                                .freeDecoder = zstdFreeDecoder};
