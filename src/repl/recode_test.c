/* SPDX-License-Identifier: BSD-3-Clause */
/* recode_test.c - from every codec to every codec, in pieces of any size; truncated and broken input. */
#include "repl/recode.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static sds out;

static int recodeTestSink(void *priv, const char *bytes, size_t n) {
    (void)priv;
    out = sdscatlen(out, bytes, n);
    return 0;
}

static int recodeTestAppend(void *priv, const char *bytes, size_t n) {
    sds *s = priv;
    *s = sdscatlen(*s, bytes, n);
    return 0;
}

static sds recodeTestData(size_t n) {
    sds s = sdsnew("VALKEY081");
    for (unsigned i = 0; sdslen(s) < n; i++) s = sdscatprintf(s, "member:%u,", i * 7919u);
    sdssetlen(s, n);
    return s;
}

static sds recodeTestEncode(sds data, enum streamCodec codec) {
    if (codec == STREAM_PLAIN) return sdsdup(data);
    sds s = sdsempty();
    struct streamWriter *w = streamWriterNew(codec, STREAM_KIND_RDB, true, recodeTestAppend, &s);
    assert_int_equal(streamWrite(w, data, sdslen(data)), 0);
    assert_int_equal(streamWriterEnd(w), 0);
    streamWriterFree(w);
    return s;
}

static sds recodeTestDecode(sds s) {
    if (streamDetect(s, sdslen(s)) != STREAM_IS_COMPRESSED) return sdsdup(s);
    struct streamReader *r = streamReaderNew(STREAM_KIND_RDB);
    struct str in = sdsview(s);
    sds data = sdsempty();
    enum streamRead got = STREAM_FULL;
    while (got == STREAM_FULL) {
        static char piece[10000];
        size_t written;
        got = streamRead(r, &in, piece, sizeof piece, &written);
        data = sdscatlen(data, piece, written);
    }
    assert_int_equal(got, STREAM_ENDED);
    assert_int_equal(in.len, 0);
    streamReaderFree(r);
    return data;
}

/* Returns what recodeEnd or the first failing recodeWrite does. */
static int recodeTestRun(struct str in, enum streamCodec to, size_t piece) {
    struct recode *r = recodeNew(to, true, recodeTestSink);
    out = sdsempty();
    int code = 0;
    while (in.len && !code) {
        size_t n = in.len < piece ? in.len : piece;
        code = recodeWrite(r, strN(in.ptr, n));
        in = strN(in.ptr + n, in.len - n);
    }
    if (!code) code = recodeEnd(r);
    assert_true(code != EBADMSG || recodeError(r));
    recodeFree(r);
    return code;
}

static void eachCodecBecomesEachOther(void **state) {
    (void)state;
    static const size_t pieces[] = {1, 3, 100, 65536, 1 << 20};
    sds data = recodeTestData(200000);
    for (int from = STREAM_PLAIN; from <= STREAM_ZSTD; from++) {
        for (int to = STREAM_PLAIN; to <= STREAM_ZSTD; to++) {
            if (!streamCodecIsAvailable((enum streamCodec)from) ||
                !streamCodecIsAvailable((enum streamCodec)to))
                continue;
            sds in = recodeTestEncode(data, (enum streamCodec)from);
            for (int i = 0; i < 5; i++) {
                assert_int_equal(recodeTestRun(sdsview(in), (enum streamCodec)to, pieces[i]), 0);
                if (to != STREAM_PLAIN) assert_int_equal(out[4], to);
                if (from == to) assert_memory_equal(out, in, sdslen(in));
                sds back = recodeTestDecode(out);
                assert_int_equal(sdslen(back), sdslen(data));
                assert_memory_equal(back, data, sdslen(data));
                sdsfree(back);
                sdsfree(out);
            }
            sdsfree(in);
        }
    }
    sdsfree(data);
}

/* A truncated frame is refused as soon as it is decoded; one that passes is left to the loader. */
static void truncatedFramesAreRefused(void **state) {
    (void)state;
    sds data = recodeTestData(50000), in = recodeTestEncode(data, STREAM_LZ4);
    for (size_t n = STREAM_ENVELOPE; n < sdslen(in); n += 101) {
        assert_int_equal(recodeTestRun(strN(in, n), STREAM_PLAIN, 1000), EBADMSG);
        sdsfree(out);
        assert_int_equal(recodeTestRun(strN(in, n), STREAM_LZ4, 1000), 0);
        assert_int_equal(sdslen(out), n);
        sdsfree(out);
    }
    sdsfree(in);
    sdsfree(data);
}

static void brokenFramesAreRefused(void **state) {
    (void)state;
    sds data = recodeTestData(50000), in = recodeTestEncode(data, STREAM_LZ4);
    int refused = 0, tried = 0;
    for (size_t at = 3; at < sdslen(in); at += at < 30 ? 1 : 97, tried++) {
        in[at] ^= 0x21;
        int code = recodeTestRun(sdsview(in), STREAM_PLAIN, 777);
        assert_true(code == 0 || code == EBADMSG);
        refused += code == EBADMSG;
        in[at] ^= 0x21;
        sdsfree(out);
    }
    assert_true(refused > tried * 9 / 10);
    sdsfree(in);
    sdsfree(data);
}

/* A sink that fails ends it with its errno. */
static int recodeTestFullDisk(void *priv, const char *bytes, size_t n) {
    (void)priv, (void)bytes;
    return n ? ENOSPC : 0;
}
static void aFullDiskIsReported(void **state) {
    (void)state;
    sds data = recodeTestData(300000), in = recodeTestEncode(data, STREAM_LZ4);
    for (int to = STREAM_PLAIN; to <= STREAM_LZ4; to++) {
        struct recode *r = recodeNew((enum streamCodec)to, true, recodeTestFullDisk);
        assert_int_equal(recodeWrite(r, sdsview(to == STREAM_PLAIN ? in : data)), ENOSPC);
        assert_null(recodeError(r));
        recodeFree(r);
    }
    sdsfree(in);
    sdsfree(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eachCodecBecomesEachOther),
        cmocka_unit_test(truncatedFramesAreRefused),
        cmocka_unit_test(brokenFramesAreRefused),
        cmocka_unit_test(aFullDiskIsReported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
