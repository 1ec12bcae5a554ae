/* SPDX-License-Identifier: BSD-3-Clause */
/* decoding_test.c - connections whose input is decoded, on both backends of the loop: pieces of any size,
 * plain input, bytes that were read before, and streams that are broken. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "net/decoding.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/zmalloc.h"
#include "net/test_backends.h"

static struct aeEventLoop *el;
static struct connection *conn;
static int peer;
static sds got;
static int ended; /* 0: not yet; else errno of the read that failed, or -1 at the end of the input */
static size_t piece;

static int decodingTestSetUp(void **state) {
    (void)state;
    el = aeCreate(64);
    return el ? 0 : -1;
}

static int decodingTestTearDown(void **state) {
    (void)state;
    aeDelete(el);
    return 0;
}

static void decodingTestOnReadable(struct connection *c) {
    static char buf[1 << 16];
    ssize_t n = connRead(c, buf, piece);
    if (n > 0) {
        got = sdscatlen(got, buf, (size_t)n);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        ended = n == 0 ? -1 : errno;
        connSetReadHandler(c, NULL);
    }
}

static void decodingTestOpen(struct str first) {
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    peer = fds[1];
    conn = connCreateUnix(el, fds[0]);
    got = sdsempty();
    ended = 0;
    piece = 1 << 16;
    connSetReadHandler(conn, decodingTestOnReadable);
    connDecode(conn, STREAM_KIND_REPLICATION, first);
}

static void decodingTestClose(void) {
    connClose(conn);
    if (peer >= 0) close(peer);
    sdsfree(got);
}

/* Runs turns until nothing more comes. */
static void decodingTestDrain(void) {
    for (int quiet = 0; quiet < 3;) {
        size_t before = sdslen(got);
        bool pending = connHasPending(el);
        connServePending(el);
        aeProcessEvents(el, AE_FILE_EVENTS | AE_DONT_WAIT);
        quiet = pending || sdslen(got) > before ? 0 : quiet + 1;
    }
}

static void decodingTestSend(struct str bytes) {
    while (bytes.len) {
        size_t n = bytes.len < 4096 ? bytes.len : 4096;
        assert_int_equal(write(peer, bytes.ptr, n), (ssize_t)n);
        bytes = strN(bytes.ptr + n, bytes.len - n);
        decodingTestDrain();
    }
    decodingTestDrain();
}

static int decodingTestSink(void *priv, const char *p, size_t n) {
    sds *s = priv;
    *s = sdscatlen(*s, p, n);
    return 0;
}

/* Text of n bytes, half of it compressible. */
static sds decodingTestText(size_t n) {
    sds s = sdsempty();
    for (unsigned i = 1; sdslen(s) < n; i++) s = sdscatprintf(s, "*3 SET key:%u %u\r\n", i, i * 2654435761u);
    sdssetlen(s, n);
    return s;
}

static const enum streamCodec codecs[] = {STREAM_LZ4, STREAM_ZSTD};

/* Written bytes are readable as soon as they were flushed, however they are cut. */
static void eachFlushedPartArrives(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        if (!streamCodecIsAvailable(codecs[i])) continue;
        sds packed = sdsempty(), text = decodingTestText(300000);
        struct streamWriter *w =
            streamWriterNew(codecs[i], STREAM_KIND_REPLICATION, true, decodingTestSink, &packed);
        decodingTestOpen(strN("", 0));
        srand(1);
        for (size_t at = 0; at < sdslen(text);) {
            size_t n = (size_t)rand() % (rand() % 8 ? 200 : 40000) + 1, sent = sdslen(packed);
            if (n > sdslen(text) - at) n = sdslen(text) - at;
            assert_int_equal(streamWrite(w, text + at, n), 0);
            assert_int_equal(streamWriterFlush(w), 0);
            at += n;
            piece = (size_t)rand() % 5000 + 1;
            decodingTestSend(strN(packed + sent, sdslen(packed) - sent));
            assert_int_equal(sdslen(got), at);
        }
        assert_memory_equal(got, text, sdslen(text));
        assert_int_equal(connDecodingCodec(conn), codecs[i]);
        assert_true(connDecodingMemory(conn) < 10 << 20);
        assert_int_equal(ended, 0);
        close(peer);
        peer = -1;
        decodingTestDrain();
        assert_int_equal(ended, -1);
        decodingTestClose();
        streamWriterFree(w);
        sdsfree(packed);
        sdsfree(text);
    }
}

/* The first bytes may have been read before, as many as there are, and a handler may be missing for a while.
 */
