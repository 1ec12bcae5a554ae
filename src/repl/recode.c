/* SPDX-License-Identifier: BSD-3-Clause */
/* recode.c - see recode.h. */
#include "repl/recode.h"

#include <errno.h>

#include "base/assert.h"
#include "base/zmalloc.h"

#define PIECE (64 * 1024) /* bytes that are decoded at once */

struct recode {
    enum streamCodec to;
    bool checksums, detected;
    int (*sink)(void *priv, const char *bytes, size_t n);
    sds head;                    /* the first bytes, until they tell what follows */
    struct streamReader *reader; /* NULL: the input passes undecoded */
    struct streamWriter *writer; /* NULL: the output passes unencoded */
    bool ended, bad;
    char piece[PIECE];
};

struct recode *recodeNew(enum streamCodec to, bool checksums,
                         int (*sink)(void *priv, const char *bytes, size_t n)) {
    struct recode *r = zcalloc(1, sizeof *r);
    r->to = to;
    r->checksums = checksums;
    r->sink = sink;
    r->head = sdsempty();
    return r;
}

void recodeFree(struct recode *r) {
    if (!r) return;
    if (r->reader) streamReaderFree(r->reader);
    if (r->writer) streamWriterFree(r->writer);
    sdsfree(r->head);
    zfree(r);
}

/* A codec that is not known is refused by the reader, and an envelope that is not complete by the loader. */
static void recodeStart(struct recode *r) {
    enum streamCodec from = streamEnvelopeCodec(r->head, sdslen(r->head));
    r->detected = true;
    if (from == r->to) return;
    if (from != STREAM_PLAIN) r->reader = streamReaderNew(STREAM_KIND_RDB);
    if (r->to != STREAM_PLAIN)
        r->writer = streamWriterNew(r->to, STREAM_KIND_RDB, r->checksums, r->sink, NULL);
}

static int recodeOutput(struct recode *r, const char *bytes, size_t n) {
    return r->writer ? streamWrite(r->writer, bytes, n) : r->sink(NULL, bytes, n);
}

/* Bytes after the frame are dropped: a plain file ends where its frame ends. */
static int recodeDecode(struct recode *r, struct str in) {
    enum streamRead got = STREAM_FULL;
    while (!r->ended && (in.len || got == STREAM_FULL)) {
        size_t written;
        got = streamRead(r->reader, &in, r->piece, PIECE, &written);
        r->bad = got == STREAM_BAD;
        r->ended = got == STREAM_ENDED || r->bad;
        int code = written && !r->bad ? recodeOutput(r, r->piece, written) : 0;
        if (code) return code;
    }
    return r->bad ? EBADMSG : 0;
}

static int recodePass(struct recode *r, struct str bytes) {
    return r->reader ? recodeDecode(r, bytes) : recodeOutput(r, bytes.ptr, bytes.len);
}

static int recodePassHead(struct recode *r) {
    recodeStart(r);
    int code = recodePass(r, sdsview(r->head));
    sdssetlen(r->head, 0);
    return code;
}

int recodeWrite(struct recode *r, struct str bytes) {
    if (r->bad) return EBADMSG;
    if (r->detected) return recodePass(r, bytes);
    r->head = sdscatstr(r->head, bytes);
    bool plain = streamDetect(r->head, sdslen(r->head)) == STREAM_IS_PLAIN;
    return sdslen(r->head) && (plain || sdslen(r->head) >= STREAM_ENVELOPE) ? recodePassHead(r) : 0;
}

int recodeEnd(struct recode *r) {
    int code = r->detected ? 0 : recodePassHead(r);
    if (code) return code;
    r->bad = r->reader && !r->ended;
    if (r->bad) return EBADMSG;
    return r->writer ? streamWriterEnd(r->writer) : 0;
}

const char *recodeError(const struct recode *r) {
    if (!r->bad) return NULL;
    const char *error = streamReaderError(r->reader);
    return error ? error : "its frame is not complete";
}
