/* SPDX-License-Identifier: BSD-3-Clause */
/* rio.c - the rare paths of streams: full buffers, empty buffers, ends and errors. */
#define _GNU_SOURCE
#include "data/rdb/rio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/crc.h"
#include "base/fd.h"
#include "base/zmalloc.h"

/* ---- Writing ---- */

void rioWriterInit(struct rioWriter *w, int (*sink)(void *priv, const char *p, size_t n), void *priv) {
    serverAssert(sink);
    *w = (struct rioWriter){.buf = zmalloc(RIO_BUFFER), .size = RIO_BUFFER, .sink = sink, .priv = priv};
}

void rioWriterFree(struct rioWriter *w) {
    streamWriterFree(w->frame);
    zfree(w->buf);
    w->frame = NULL;
    w->buf = NULL;
}

static void rioPassToSink(struct rioWriter *w, const char *p, size_t n) {
    if (n == 0) return;
    if (w->checksum) w->crc = crc64(w->crc, p, n);
    if (!w->error) w->error = w->frame ? streamWrite(w->frame, p, n) : w->sink(w->priv, p, n);
    w->flushed += n;
}

bool rioFlush(struct rioWriter *w) {
    debugAssert(w->used <= w->size);
    rioPassToSink(w, w->buf, w->used);
    w->used = 0;
    return w->error == 0;
}

void rioWriteSlow(struct rioWriter *w, const void *p, size_t n) {
    rioFlush(w);
    if (n >= w->size) {
        rioPassToSink(w, p, n);
    } else {
        memcpy(w->buf, p, n);
        w->used = n;
    }
}

char *rioRoom(struct rioWriter *w, size_t n) {
    serverAssert(n <= w->size);
    if (n > w->size - w->used) rioFlush(w);
    return w->buf + w->used;
}

uint64_t rioWriterCrc(struct rioWriter *w) {
    rioFlush(w);
    return w->crc;
}

void rioWriterStartFrame(struct rioWriter *w, enum streamCodec codec, enum streamKind kind, bool checksums) {
    serverAssert(!w->frame);
    rioFlush(w);
    w->frame = streamWriterNew(codec, kind, checksums, w->sink, w->priv);
}

bool rioWriterEndFrame(struct rioWriter *w) {
    serverAssert(w->frame);
    if (rioFlush(w)) w->error = streamWriterEnd(w->frame);
    streamWriterFree(w->frame);
    w->frame = NULL;
    return w->error == 0;
}

int rioSinkSds(void *priv, const char *p, size_t n) {
    sds *s = priv;
    *s = sdscatlen(*s, p, n);
    return 0;
}

int rioSinkFile(void *priv, const char *p, size_t n) {
    struct rioFile *f = priv;
    if (!fdWriteAll(f->fd, strN(p, n))) return errno;
    f->unsynced += n;
    if (f->sync_bytes && f->unsynced >= f->sync_bytes) {
        if (fdatasync(f->fd) != 0) return errno;
        f->unsynced = 0;
    }
    return 0;
}

/* ---- Reading ---- */

/* A frame that is being read. Its compressed bytes come from the reader's source, or from memory. */
struct rioFrame {
    struct streamReader *stream;
    struct str in;       /* compressed bytes that have been read and not decoded */
    char *buf;           /* where `in` is; NULL when reading memory */
    uint64_t end_offset; /* position of the end of `in` in the source */
    uint64_t size;       /* of the source */
    bool ended;
};

void rioReaderInit(struct rioReader *r, ssize_t (*source)(void *priv, char *p, size_t n), void *priv,
                   uint64_t size) {
    serverAssert(source);
    *r = (struct rioReader){.buf = zmalloc(RIO_BUFFER), .source = source, .priv = priv, .size = size};
    r->at = r->end = r->crc_at = r->buf;
}

void rioReaderInitMemory(struct rioReader *r, struct str bytes) {
    serverAssert(bytes.ptr || !bytes.len);
    *r = (struct rioReader){.at = bytes.ptr,
                            .end = bytes.ptr + bytes.len,
                            .crc_at = bytes.ptr,
                            .end_offset = bytes.len,
                            .size = bytes.len};
}

static void rioFreeFrame(struct rioReader *r) {
    if (!r->frame) return;
    streamReaderFree(r->frame->stream);
    zfree(r->frame->buf);
    zfree(r->frame);
    r->frame = NULL;
}

void rioReaderFree(struct rioReader *r) {
    rioFreeFrame(r);
    zfree(r->buf);
    sdsfree(r->error);
    r->buf = NULL;
    r->error = NULL;
}

bool rioFail(struct rioReader *r, const char *fmt, ...) {
    if (!r->error) {
        va_list ap;
        va_start(ap, fmt);
        r->error = sdscatvprintf(sdsempty(), fmt, ap);
        va_end(ap);
        r->error_offset = rioOffset(r);
    }
    r->end_offset -= (uint64_t)(r->end - r->at);
    r->end = r->at; /* every later read takes the slow path and fails there */
    return false;
}

static void rioChecksumUpTo(struct rioReader *r, const char *p) {
    if (r->checksum && p > r->crc_at) r->crc = crc64(r->crc, r->crc_at, (size_t)(p - r->crc_at));
    r->crc_at = p;
}

uint64_t rioReaderCrc(struct rioReader *r) {
    rioChecksumUpTo(r, r->at);
    return r->crc;
}

/* Reads as many bytes as the source returns at once, at least one, into [p, p + n). Returns 0 at the end or
 * on an error. */
