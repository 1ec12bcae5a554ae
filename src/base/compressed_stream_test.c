/* SPDX-License-Identifier: BSD-3-Clause */
/* compressed_stream_test.c - pieces of random sizes, flushes, every truncation and every flipped bit, frames
 * of the command line tools, and refusals. */
#include "base/compressed_stream.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/model_ops.h"
#include "base/random.h"
#include "base/zmalloc.h"

static const enum streamCodec codecs[] = {STREAM_LZ4, STREAM_ZSTD};
static int codec_count = 2; /* 1 in a build without zstd */

/* ---- Helpers ---- */

static int streamTestAppend(void *priv, const char *p, size_t n) {
    sds *s = priv;
    *s = sdscatlen(*s, p, n);
    return 0;
}

/* Returns n bytes that compress somewhat: words and noise. */
static sds streamTestText(size_t n) {
    static const char *words[] = {"cache", "line", "{\"id\":", "sorted", "0000", "\n"};
    sds s = sdsempty();
    while (sdslen(s) < n) {
        if (randomBelow(4) == 0) {
            char noise[8];
            uint64_t bits = randomU64();
            memcpy(noise, &bits, sizeof(noise));
            s = sdscatlen(s, noise, 1 + randomBelow(8));
        } else {
            s = sdscat(s, words[randomBelow(6)]);
        }
    }
    sdssetlen(s, n);
    return s;
}

static sds streamTestEncode(enum streamCodec codec, bool checksums, sds text) {
    sds out = sdsempty();
    struct streamWriter *w = streamWriterNew(codec, STREAM_KIND_RDB, checksums, streamTestAppend, &out);
    assert_int_equal(streamWrite(w, text, sdslen(text)), 0);
    assert_int_equal(streamWriterEnd(w), 0);
    assert_int_equal(streamWriterIn(w), sdslen(text));
    assert_int_equal(streamWriterOut(w), sdslen(out));
    streamWriterFree(w);
    return out;
}

struct decoded {
    enum streamRead last;
    sds text;
    size_t left; /* bytes of the input that were not used */
    const char *error;
    size_t memory;
};

/* Decodes all of `in`, which comes in pieces of at most `in_max` bytes, into pieces of at most `out_max`. */
static struct decoded streamTestDecode(enum streamKind kind, struct str in, size_t in_max, size_t out_max) {
    struct decoded d = {.last = STREAM_MORE, .text = sdsempty()};
    struct streamReader *r = streamReaderNew(kind);
    char *out = zmalloc(out_max);
    uint64_t total = in.len;
    while (d.last == STREAM_FULL || (d.last == STREAM_MORE && in.len)) {
        size_t n = 1 + randomBelow(in_max), size = 1 + randomBelow(out_max), written;
        struct str piece = strN(in.ptr, n < in.len ? n : in.len);
        size_t before = piece.len;
        d.last = streamRead(r, &piece, out, size, &written);
        size_t used = before - piece.len;
        in = strN(in.ptr + used, in.len - used);
        assert_true(written <= size);
        if (d.last == STREAM_MORE) assert_int_equal(piece.len, 0);
        if (d.last == STREAM_FULL) assert_int_equal(written, size);
        d.text = sdscatlen(d.text, out, written);
        if (streamReaderMemory(r) > d.memory) d.memory = streamReaderMemory(r);
    }
    d.left = in.len;
    d.error = streamReaderError(r);
    assert_true((d.last == STREAM_BAD) == (d.error != NULL));
    if (d.last != STREAM_BAD) assert_int_equal(streamReaderIn(r), total - in.len);
    zfree(out);
    streamReaderFree(r);
    return d;
}

static struct decoded streamTestDecodeAll(sds in) {
    return streamTestDecode(STREAM_KIND_RDB, strN(in, sdslen(in)), 100000, 100000);
}

static void streamTestIsText(struct decoded d, sds text) {
    assert_int_equal(d.last, STREAM_ENDED);
    assert_int_equal(sdslen(d.text), sdslen(text));
    assert_memory_equal(d.text, text, sdslen(text));
}

static void streamTestIsRefused(sds in, const char *why) {
    struct decoded d = streamTestDecodeAll(in);
    assert_int_equal(d.last, STREAM_BAD);
    assert_non_null(strstr(d.error, why));
    assert_int_equal(sdslen(d.text), 0);
    sdsfree(d.text);
}

/* ---- Tests ---- */

