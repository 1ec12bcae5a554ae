/* SPDX-License-Identifier: BSD-3-Clause */
/* rio.h - streams of bytes, out and in: over a file, a socket, or memory.
 *
 *     struct rioWriter   | buffer ......used|....size |  -> sink(bytes)       when full, and at rioFlush
 *     struct rioReader   | buffer ..at ====== end |....  <- source(room)      when what is left is not enough
 *
 * Code that encodes or decodes works on the buffer, inline, and a function is called once per buffer. The
 * CRC-64 at the end of files is computed over whole buffers too, not over the pieces.
 *
 * Between rioWriterStartFrame and rioWriterEndFrame everything written goes through a compressed frame
 * (base/compressed_stream.h) to the sink; between rioReaderStartFrame and rioReaderEndFrame everything read
 * comes out of one. Before and behind, the same stream is plain.
 *
 * Errors stick. After the first one a writer drops what it is given and every read fails, so that callers may
 * check once at the end (writer) or at each result that they use (reader). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "base/compressed_stream.h"
#include "base/sds.h"
#include "base/str.h"

#define RIO_BUFFER       (64 * 1024) /* also the longest rioView */
#define RIO_SIZE_UNKNOWN UINT64_MAX

/* ---- Writing ---- */
struct rioWriter {
    char *buf;
    size_t used, size;
    uint64_t flushed; /* bytes that have gone to the sink */
    bool checksum;    /* keep `crc` */
    uint64_t crc;     /* CRC-64 of the flushed bytes */
    int error;        /* errno of the first failure, or 0 */
    /* These are for encoders (data/rdb/rdb.h): */
    int version;                    /* of the format to be written; 0: any */
    bool strict;                    /* what `version` does not have is an error */
    bool plain_strings;             /* strings are never compressed */
    bool packs_strings;             /* else: compressed, whatever rdbcompression says; false: as it says */
    const struct evictClock *clock; /* for the marks of use of keys (evict_marks.h); NULL: the present one */
    bool lzf_learns;                /* skip compression of strings while it fails */
    uint8_t lzf_failed, lzf_skips;  /* failures in a row; how many strings are not tried now */
    int (*sink)(void *priv, const char *p, size_t n); /* takes all n bytes, or returns an errno */
    void *priv;
    struct streamWriter *frame; /* NULL: what is written is not compressed */
};
void rioWriterInit(struct rioWriter *w, int (*sink)(void *priv, const char *p, size_t n), void *priv);
void rioWriterFree(struct rioWriter *w); /* what is in the buffer is dropped */
bool rioFlush(struct rioWriter *w);      /* everything to the sink; false: w->error */
void rioWriteSlow(struct rioWriter *w, const void *p, size_t n);
static inline void rioWrite(struct rioWriter *w, const void *p, size_t n) {
    if (n <= w->size - w->used) {
        memcpy(w->buf + w->used, p, n);
        w->used += n;
    } else {
        rioWriteSlow(w, p, n);
    }
}
static inline void rioWriteByte(struct rioWriter *w, uint8_t b) {
    rioWrite(w, &b, 1);
}
static inline void rioWriteStr(struct rioWriter *w, struct str s) {
    rioWrite(w, s.ptr, s.len);
}
/* Returns space for n <= RIO_BUFFER bytes to be filled in place; rioWrote(w, how many) has to follow. */
char *rioRoom(struct rioWriter *w, size_t n);
static inline void rioWrote(struct rioWriter *w, size_t n) {
    w->used += n;
}
static inline uint64_t rioWritten(const struct rioWriter *w) {
    return w->flushed + w->used;
}
/* Returns the CRC-64 of everything written so far (flushes). */
uint64_t rioWriterCrc(struct rioWriter *w);

/* Compress everything that is written from here on until the end of the frame. `checksums`: the frame has its
 * own. False: w->error. */
void rioWriterStartFrame(struct rioWriter *w, enum streamCodec codec, enum streamKind kind, bool checksums);
bool rioWriterEndFrame(struct rioWriter *w);