static void bytesThatWereReadBeforeComeFirst(void **state) {
    (void)state;
    sds packed = sdsempty(), text = decodingTestText(100000);
    struct streamWriter *w =
        streamWriterNew(STREAM_LZ4, STREAM_KIND_REPLICATION, true, decodingTestSink, &packed);
    streamWrite(w, text, sdslen(text));
    streamWriterFlush(w);
    for (size_t before = 0; before <= sdslen(packed); before += before < 16 ? 1 : 997) {
        decodingTestOpen(strN(packed, before));
        connSetReadHandler(conn, NULL);
        assert_false(connHasPending(el));
        connSetReadHandler(conn, decodingTestOnReadable);
        piece = 1000;
        decodingTestSend(strN(packed + before, sdslen(packed) - before));
        assert_int_equal(sdslen(got), sdslen(text));
        assert_memory_equal(got, text, sdslen(text));
        decodingTestClose();
    }
    streamWriterFree(w);
    sdsfree(packed);
    sdsfree(text);
}

/* A peer that does not compress: the connection is an ordinary one after its first bytes. */
static void plainInputPasses(void **state) {
    (void)state;
    for (size_t before = 0; before < 30; before += 3) {
        sds text = decodingTestText(50000);
        decodingTestOpen(strN(text, before));
        const struct connType *type = conn->type;
        piece = 7;
        decodingTestSend(strN(text + before, sdslen(text) - before));
        assert_int_equal(sdslen(got), sdslen(text));
        assert_memory_equal(got, text, sdslen(text));
        assert_ptr_not_equal(conn->type, type);
        assert_string_equal(conn->type->name, "unix");
        assert_int_equal(connDecodingMemory(conn), 0);
        decodingTestClose();
        sdsfree(text);
    }
}

/* Whatever is changed in a stream, the reader gets a beginning of the text and then an error, or waits for
 * more. */
static void brokenStreamsAreRefused(void **state) {
    (void)state;
    sds packed = sdsempty(), text = decodingTestText(20000);
    struct streamWriter *w =
        streamWriterNew(STREAM_LZ4, STREAM_KIND_REPLICATION, true, decodingTestSink, &packed);
    streamWrite(w, text, sdslen(text));
    streamWriterFlush(w);
    int refused = 0, tried = 0;
    for (size_t at = 3; at < sdslen(packed); at += at < 40 ? 1 : 61, tried++) {
        packed[at] ^= 0x55;
        decodingTestOpen(strN("", 0));
        decodingTestSend(sdsview(packed));
        if (ended) {
            assert_int_equal(ended, EBADMSG);
            assert_non_null(connDecodingError(conn));
            refused++;
        }
        assert_true(sdslen(got) <= sdslen(text) && memcmp(got, text, sdslen(got)) == 0);
        decodingTestClose();
        packed[at] ^= 0x55;
    }
    assert_true(refused > tried * 9 / 10);
    streamWriterFree(w);
    sdsfree(packed);
    sdsfree(text);
}

/* A stream has no end; one with an end, of another kind, or with a checksum that does not fit is refused. */
static void aStreamThatEndsIsRefused(void **state) {
    (void)state;
    for (int kind = STREAM_KIND_RDB; kind <= STREAM_KIND_REPLICATION; kind++) {
        sds packed = sdsempty();
        struct streamWriter *w =
            streamWriterNew(STREAM_LZ4, (enum streamKind)kind, true, decodingTestSink, &packed);
        streamWrite(w, "hello", 5);
        streamWriterEnd(w);
        decodingTestOpen(strN("", 0));
        decodingTestSend(sdsview(packed));
        assert_int_equal(ended, EBADMSG);
        assert_int_equal(sdslen(got), kind == STREAM_KIND_REPLICATION ? 5 : 0);
        decodingTestClose();
        streamWriterFree(w);
        sdsfree(packed);
    }
}

/* A few bytes that stand for very many are decoded only as fast as they are taken. */
static void aBombFillsNoMemory(void **state) {
    (void)state;
    sds packed = sdsempty();
    static char zeros[1 << 20];
    enum streamCodec codec = streamCodecIsAvailable(STREAM_ZSTD) ? STREAM_ZSTD : STREAM_LZ4;
    struct streamWriter *w =
        streamWriterNew(codec, STREAM_KIND_REPLICATION, false, decodingTestSink, &packed);
    for (int i = 0; i < 64; i++) streamWrite(w, zeros, sizeof zeros);
    streamWriterFlush(w);
    decodingTestOpen(strN("", 0));
    connSetReadHandler(conn, NULL);
    size_t n = sdslen(packed) < 100000 ? sdslen(packed) : 100000;
    assert_int_equal(write(peer, packed, n), (ssize_t)n);
    char buf[100];
    for (int i = 0; i < 1000; i++) assert_int_equal(connRead(conn, buf, sizeof buf), sizeof buf);
    assert_true(connDecodingMemory(conn) < 10 << 20);
    decodingTestClose();
    streamWriterFree(w);
    sdsfree(packed);
}

int main(void) {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, decodingTestSetUp, decodingTestTearDown)
    const struct CMUnitTest tests[] = {
        TEST(eachFlushedPartArrives),  TEST(bytesThatWereReadBeforeComeFirst), TEST(plainInputPasses),
        TEST(brokenStreamsAreRefused), TEST(aStreamThatEndsIsRefused),         TEST(aBombFillsNoMemory),
    };
    RUN_WITH_EACH_BACKEND(tests);
}