static void testStreamRoundTrips(void **state) {
    (void)state;
    uint64_t rounds = modelShare(300) + 4;
    for (uint64_t i = 0; i < rounds; i++) {
        enum streamCodec codec = codecs[i % (uint64_t)codec_count];
        enum streamKind kind = randomBelow(2) ? STREAM_KIND_RDB : STREAM_KIND_REPLICATION;
        sds text = streamTestText(randomBelow(3) == 0 ? randomBelow(10) : randomBelow(400000)),
            packed = sdsempty();
        struct streamWriter *w = streamWriterNew(codec, kind, randomBelow(2), streamTestAppend, &packed);
        for (size_t at = 0; at < sdslen(text);) {
            size_t n = randomBelow(3) ? randomBelow(300) : randomBelow(200000);
            if (n > sdslen(text) - at) n = sdslen(text) - at;
            assert_int_equal(streamWrite(w, text + at, n), 0);
            at += n;
            if (randomBelow(50) == 0) assert_int_equal(streamWriterFlush(w), 0);
        }
        assert_int_equal(streamWriterEnd(w), 0);
        assert_true(streamWriterMemory(w) < 3 << 20);
        streamWriterFree(w);
        size_t frame = sdslen(packed);
        packed = sdscat(packed, "what follows");
        size_t most = randomBelow(2) ? 50 : 200000;
        struct decoded d =
            streamTestDecode(kind, strN(packed, sdslen(packed)), most, randomBelow(2) ? 20 : 100000);
        streamTestIsText(d, text);
        assert_int_equal(d.left, sdslen(packed) - frame);
        sdsfree(d.text);
        sdsfree(packed);
        sdsfree(text);
    }
}

/* After a flush, the reader has everything, though the frame goes on. */
static void testStreamFlush(void **state) {
    (void)state;
    for (int c = 0; c < codec_count; c++) {
        sds packed = sdsempty(), got = sdsempty(), sent = sdsempty();
        struct streamWriter *w =
            streamWriterNew(codecs[c], STREAM_KIND_REPLICATION, c == 0, streamTestAppend, &packed);
        struct streamReader *r = streamReaderNew(STREAM_KIND_REPLICATION);
        assert_int_equal(streamWriterFlush(w), 0);
        assert_true(sdslen(packed) >= STREAM_ENVELOPE);
        for (int i = 0; i < 300; i++) {
            sds text = streamTestText(randomBelow(5) ? randomBelow(100) : randomBelow(150000));
            assert_int_equal(streamWrite(w, text, sdslen(text)), 0);
            assert_int_equal(streamWriterFlush(w), 0);
            sent = sdscatlen(sent, text, sdslen(text));
            struct str in = strN(packed, sdslen(packed));
            enum streamRead how;
            do {
                char out[5000];
                size_t written;
                how = streamRead(r, &in, out, sizeof(out), &written);
                got = sdscatlen(got, out, written);
            } while (how == STREAM_FULL);
            assert_int_equal(how, STREAM_MORE);
            assert_int_equal(in.len, 0);
            assert_int_equal(sdslen(got), sdslen(sent));
            sdssetlen(packed, 0);
            sdsfree(text);
        }
        assert_memory_equal(got, sent, sdslen(sent));
        char out[10];
        size_t written;
        for (int i = 0; i < 100; i++) { /* asking without input is no error */
            struct str none = STR("");
            assert_int_equal(streamRead(r, &none, out, sizeof(out), &written), STREAM_MORE);
        }
        assert_true(streamReaderCodec(r) == codecs[c]);
        streamReaderFree(r);
        streamWriterFree(w);
        sdsfree(packed), sdsfree(got), sdsfree(sent);
    }
}

static void testStreamChecksumFlags(void **state) {
    (void)state;
    sds text = streamTestText(1000);
    for (int checksums = 0; checksums < 2; checksums++) {
        sds lz4 = streamTestEncode(STREAM_LZ4, checksums, text);
        assert_memory_equal(lz4, "VCS\1\1\0\1\x04\x22\x4d\x18", 11);
        assert_int_equal(lz4[11] & 0x14, checksums ? 0x14 : 0);
        assert_int_equal(lz4[11] & 0x20, 0); /* linked blocks */
        assert_int_equal(lz4[12] & 0x70, 0x40);
        sdsfree(lz4);
        if (codec_count < 2) continue;
        sds zstd = streamTestEncode(STREAM_ZSTD, checksums, text);
        assert_memory_equal(zstd, "VCS\1\2\0\1\x28\xb5\x2f\xfd", 11);
        assert_int_equal(zstd[11] & 0x04, checksums ? 0x04 : 0);
        sdsfree(zstd);
    }
    sdsfree(text);
}