static size_t rioPullSource(struct rioReader *r, char *p, size_t n) {
    if (r->error || !r->source) return 0;
    ssize_t got;
    do got = r->source(r->priv, p, n);
    while (got < 0 && errno == EINTR);
    if (got < 0) rioFail(r, "read error: %s", strerror(errno));
    return got > 0 ? (size_t)got : 0;
}

/* Reads compressed bytes. Returns false when there are none. */
static bool rioFrameFill(struct rioReader *r) {
    struct rioFrame *f = r->frame;
    if (!f->buf) return false;
    size_t got = rioPullSource(r, f->buf, RIO_BUFFER);
    f->in = strN(f->buf, got);
    f->end_offset += got;
    return got > 0;
}

/* Decodes at least one byte. Returns 0 at the end of the frame or of the source, or on an error. */
static size_t rioPullFrame(struct rioReader *r, char *p, size_t n) {
    struct rioFrame *f = r->frame;
    size_t written = 0;
    while (!r->error && !f->ended && !written) {
        enum streamRead how = streamRead(f->stream, &f->in, p, n, &written);
        f->ended = how == STREAM_ENDED;
        if (how == STREAM_BAD) {
            rioFail(r, "%s", streamReaderError(f->stream));
            return 0;
        }
        if (how == STREAM_MORE && !written && !rioFrameFill(r)) return 0;
    }
    return written;
}

static size_t rioPull(struct rioReader *r, char *p, size_t n) {
    return r->frame ? rioPullFrame(r, p, n) : rioPullSource(r, p, n);
}

/* Moves the unread bytes to the front of the buffer and reads until there are n of them. */
static bool rioRefill(struct rioReader *r, size_t n) {
    if (!r->buf) return false;
    rioChecksumUpTo(r, r->at);
    size_t left = (size_t)(r->end - r->at);
    memmove(r->buf, r->at, left);
    r->at = r->crc_at = r->buf;
    r->end = r->buf + left;
    while ((size_t)(r->end - r->at) < n) {
        size_t got = rioPull(r, r->buf + (r->end - r->at), RIO_BUFFER - (size_t)(r->end - r->at));
        if (got == 0) return false;
        r->end += got;
        r->end_offset += got;
    }
    if (r->progress) r->progress(r);
    return true;
}

static bool rioFailShort(struct rioReader *r) {
    if (!r->error) r->ended = true;
    return rioFail(r, "unexpected end of data");
}

bool rioReadSlow(struct rioReader *r, void *dst, size_t n) {
    debugAssert(n > (size_t)(r->end - r->at));
    char *p = dst;
    while (n > RIO_BUFFER) { /* a long read: what is in the buffer, then in pieces */
        size_t part = (size_t)(r->end - r->at);
        if (part == 0) {
            if (!rioRefill(r, 1)) return rioFailShort(r);
            continue;
        }
        if (part > n) part = n;
        memcpy(p, r->at, part);
        r->at += part;
        p += part;
        n -= part;
    }
    if (n > (size_t)(r->end - r->at) && !rioRefill(r, n)) return rioFailShort(r);
    memcpy(p, r->at, n);
    r->at += n;
    return true;
}

const char *rioViewSlow(struct rioReader *r, size_t n) {
    serverAssert(n <= RIO_BUFFER || !r->buf);
    if (!rioRefill(r, n)) {
        rioFailShort(r);
        return NULL;
    }
    r->at += n;
    return r->at - n;
}

uint64_t rioPhysicalOffset(const struct rioReader *r) {
    return r->frame ? r->frame->end_offset - r->frame->in.len : rioOffset(r);
}

const char *rioPeek(struct rioReader *r, size_t n) {
    serverAssert(n <= RIO_BUFFER);
    if (n > (size_t)(r->end - r->at) && !r->error) rioRefill(r, n);
    return n <= (size_t)(r->end - r->at) ? r->at : NULL; /* progress may have failed it */
}

/* The buffer, with what has been read of the frame, becomes that of the frame. */
void rioReaderStartFrame(struct rioReader *r, enum streamKind kind) {
    serverAssert(!r->frame && !r->error);
    struct rioFrame *f = zmalloc(sizeof(*f));
    *f = (struct rioFrame){.stream = streamReaderNew(kind),
                           .in = strN(r->at, (size_t)(r->end - r->at)),
                           .buf = r->buf,
                           .end_offset = r->end_offset,
                           .size = r->size};
    r->frame = f;
    r->buf = zmalloc(RIO_BUFFER);
    r->at = r->end = r->crc_at = r->buf;
    r->end_offset = 0;
    r->size = RIO_SIZE_UNKNOWN;
}

bool rioReaderEndFrame(struct rioReader *r) {
    struct rioFrame *f = r->frame;
    serverAssert(f);
    if (r->error) return false;
    if (!rioAtEnd(r)) return rioFail(r, "there is more in the compressed frame than its contents");
    if (r->error) return false;
    if (!f->ended) {
        r->ended = true;
        return rioFail(r, "the compressed frame is incomplete");
    }
    zfree(r->buf);
    r->buf = f->buf;
    r->at = r->crc_at = f->in.ptr;
    r->end = f->in.ptr + f->in.len;
    r->end_offset = f->end_offset;
    r->size = f->size;
    f->buf = NULL;
    rioFreeFrame(r);
    return true;
}

bool rioAtEnd(struct rioReader *r) {
    return r->error || (r->at == r->end && !rioRefill(r, 1));
}

ssize_t rioSourceFd(void *priv, char *p, size_t n) {
    return read(*(int *)priv, p, n);
}
