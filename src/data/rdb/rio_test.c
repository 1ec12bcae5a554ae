/* SPDX-License-Identifier: BSD-3-Clause */
/* rio_test.c - streams: whatever the sizes of the pieces, what was written is read, with the same checksum;
 * errors stick; and a compressed frame may stand between plain bytes. */
#include "data/rdb/rio.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/crc.h"
#include "base/model_ops.h"
#include "base/random.h"
#include "data/rdb/rio_pieces.h"

#define TOTAL (5 * RIO_BUFFER + 12345)

static char data[TOTAL];

static void writePieces(struct rioWriter *w) {
    size_t at = 0;
    while (at < TOTAL) {
        static const size_t most[] = {1, 9, 1000, RIO_BUFFER, 3 * RIO_BUFFER};
        size_t n = 1 + randomBelow(most[randomBelow(5)]);
        if (n > TOTAL - at) n = TOTAL - at;
        if (n <= RIO_BUFFER && randomBelow(2)) {
            memcpy(rioRoom(w, RIO_BUFFER), data + at, n);
            rioWrote(w, n);
        } else {
            rioWrite(w, data + at, n);
        }
        at += n;
        assert_int_equal(rioWritten(w), at);
        if (w->checksum && randomBelow(50) == 0) assert_int_equal(rioWriterCrc(w), crc64(0, data, at));
    }
}

static void whatIsWrittenArrives(void **state) {
    (void)state;
    for (int round = 0; round < 20; round++) {
        sds out = sdsempty();
        struct rioWriter w;
        rioWriterInit(&w, rioSinkSds, &out);
        w.checksum = true;
        writePieces(&w);
        assert_int_equal(rioWriterCrc(&w), crc64(0, data, TOTAL));
        assert_true(rioFlush(&w));
        rioWriterFree(&w);
        assert_int_equal(sdslen(out), TOTAL);
        assert_memory_equal(out, data, TOTAL);
        sdsfree(out);
    }
}

struct rioTestSource {
    size_t at, size;
    int fail_errno; /* at the end */
    int interrupts;
};
static ssize_t rioTestPull(void *priv, char *p, size_t n) {
    struct rioTestSource *s = priv;
    if (s->interrupts && randomBelow(3) == 0) {
        s->interrupts--;
        errno = EINTR;
        return -1;
    }
    if (s->at == s->size && s->fail_errno) {
        errno = s->fail_errno;
        return -1;
    }
    if (n > s->size - s->at) n = s->size - s->at;
    if (n > 1) n = 1 + randomBelow(randomBelow(2) ? n : n < 100 ? n : 100);
    memcpy(p, data + s->at, n);
    s->at += n;
    return (ssize_t)n;
}

static void readPieces(struct rioReader *r) {
    static char room[3 * RIO_BUFFER];
    size_t at = 0;
    while (at < TOTAL) {
        static const size_t most[] = {1, 9, 1000, RIO_BUFFER, 3 * RIO_BUFFER};
        size_t n = 1 + randomBelow(most[randomBelow(5)]);
        if (n > TOTAL - at) n = TOTAL - at;
        assert_false(rioAtEnd(r));
        if (n <= RIO_BUFFER && randomBelow(2)) {
            const char *view = rioView(r, n);
            assert_non_null(view);
            assert_memory_equal(view, data + at, n);
        } else {
            assert_true(rioRead(r, room, n));
            assert_memory_equal(room, data + at, n);
        }
        at += n;
        assert_int_equal(rioOffset(r), at);
        if (r->size != RIO_SIZE_UNKNOWN) assert_int_equal(rioLeft(r), TOTAL - at);
        if (r->checksum && randomBelow(50) == 0) assert_int_equal(rioReaderCrc(r), crc64(0, data, at));
    }
    if (r->checksum) assert_int_equal(rioReaderCrc(r), crc64(0, data, TOTAL));
}

static void whatIsThereIsRead(void **state) {
    (void)state;
    for (int round = 0; round < 20; round++) {
        struct rioTestSource s = {.size = TOTAL, .interrupts = 5};
        struct rioReader r;
        rioReaderInit(&r, rioTestPull, &s, round % 2 ? TOTAL : RIO_SIZE_UNKNOWN);
        r.checksum = true;
        readPieces(&r);
        assert_true(rioAtEnd(&r));
        assert_false(rioFailed(&r));
        rioReaderFree(&r);

        rioReaderInitMemory(&r, strN(data, TOTAL));
        readPieces(&r);
        assert_true(rioAtEnd(&r));
        rioReaderFree(&r);
    }
}

static void tooFewBytes(void **state) {
    (void)state;
    for (size_t size = 0; size < 300; size += 7) {
        struct rioTestSource s = {.size = size};
        struct rioReader r;
        char room[400];
        uint8_t b;
        rioReaderInit(&r, rioTestPull, &s, RIO_SIZE_UNKNOWN);
        assert_false(size % 2 ? rioRead(&r, room, size + 1) : rioView(&r, size + 1) != NULL);
        assert_true(rioFailed(&r));
        assert_string_equal(r.error, "unexpected end of data");
        assert_false(rioReadByte(&r, &b)); /* although there are bytes: errors stick */
        assert_null(rioView(&r, 1));
        assert_true(rioAtEnd(&r));
        rioReaderFree(&r);

        rioReaderInitMemory(&r, strN(data, size));
        assert_false(rioRead(&r, room, size + 1));
        assert_true(rioFailed(&r));
        rioReaderFree(&r);
    }
}