static void testStreamTruncated(void **state) {
    (void)state;
    sds text = streamTestText(3000);
    for (int i = 0; i < 2 * codec_count; i++) {
        sds packed = streamTestEncode(codecs[i / 2], i % 2, text);
        for (size_t n = 0; n < sdslen(packed); n++) {
            struct decoded d = streamTestDecode(STREAM_KIND_RDB, strN(packed, n), 5000, 5000);
            assert_int_equal(d.last, STREAM_MORE);
            assert_true(sdslen(d.text) <= sdslen(text));
            sdsfree(d.text);
        }
        sdsfree(packed);
    }
    sdsfree(text);
}

/* With checksums a flipped bit is found, or it is one without meaning; without, it does no harm. */
static void testStreamFlipped(void **state) {
    (void)state;
    sds text = streamTestText(2000);
    for (int i = 0; i < 2 * codec_count; i++) {
        bool checksums = i % 2;
        sds packed = streamTestEncode(codecs[i / 2], checksums, text);
        for (size_t at = 0; at < sdslen(packed); at++) {
            for (int bit = 0; bit < 8; bit++) {
                packed[at] ^= (char)(1 << bit);
                struct decoded d = streamTestDecodeAll(packed);
                bool same = sdslen(d.text) == sdslen(text) && memcmp(d.text, text, sdslen(text)) == 0;
                if (at < STREAM_ENVELOPE + 4) assert_int_equal(d.last, STREAM_BAD);
                if (checksums) assert_true(d.last == STREAM_BAD || d.last == STREAM_MORE || same);
                assert_true(sdslen(d.text) < 1 << 20);
                sdsfree(d.text);
                packed[at] ^= (char)(1 << bit);
            }
        }
        sdsfree(packed);
    }
    sdsfree(text);
}

static void testStreamRefused(void **state) {
    (void)state;
    sds text = streamTestText(100), packed = streamTestEncode(STREAM_LZ4, true, text);
    static const struct {
        int at;
        char value;
    } changes[] = {{0, 'v'}, {2, 'X'}, {3, 0}, {3, 2}, {4, 0}, {4, 3}, {5, 1}, {6, 0}, {6, 2}, {6, 3}};
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        char was = packed[changes[i].at];
        packed[changes[i].at] = changes[i].value;
        streamTestIsRefused(packed, "Invalid or unsupported RDB stream envelope");
        packed[changes[i].at] = was;
    }
    const char *other = codec_count > 1 ? "magic" : STREAM_NO_ZSTD;
    packed[4] = STREAM_ZSTD; /* an LZ4 frame behind the envelope of the other codec */
    streamTestIsRefused(packed, other);
    packed[4] = STREAM_LZ4;
    packed[11] |= 1; /* a dictionary */
    streamTestIsRefused(packed, "dictionary");
    struct decoded d = streamTestDecode(STREAM_KIND_REPLICATION, strN(packed, sdslen(packed)), 1, 1);
    assert_string_equal(d.error, "Invalid or unsupported replication stream envelope");
    sdsfree(d.text);
    /* Skippable frames, which both libraries would skip. */
    sds skippable = sdsnewlen("VCS\1\1\0\1\x50\x2a\x4d\x18\4\0\0\0abcd", 19);
    skippable = sdscatlen(skippable, packed + STREAM_ENVELOPE, sdslen(packed) - STREAM_ENVELOPE);
    streamTestIsRefused(skippable, "magic");
    skippable[4] = STREAM_ZSTD;
    streamTestIsRefused(skippable, other);
    sdsfree(skippable), sdsfree(packed), sdsfree(text);
}

static void testStreamDetect(void **state) {
    (void)state;
    assert_int_equal(streamDetect("", 0), STREAM_MAY_BE_COMPRESSED);
    assert_int_equal(streamDetect("VC", 2), STREAM_MAY_BE_COMPRESSED);
    assert_int_equal(streamDetect("VCS\1", 4), STREAM_IS_COMPRESSED);
    assert_int_equal(streamDetect("VAL", 3), STREAM_IS_PLAIN);
    assert_int_equal(streamDetect("REDIS0011", 9), STREAM_IS_PLAIN);
    assert_int_equal(streamDetect("*", 1), STREAM_IS_PLAIN);
    assert_string_equal(streamCodecName(STREAM_PLAIN), "");
    assert_string_equal(streamCodecName(STREAM_LZ4), "lz4");
    assert_string_equal(streamCodecName(STREAM_ZSTD), "zstd");
}

static int streamTestFullSink(void *priv, const char *p, size_t n) {
    (void)p;
    int *room = priv;
    *room -= (int)n;
    return *room < 0 ? ENOSPC : 0;
}