/* A sink that appends to a string: priv is an sds *. */
int rioSinkSds(void *priv, const char *p, size_t n);
/* A sink into a file. With sync_bytes, the file is synced each time that many bytes have been written, so
 * that the last fsync is short and the disk's queue never long. */
struct rioFile {
    int fd;
    uint64_t sync_bytes, unsynced;
};
int rioSinkFile(void *priv, const char *p, size_t n);

/* ---- Reading ---- */
struct rioReader {
    const char *at, *end; /* unread bytes */
    char *buf;            /* NULL when reading memory */
    uint64_t end_offset;  /* position of `end` in the stream */
    uint64_t size;        /* of the whole stream, or RIO_SIZE_UNKNOWN */
    bool checksum;
    uint64_t crc; /* of the bytes before crc_at */
    const char *crc_at;
    ssize_t (*source)(void *priv, char *p, size_t n); /* returns what read(2) returns */
    void *priv;
    void (*progress)(struct rioReader *r); /* after each refill; may be NULL */
    sds error;                             /* why reading failed; NULL: it has not */
    uint64_t error_offset;                 /* where it failed */
    bool ended;                            /* it failed because there were fewer bytes than needed */
    struct rioFrame *frame;                /* NULL: what is read is not compressed */
};
void rioReaderInit(struct rioReader *r, ssize_t (*source)(void *priv, char *p, size_t n), void *priv,
                   uint64_t size);
void rioReaderInitMemory(struct rioReader *r, struct str bytes); /* bytes stay the caller's */
void rioReaderFree(struct rioReader *r);
/* Returns the position of the next byte; within a frame, from its beginning and not compressed. */
static inline uint64_t rioOffset(const struct rioReader *r) {
    return r->end_offset - (uint64_t)(r->end - r->at);
}
/* Returns how many bytes of the source have been used: compressed ones within a frame, else rioOffset. */
uint64_t rioPhysicalOffset(const struct rioReader *r);
/* Returns at most how many bytes are still to come. */
static inline uint64_t rioLeft(const struct rioReader *r) {
    return r->size == RIO_SIZE_UNKNOWN ? UINT64_MAX : r->size - rioOffset(r);
}
static inline bool rioFailed(const struct rioReader *r) {
    return r->error != NULL;
}
/* Sets the error: the data is not what it should be. Only the first call counts. Always returns false. */
bool rioFail(struct rioReader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool rioReadSlow(struct rioReader *r, void *dst, size_t n);
const char *rioViewSlow(struct rioReader *r, size_t n);
/* Reads exactly n bytes; returns false and sets the error when there are fewer. */
static inline bool rioRead(struct rioReader *r, void *dst, size_t n) {
    if (n <= (size_t)(r->end - r->at)) {
        memcpy(dst, r->at, n);
        r->at += n;
        return true;
    }
    return rioReadSlow(r, dst, n);
}
static inline bool rioReadByte(struct rioReader *r, uint8_t *b) {
    return rioRead(r, b, 1);
}
/* Returns the next n bytes (n <= RIO_BUFFER, or any number in memory) in place, valid until the next call.
 * NULL when there are fewer. */
static inline const char *rioView(struct rioReader *r, size_t n) {
    if (n <= (size_t)(r->end - r->at)) {
        r->at += n;
        return r->at - n;
    }
    return rioViewSlow(r, n);
}
/* Returns the next n <= RIO_BUFFER bytes without using them, or NULL when there are fewer, which is no error.
 */
const char *rioPeek(struct rioReader *r, size_t n);
/* Reads on within the frame whose envelope comes next; when none comes, the first read fails. The size of its
 * contents is not known (r->size). */
void rioReaderStartFrame(struct rioReader *r, enum streamKind kind);
/* Reads on behind the frame, whose contents must have been read to their end. False: there are more, or the
 * frame is incomplete or damaged (r->error). */
bool rioReaderEndFrame(struct rioReader *r);
bool rioAtEnd(struct rioReader *r); /* no byte is left (reads ahead) */
/* Returns the CRC-64 of everything read so far. */
uint64_t rioReaderCrc(struct rioReader *r);
ssize_t rioSourceFd(void *priv, char *p, size_t n); /* priv: an int *fd */
