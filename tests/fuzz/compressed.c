/* SPDX-License-Identifier: BSD-3-Clause */
/* compressed.c - libFuzzer target for compressed streams (base/compressed_stream.h).
 *
 *     make fuzz-compressed FUZZ_SECONDS=600
 *
 * An input is | flags | bytes |, the bits of flags being:
 *   1  the stream is one of replication, else an RDB      2  envelope and magic are put before the bytes,
 *   4  and are those of Zstandard, else of LZ4            8  the bytes are also packed and unpacked
 *
 * What comes out, and whether the stream is refused, must not depend on the pieces in which it arrives; and
 * the memory is bounded. */
#include "base/assert.h"
#include "base/compressed_stream.h"
#include "base/random.h"
#include "base/sds.h"

enum { REPLICATION = 1, PREFIX = 2, ZSTD = 4, PACK = 8 };

#define OUTPUT_MAX (1 << 20) /* a few bytes can be decoded to any number */
#define MEMORY_MAX (9 << 20)

struct unpacked {
    sds text;
    enum streamRead last;
    size_t left;
};

static struct unpacked unpackStream(enum streamKind kind, struct str in, size_t in_max, size_t out_max) {
    struct unpacked u = {.text = sdsempty(), .last = STREAM_MORE};
    struct streamReader *r = streamReaderNew(kind);
    char out[70000];
    while (sdslen(u.text) < OUTPUT_MAX && (u.last == STREAM_FULL || (u.last == STREAM_MORE && in.len))) {
        size_t n = 1 + randomBelow(in_max), size = 1 + randomBelow(out_max), written;
        struct str piece = strN(in.ptr, n < in.len ? n : in.len);
        size_t before = piece.len;
        u.last = streamRead(r, &piece, out, size, &written);
        in = strN(in.ptr + (before - piece.len), in.len - (before - piece.len));
        serverAssert(written <= size && (u.last != STREAM_MORE || !piece.len));
        serverAssert((u.last == STREAM_BAD) == (streamReaderError(r) != NULL));
        serverAssert(streamReaderMemory(r) <= MEMORY_MAX);
        u.text = sdscatlen(u.text, out, written);
    }
    u.left = in.len;
    streamReaderFree(r);
    return u;
}

static void unpackInPieces(enum streamKind kind, struct str in) {
    static const size_t sizes[] = {1, 100, 70000};
    struct unpacked first = unpackStream(kind, in, 70000, 70000);
    for (int i = 0; i < 3; i++) {
        struct unpacked u = unpackStream(kind, in, sizes[randomBelow(3)], sizes[i]);
        size_t n = sdslen(u.text) < sdslen(first.text) ? sdslen(u.text) : sdslen(first.text);
        if (n < OUTPUT_MAX) serverAssert(u.last == first.last);
        if (u.last == STREAM_ENDED && n < OUTPUT_MAX)
            serverAssert(u.left == first.left && sdslen(u.text) == sdslen(first.text));
        serverAssert(memcmp(u.text, first.text, n) == 0);
        sdsfree(u.text);
    }
    sdsfree(first.text);
}

static int collectPacked(void *priv, const char *p, size_t n) {
    sds *s = priv;
    *s = sdscatlen(*s, p, n);
    return 0;
}

static void packAndUnpack(enum streamCodec codec, enum streamKind kind, struct str text) {
    if (!streamCodecIsAvailable(codec)) return;
    sds packed = sdsempty();
    struct streamWriter *w = streamWriterNew(codec, kind, randomBelow(2), collectPacked, &packed);
    for (size_t at = 0; at < text.len;) {
        size_t n = 1 + randomBelow(text.len - at);
        streamWrite(w, text.ptr + at, n);
        if (randomBelow(2)) streamWriterFlush(w);
        at += n;
    }
    int error = streamWriterEnd(w);
    serverAssert(!error);
    streamWriterFree(w);
    struct unpacked u = unpackStream(kind, sdsview(packed), 100, 100);
    serverAssert(u.last == STREAM_ENDED && !u.left && strEq(sdsview(u.text), text));
    sdsfree(u.text);
    sdsfree(packed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1) return 0;
    unsigned flags = data[0];
    enum streamKind kind = flags & REPLICATION ? STREAM_KIND_REPLICATION : STREAM_KIND_RDB;
    struct str bytes = strN((const char *)data + 1, size - 1);
    sds in = sdsempty();
    randomSeed(size);
    if (flags & PREFIX) {
        const char kind_byte = (char)kind;
        in = sdscatlen(in, flags & ZSTD ? "VCS\1\2\0" : "VCS\1\1\0", STREAM_ENVELOPE - 1);
        in = sdscatlen(in, &kind_byte, 1);
        in = sdscatlen(in, flags & ZSTD ? "\x28\xb5\x2f\xfd" : "\x04\x22\x4d\x18", 4);
    }
    in = sdscatstr(in, bytes);
    unpackInPieces(kind, sdsview(in));
    if (flags & PACK) packAndUnpack(flags & ZSTD ? STREAM_ZSTD : STREAM_LZ4, kind, bytes);
    sdsfree(in);
    return 0;
}