static void aSourceMayFail(void **state) {
    (void)state;
    struct rioTestSource s = {.size = 1000, .fail_errno = EIO};
    struct rioReader r;
    char room[2000];
    rioReaderInit(&r, rioTestPull, &s, RIO_SIZE_UNKNOWN);
    assert_true(rioRead(&r, room, 600));
    assert_false(rioRead(&r, room, 600));
    assert_non_null(strstr(r.error, strerror(EIO)));
    rioReaderFree(&r);
}

static void onlyTheFirstErrorCounts(void **state) {
    (void)state;
    struct rioReader r;
    uint8_t b;
    rioReaderInitMemory(&r, strN(data, 100));
    assert_non_null(rioView(&r, 7));
    assert_false(rioFail(&r, "number %d", 1));
    assert_false(rioFail(&r, "number %d", 2));
    assert_string_equal(r.error, "number 1");
    assert_int_equal(r.error_offset, 7);
    assert_int_equal(rioOffset(&r), 7);
    assert_false(rioReadByte(&r, &b));
    rioReaderFree(&r);
}

struct rioTestSink {
    size_t took;
    int calls;
};
static int failAfter(void *priv, const char *p, size_t n) {
    struct rioTestSink *s = priv;
    (void)p;
    s->took += n;
    return s->calls++ ? ENOSPC : 0;
}

static void aSinkMayFail(void **state) {
    (void)state;
    struct rioTestSink s = {0};
    struct rioWriter w;
    rioWriterInit(&w, failAfter, &s);
    writePieces(&w);
    assert_false(rioFlush(&w));
    assert_int_equal(w.error, ENOSPC);
    assert_int_equal(s.calls, 2); /* the source is not called again */
    rioWriterFree(&w);
}

static void filesAreWrittenAndRead(void **state) {
    (void)state;
    FILE *f = tmpfile();
    assert_non_null(f);
    struct rioFile file = {.fd = fileno(f), .sync_bytes = 100000};
    struct rioWriter w;
    rioWriterInit(&w, rioSinkFile, &file);
    writePieces(&w);
    assert_true(rioFlush(&w));
    assert_true(file.unsynced < 100000 + 3 * RIO_BUFFER);
    rioWriterFree(&w);
    assert_int_equal(lseek(file.fd, 0, SEEK_SET), 0);
    struct rioReader r;
    rioReaderInit(&r, rioSourceFd, &file.fd, TOTAL);
    readPieces(&r);
    assert_true(rioAtEnd(&r));
    rioReaderFree(&r);
    fclose(f);
    struct rioFile closed = {.fd = -1};
    assert_int_equal(rioSinkFile(&closed, data, 1), EBADF);
}

/* ---- Frames ---- */

#define BEFORE "six by"
#define AFTER  "what follows"

static const enum streamCodec rio_test_codecs[] = {STREAM_LZ4, STREAM_ZSTD};

/* Returns BEFORE, a frame of all data, and AFTER. */
static sds rioTestFramed(enum streamCodec codec, bool checksums) {
    sds out = sdsnew(BEFORE);
    struct rioWriter w;
    rioWriterInit(&w, rioSinkSds, &out);
    rioWriterStartFrame(&w, codec, STREAM_KIND_RDB, checksums);
    writePieces(&w);
    assert_true(rioWriterEndFrame(&w));
    size_t frame = sdslen(out);
    rioWrite(&w, AFTER, strlen(AFTER));
    assert_true(rioFlush(&w));
    assert_int_equal(sdslen(out), frame + strlen(AFTER));
    rioWriterFree(&w);
    return out;
}

static struct rioPieces rio_test_pieces;

/* Returns a reader that has read BEFORE and is within the frame. */
static struct rioReader rioTestInFrame(struct str all, int way) {
    struct rioReader r;
    rio_test_pieces = (struct rioPieces){all, way == 1 ? 5000 : 1 << 20};
    if (way == 0)
        rioReaderInitMemory(&r, all);
    else
        rioReaderInit(&r, rioReadPiece, &rio_test_pieces, way == 1 ? all.len : RIO_SIZE_UNKNOWN);
    assert_memory_equal(rioView(&r, strlen(BEFORE)), BEFORE, strlen(BEFORE));
    assert_memory_equal(rioPeek(&r, 3), STREAM_ENVELOPE_TAG, 3);
    assert_int_equal(rioOffset(&r), strlen(BEFORE));
    rioReaderStartFrame(&r, STREAM_KIND_RDB);
    assert_int_equal(rioOffset(&r), 0);
    assert_int_equal(rioPhysicalOffset(&r), strlen(BEFORE));
    assert_true(r.size == RIO_SIZE_UNKNOWN);
    return r;
}

