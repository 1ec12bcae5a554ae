/* SPDX-License-Identifier: BSD-3-Clause */
/* packed_stream.c - see packed_stream.h. */
#include "repl/packed_stream.h"

#include "base/assert.h"
#include "base/zmalloc.h"

#define KEEP_BYTES (64 * 1024) /* a larger buffer is given back when it is empty */

struct packedStream {
    struct streamWriter *writer;
    enum streamCodec codec;
    sds out;
    size_t sent; /* bytes of `out` that are sent */
};

static int packedStreamSink(void *priv, const char *bytes, size_t n) {
    struct packedStream *p = priv;
    p->out = sdscatlen(p->out, bytes, n);
    return 0;
}

struct packedStream *packedStreamNew(enum streamCodec codec) {
    serverAssert(codec != STREAM_PLAIN);
    struct packedStream *p = zcalloc(1, sizeof *p);
    p->codec = codec;
    p->out = sdsempty();
    p->writer = streamWriterNew(codec, STREAM_KIND_REPLICATION, true, packedStreamSink, p);
    return p;
}

void packedStreamFree(struct packedStream *p) {
    if (!p) return;
    streamWriterFree(p->writer);
    sdsfree(p->out);
    zfree(p);
}

bool packedStreamAdd(struct packedStream *p, struct str bytes) {
    return streamWrite(p->writer, bytes.ptr, bytes.len) == 0;
}

bool packedStreamFlush(struct packedStream *p) {
    return streamWriterFlush(p->writer) == 0;
}

struct str packedStreamUnsent(const struct packedStream *p) {
    return strN(p->out + p->sent, sdslen(p->out) - p->sent);
}

void packedStreamNoteSent(struct packedStream *p, size_t n) {
    p->sent += n;
    serverAssert(p->sent <= sdslen(p->out));
    if (p->sent < sdslen(p->out)) return;
    p->sent = 0;
    if (sdsAllocSize(p->out) > KEEP_BYTES) {
        sdsfree(p->out);
        p->out = sdsempty();
    }
    sdssetlen(p->out, 0);
}

enum streamCodec packedStreamCodec(const struct packedStream *p) {
    return p->codec;
}
uint64_t packedStreamIn(const struct packedStream *p) {
    return streamWriterIn(p->writer);
}
uint64_t packedStreamOut(const struct packedStream *p) {
    return streamWriterOut(p->writer);
}
size_t packedStreamMemory(const struct packedStream *p) {
    return sizeof *p + sdsAllocSize(p->out) + streamWriterMemory(p->writer);
}