static void testStreamSinkFails(void **state) {
    (void)state;
    sds text = streamTestText(100000);
    for (int c = 0; c < codec_count; c++) {
        for (int room = 0; room < 20000; room += 3333) {
            int left = room;
            struct streamWriter *w =
                streamWriterNew(codecs[c], STREAM_KIND_RDB, true, streamTestFullSink, &left);
            int error = streamWrite(w, text, sdslen(text));
            assert_true(error == 0 || error == ENOSPC);
            assert_int_equal(streamWriterFlush(w), ENOSPC);
            int after = left;
            for (int i = 0; i < 5; i++) /* errors stick, and the sink is not called again */
                assert_int_equal(streamWrite(w, text, sdslen(text)), ENOSPC);
            assert_int_equal(streamWriterEnd(w), ENOSPC);
            assert_int_equal(left, after);
            streamWriterFree(w);
        }
    }
    sdsfree(text);
}

/* Returns what a shell command makes of the text, behind an envelope. */
static sds streamTestToolFrame(enum streamCodec codec, const char *command, sds text) {
    char path[] = "/tmp/compressed_stream_test.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, text, sdslen(text)) == (ssize_t)sdslen(text));
    close(fd);
    sds line = sdscatprintf(sdsempty(), "%s < %s 2>/dev/null", command, path);
    sds out = sdscatlen(sdsempty(), codec == STREAM_LZ4 ? "VCS\1\1\0\1" : "VCS\1\2\0\1", STREAM_ENVELOPE);
    FILE *f = popen(line, "r");
    char buf[4096];
    for (size_t n; (n = fread(buf, 1, sizeof(buf), f)) > 0;) out = sdscatlen(out, buf, n);
    pclose(f);
    unlink(path);
    sdsfree(line);
    return out;
}

static void testStreamFramesOfTools(void **state) {
    (void)state;
    static const struct {
        enum streamCodec codec;
        const char *command;
    } tools[] = {
        {STREAM_LZ4, "lz4 -c -B4"},
        {STREAM_LZ4, "lz4 -c -B5 -BI"},
        {STREAM_LZ4, "lz4 -c -B6 -BD"},
        {STREAM_LZ4, "lz4 -c -B7 -BX"},
        {STREAM_LZ4, "lz4 -c -B7 -BD -9 --content-size"},
        {STREAM_LZ4, "lz4 -c --no-frame-crc -BD"},
        {STREAM_LZ4, "lz4 -c --fast=5 -B4 -BD -BX"},
        {STREAM_ZSTD, "zstd -c -1"},
        {STREAM_ZSTD, "zstd -c --no-check -3"},
        {STREAM_ZSTD, "zstd -c -19"},
        {STREAM_ZSTD, "zstd -c --fast=3"},
        {STREAM_ZSTD, "zstd -c --long=23"},
    };
    if (system("lz4 --version >/dev/null 2>&1 && zstd --version >/dev/null 2>&1") != 0) {
        print_message("skipped: there are no lz4 and zstd programs\n");
        skip();
    }
    sds sizes[] = {sdsempty(), streamTestText(70), streamTestText(1500000)};
    for (size_t s = 0; s < 3; s++) {
        for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++) {
            if (!streamCodecIsAvailable(tools[i].codec)) continue;
            sds frame = streamTestToolFrame(tools[i].codec, tools[i].command, sizes[s]);
            struct decoded d = streamTestDecode(STREAM_KIND_RDB, strN(frame, sdslen(frame)), 30000, 70000);
            streamTestIsText(d, sizes[s]);
            assert_int_equal(d.left, 0);
            assert_true(d.memory <= 9 << 20);
            sdsfree(d.text);
            sdsfree(frame);
        }
    }
    sds wide = streamTestToolFrame(STREAM_ZSTD, "zstd -c --long=24", sizes[2]);
    streamTestIsRefused(wide, codec_count > 1 ? "memory" : STREAM_NO_ZSTD);
    sdsfree(wide);
    for (size_t s = 0; s < 3; s++) sdsfree(sizes[s]);
}

int main(void) {
    modelSeed();
    codec_count = streamCodecIsAvailable(STREAM_ZSTD) ? 2 : 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(testStreamRoundTrips),    cmocka_unit_test(testStreamFlush),
        cmocka_unit_test(testStreamChecksumFlags), cmocka_unit_test(testStreamTruncated),
        cmocka_unit_test(testStreamFlipped),       cmocka_unit_test(testStreamRefused),
        cmocka_unit_test(testStreamDetect),        cmocka_unit_test(testStreamSinkFails),
        cmocka_unit_test(testStreamFramesOfTools),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