static void framesBetweenPlainBytes(void **state) {
    (void)state;
    for (int round = 0; round < 12; round++) {
        enum streamCodec codec = rio_test_codecs[round & 1];
        if (!streamCodecIsAvailable(codec)) continue;
        sds all = rioTestFramed(codec, round & 2);
        size_t frame_end = sdslen(all) - strlen(AFTER);
        struct rioReader r = rioTestInFrame(sdsview(all), round % 3);
        readPieces(&r);
        assert_true(rioPhysicalOffset(&r) <= frame_end);
        assert_true(rioReaderEndFrame(&r));
        assert_null(r.frame);
        assert_int_equal(rioOffset(&r), frame_end);
        assert_int_equal(rioPhysicalOffset(&r), frame_end);
        if (round % 3 < 2) assert_int_equal(rioLeft(&r), strlen(AFTER));
        assert_memory_equal(rioView(&r, strlen(AFTER)), AFTER, strlen(AFTER));
        assert_true(rioAtEnd(&r));
        assert_false(rioFailed(&r));
        rioReaderFree(&r);
        sdsfree(all);
    }
}

static void framesThatAreNotWhole(void **state) {
    (void)state;
    static char room[TOTAL];
    for (int round = 0; round < 60; round++) {
        enum streamCodec codec = rio_test_codecs[round & 1];
        if (!streamCodecIsAvailable(codec)) continue;
        sds all = rioTestFramed(codec, round & 2);
        size_t frame_end = sdslen(all) - strlen(AFTER), cut = 1 + randomBelow(20);
        int way = round % 3;
        struct rioReader r;

        r = rioTestInFrame(sdsview(all), way); /* not all of it has been read */
        assert_true(rioRead(&r, room, TOTAL - 1));
        assert_false(rioReaderEndFrame(&r));
        assert_non_null(strstr(r.error, "more in the compressed frame"));
        rioReaderFree(&r);

        r = rioTestInFrame(strN(all, frame_end - cut), way); /* its end is missing */
        assert_false(rioRead(&r, room, TOTAL) && rioReaderEndFrame(&r));
        assert_non_null(r.error);
        assert_true(r.ended);
        assert_false(rioReaderEndFrame(&r));
        rioReaderFree(&r);

        all[strlen(BEFORE) + 8 + randomBelow(3)] ^= 1; /* the frame's magic */
        r = rioTestInFrame(sdsview(all), way);
        assert_false(rioRead(&r, room, 1));
        assert_false(r.ended);
        assert_true(rioAtEnd(&r));
        assert_false(rioReaderEndFrame(&r));
        rioReaderFree(&r);
        sdsfree(all);
    }
}

static void giveUp(struct rioReader *r) {
    rioFail(r, "given up");
}

static void progressMayFailAPeek(void **state) {
    (void)state;
    struct rioTestSource s = {.size = 100};
    struct rioReader r;
    rioReaderInit(&r, rioTestPull, &s, RIO_SIZE_UNKNOWN);
    assert_null(rioPeek(&r, 101));
    assert_false(rioFailed(&r));
    assert_non_null(rioPeek(&r, 100));
    assert_int_equal(rioOffset(&r), 0);
    rioReaderFree(&r);
    s.at = 0;
    rioReaderInit(&r, rioTestPull, &s, RIO_SIZE_UNKNOWN);
    r.progress = giveUp;
    assert_null(rioPeek(&r, 7));
    assert_string_equal(r.error, "given up");
    assert_null(rioPeek(&r, 1));
    rioReaderFree(&r);
}

static void aFramesSinkMayFail(void **state) {
    (void)state;
    struct rioTestSink s = {0};
    struct rioWriter w;
    rioWriterInit(&w, failAfter, &s);
    rioWriterStartFrame(&w, STREAM_LZ4, STREAM_KIND_RDB, true);
    writePieces(&w);
    assert_false(rioWriterEndFrame(&w));
    assert_int_equal(w.error, ENOSPC);
    assert_int_equal(s.calls, 2);
    rioWriterFree(&w);
    rioWriterInit(&w, failAfter, &s); /* given up within a frame */
    rioWriterStartFrame(&w, STREAM_LZ4, STREAM_KIND_RDB, true);
    rioWriterFree(&w);
}

static int rioTestSetup(void **state) {
    (void)state;
    modelSeed();
    for (size_t i = 0; i < TOTAL; i++) data[i] = (char)randomU64();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatIsWrittenArrives),
        cmocka_unit_test(whatIsThereIsRead),
        cmocka_unit_test(tooFewBytes),
        cmocka_unit_test(aSourceMayFail),
        cmocka_unit_test(onlyTheFirstErrorCounts),
        cmocka_unit_test(aSinkMayFail),
        cmocka_unit_test(filesAreWrittenAndRead),
        cmocka_unit_test(framesBetweenPlainBytes),
        cmocka_unit_test(framesThatAreNotWhole),
        cmocka_unit_test(aFramesSinkMayFail),
        cmocka_unit_test(progressMayFailAPeek),
    };
    return cmocka_run_group_tests(tests, rioTestSetup, NULL);
}
