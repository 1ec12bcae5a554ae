/* SPDX-License-Identifier: BSD-3-Clause */
/* decoding.c - see decoding.h.
 *
 * The connection keeps its address and its own functions; only its table of functions is replaced by one that
 * belongs to it alone, with the old table behind it. Bytes that are here and not decoded yet, or decoded
 * inside the library and not taken yet, are input that poll does not see, so the connection is marked as
 * pending (connection.h). */
#include "net/decoding.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/zmalloc.h"

#define RAW_BYTES (32 * 1024)

struct decoding {
    struct connType type; /* first: conn->type points at it */
    const struct connType *inner;
    struct streamReader *reader; /* NULL: the first bytes have not come */
    enum streamKind kind;
    sds raw;       /* bytes of the peer */
    size_t raw_at; /* the first one that is not decoded */
    bool full;     /* the reader may have more output without more input */
    bool ended, plain;
    const char *error;
};

static ssize_t decodingRead(struct connection *conn, void *buf, size_t len);

static struct decoding *decodingOf(const struct connection *conn) {
    return conn->type->read == decodingRead ? (struct decoding *)conn->type : NULL;
}

static struct str decodingRaw(const struct decoding *d) {
    return strN(d->raw + d->raw_at, sdslen(d->raw) - d->raw_at);
}

static bool decodingHasInput(const struct decoding *d) {
    return d->full || d->ended || d->raw_at < sdslen(d->raw);
}

/* The inner type has unmarked the connection if nothing more is in its own buffers. */
static void decodingNotePending(struct connection *conn, const struct decoding *d) {
    if (conn->el && conn->read_handler && decodingHasInput(d)) connSetPending(conn, true);
}

/* ---- The end ---- */

static void decodingFree(struct decoding *d) {
    if (d->reader) streamReaderFree(d->reader);
    sdsfree(d->raw);
    zfree(d);
}

/* The connection has its old functions again. */
static void decodingRemove(struct connection *conn, struct decoding *d) {
    conn->type = d->inner;
    decodingFree(d);
}

static void decodingClose(struct connection *conn) {
    decodingRemove(conn, decodingOf(conn));
    conn->type->close(conn);
}

/* ---- Reading ---- */

/* Reads more from the peer. Returns what the inner type does. */
static ssize_t decodingFetch(struct connection *conn, struct decoding *d) {
    if (d->raw_at == sdslen(d->raw)) {
        sdssetlen(d->raw, 0);
        d->raw_at = 0;
    }
    d->raw = sdsMakeRoomFor(d->raw, RAW_BYTES);
    ssize_t n = d->inner->read(conn, d->raw + sdslen(d->raw), RAW_BYTES);
    if (n > 0) sdssetlen(d->raw, sdslen(d->raw) + (size_t)n);
    return n;
}

/* Decides what the input is, if enough of it has come. */
static void decodingDetect(struct decoding *d) {
    struct str raw = decodingRaw(d);
    switch (streamDetect(raw.ptr, raw.len)) {
    case STREAM_IS_PLAIN: d->plain = raw.len > 0; return;
    case STREAM_MAY_BE_COMPRESSED: return;
    case STREAM_IS_COMPRESSED: d->reader = streamReaderNew(d->kind); return;
    }
}

static ssize_t decodingRefuse(struct connection *conn, struct decoding *d) {
    const char *error = streamReaderError(d->reader);
    d->error = error ? error : "the frame has ended";
    errno = conn->last_errno = EBADMSG;
    return -1;
}

/* Returns how many bytes were decoded; 0: more input is needed; -1: the stream is refused. What was decoded
 * before an error is handed over first. */
static ssize_t decodingDecode(struct connection *conn, struct decoding *d, void *buf, size_t len) {
    struct str in = decodingRaw(d);
    size_t before = in.len, written;
    enum streamRead got = streamRead(d->reader, &in, buf, len, &written);
    d->raw_at += before - in.len;
    d->full = got == STREAM_FULL;
    d->ended = got == STREAM_ENDED || got == STREAM_BAD;
    if (written) return (ssize_t)written;
    return d->ended ? decodingRefuse(conn, d) : 0;
}

/* Hands over the first bytes of a plain stream, and with the last of them the connection. */
static ssize_t decodingPassPlain(struct connection *conn, struct decoding *d, void *buf, size_t len) {
    struct str raw = decodingRaw(d);
    size_t n = raw.len < len ? raw.len : len;
    memcpy(buf, raw.ptr, n);
    d->raw_at += n;
    if (n == raw.len) decodingRemove(conn, d);
    return (ssize_t)n;
}

static ssize_t decodingReadOnce(struct connection *conn, struct decoding *d, void *buf, size_t len) {
    for (;;) {
        if (d->ended) return decodingRefuse(conn, d);
        if (!d->reader) decodingDetect(d);
        if (d->plain) return decodingPassPlain(conn, d, buf, len);
        ssize_t n = d->reader && decodingHasInput(d) ? decodingDecode(conn, d, buf, len) : 0;
        if (n) return n;
        n = decodingFetch(conn, d);
        if (n <= 0) return n;
    }
}

static ssize_t decodingRead(struct connection *conn, void *buf, size_t len) {
    struct decoding *d = decodingOf(conn);
    serverAssert(d && len > 0);
    ssize_t n = decodingReadOnce(conn, d, buf, len);
    int saved = errno;
    if (decodingOf(conn)) decodingNotePending(conn, d);
    errno = saved;
    return n;
}

static void decodingSetReadHandler(struct connection *conn, connHandler *fn) {
    struct decoding *d = decodingOf(conn);
    d->inner->setReadHandler(conn, fn);
    decodingNotePending(conn, d);
}

/* Such a connection stays with its loop. */
static void decodingDetach(struct connection *conn) {
    (void)conn;
    serverPanic("a connection whose input is decoded cannot move to another loop");
}

/* ---- Public API ---- */

void connDecode(struct connection *conn, enum streamKind kind, struct str first) {
    serverAssert(!decodingOf(conn));
    struct decoding *d = zcalloc(1, sizeof *d);
    d->inner = conn->type;
    d->type = *conn->type;
    d->type.read = decodingRead;
    d->type.close = decodingClose;
    d->type.setReadHandler = decodingSetReadHandler;
    d->type.detach = decodingDetach;
    d->kind = kind;
    d->raw = sdsnewstr(first);
    conn->type = &d->type;
    decodingNotePending(conn, d);
}

enum streamCodec connDecodingCodec(const struct connection *conn) {
    const struct decoding *d = decodingOf(conn);
    return d && d->reader ? streamReaderCodec(d->reader) : STREAM_PLAIN;
}

const char *connDecodingError(const struct connection *conn) {
    const struct decoding *d = decodingOf(conn);
    return d ? d->error : NULL;
}

size_t connDecodingMemory(const struct connection *conn) {
    const struct decoding *d = decodingOf(conn);
    if (!d) return 0;
    return sizeof *d + sdsAllocSize(d->raw) + (d->reader ? streamReaderMemory(d->reader) : 0);
}
