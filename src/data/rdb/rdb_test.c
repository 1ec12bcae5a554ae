/* SPDX-License-Identifier: BSD-3-Clause */
/* rdb_test.c - numbers, strings and payloads of the RDB encoding: the bytes that the format prescribes, and
 * back; lengths that are announced but do not follow; and commands as text (rewrite.h). */
#include "data/rdb/rdb.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/model_ops.h"
#include "base/num.h"
#include "base/random.h"
#include "base/zmalloc.h"
#include "data/rdb/rewrite.h"
#include "data/rdb/rio_pieces.h"

static sds out;
static struct rioWriter w;

static void rdbTestBegin(void) {
    sdsfree(out);
    out = sdsempty();
    rioWriterInit(&w, rioSinkSds, &out);
}

static struct str rdbTestWritten(void) {
    rioFlush(&w);
    rioWriterFree(&w);
    return sdsview(out);
}

static void expectBytes(const char *bytes, size_t n) {
    struct str s = rdbTestWritten();
    assert_int_equal(s.len, n);
    assert_memory_equal(s.ptr, bytes, n);
}
#define EXPECT(literal) expectBytes(literal, sizeof(literal) - 1)

static struct rioPieces source;

/* way 0: from memory; 1: from a file of a known size; 2: from a socket. */
static struct rdbReader readerOf(struct str bytes, int way) {
    struct rdbReader r = {.version = RDB_VERSION};
    source = (struct rioPieces){bytes, way == 2 ? 5000 : 1 << 20};
    if (way == 0)
        rioReaderInitMemory(&r.io, bytes);
    else
        rioReaderInit(&r.io, rioReadPiece, &source, way == 1 ? bytes.len : RIO_SIZE_UNKNOWN);
    return r;
}

/* ---- Numbers ---- */

static void rdbTestLengths(void **state) {
    (void)state;
    rdbTestBegin();
    rdbWriteLen(&w, 0);
    rdbWriteLen(&w, 63);
    EXPECT("\x00\x3f");
    rdbTestBegin();
    rdbWriteLen(&w, 64);
    rdbWriteLen(&w, 16383);
    EXPECT("\x40\x40\x7f\xff");
    rdbTestBegin();
    rdbWriteLen(&w, 16384);
    rdbWriteLen(&w, UINT32_MAX);
    EXPECT("\x80\x00\x00\x40\x00\x80\xff\xff\xff\xff");
    rdbTestBegin();
    rdbWriteLen(&w, UINT32_MAX + 1ull);
    EXPECT("\x81\x00\x00\x00\x01\x00\x00\x00\x00");

    rdbTestBegin();
    uint64_t all[64 * 3], n = 0, v;
    for (int bit = 0; bit < 64; bit++)
        for (int d = -1; d <= 1; d++) rdbWriteLen(&w, all[n++] = (1ull << bit) + (uint64_t)d);
    struct str bytes = rdbTestWritten();
    for (int way = 0; way < 3; way++) {
        struct rdbReader r = readerOf(bytes, way);
        for (uint64_t i = 0; i < n; i++) {
            assert_true(rdbReadLen(&r, &v));
            assert_int_equal(v, all[i]);
        }
        assert_true(rioAtEnd(&r.io));
        rdbReaderFree(&r);
    }
}

static void fixedNumbers(void **state) {
    (void)state;
    static const double doubles[] = {0, -0.0, 1.5, INFINITY, -INFINITY, DBL_MIN, DBL_MAX, 5e-324};
    rdbTestBegin();
    rdbWriteInt64(&w, 0x0102030405060708);
    rdbWriteDouble(&w, 1);
    EXPECT("\x08\x07\x06\x05\x04\x03\x02\x01\x00\x00\x00\x00\x00\x00\xf0\x3f");
    rdbTestBegin();
    for (size_t i = 0; i < 8; i++) rdbWriteDouble(&w, doubles[i]);
    rdbWriteInt64(&w, INT64_MIN);
    rioWrite(&w, "\xfe\xff\xff\xff", 4);
    struct rdbReader r = readerOf(rdbTestWritten(), 2);
    double d;
    int64_t n;
    int32_t m;
    for (size_t i = 0; i < 8; i++) {
        assert_true(rdbReadDouble(&r, &d));
        assert_memory_equal(&d, &doubles[i], sizeof d);
    }
    assert_true(rdbReadInt64(&r, &n) && n == INT64_MIN);
    assert_true(rdbReadInt32(&r, &m) && m == -2);
    assert_false(rdbReadInt32(&r, &m));
    rdbReaderFree(&r);
}

static void scoresAsText(void **state) {
    (void)state;
    static const char text[] = "\3"
                               "0.1"
                               "\xff\xfe\xfd\2-7";
    struct rdbReader r = readerOf(strN(text, sizeof text - 1), 2);
    struct str digits;
    double d;
    assert_true(rdbReadDoubleText(&r, &d, &digits) && strIs(digits, "0.1") && d == 0.1);
    assert_true(rdbReadDoubleText(&r, &d, &digits) && d == -INFINITY);
    assert_true(rdbReadDoubleText(&r, &d, &digits) && d == INFINITY);
    assert_true(rdbReadDoubleText(&r, &d, &digits) && isnan(d));
    assert_true(rdbReadDoubleText(&r, &d, &digits) && d == -7);
    rdbReaderFree(&r);
    rdbTestBegin();
    rdbWriteDoubleText(&w, 9007199254740992, STR("9007199254740993"));
    rdbWriteDoubleText(&w, INFINITY, STR("inf"));
    rdbWriteDoubleText(&w, -INFINITY, STR("-inf"));
    EXPECT("\x10"
           "9007199254740993\xfe\xff");
    r = readerOf(STR("\1x"), 0);
    assert_false(rdbReadDoubleText(&r, &d, &digits));
    rdbReaderFree(&r);
}

/* ---- Strings ---- */

static void stringsAsIntegers(void **state) {
    (void)state;
    rdbTestBegin();
    rdbWriteString(&w, STR("127"));
    rdbWriteString(&w, STR("-128"));
    rdbWriteString(&w, STR("128"));
    rdbWriteString(&w, STR("-32769"));
    rdbWriteString(&w, STR("2147483647"));
    rdbWriteString(&w, STR("-2147483648"));
    EXPECT("\xc0\x7f\xc0\x80\xc1\x80\x00\xc2\xff\x7f\xff\xff\xc2\xff\xff\xff\x7f\xc2\x00\x00\x00\x80");
    rdbTestBegin();
    rdbWriteString(&w, STR("2147483648"));
    rdbWriteString(&w, STR("01"));
    rdbWriteString(&w, STR("-0"));
    rdbWriteString(&w, STR("+1"));
    rdbWriteString(&w, STR(""));
    rdbWriteString(&w, STR("-2147483649"));
    EXPECT("\x0a"
           "2147483648"
           "\x02"
           "01"
           "\x02-0"
           "\x02+1"
           "\x00"
           "\x0b-2147483649");
}

/* Members of a sorted set are written as by the two functions for a string and a score, at every place of the
 * buffer. */
static void membersWithScores(void **state) {
    (void)state;
    static const char *const members[] = {"",
                                          "a",
                                          "-",
                                          "-7",
                                          "7",
                                          "12345678901",
                                          "123456789012",
                                          "9lives",
                                          "member:",
                                          "member:1",
                                          "member:129",
                                          "-2147483649",
                                          "sixteen in all..",
                                          "seventeen in all.",
                                          "twenty characters ..",
                                          "twenty-one characters"};
    const unsigned count = sizeof members / sizeof members[0], rounds = 4 * RIO_BUFFER / 20;
    rdbTestBegin();
    for (unsigned i = 0; i < rounds; i++) {
        rdbWriteString(&w, strOf(members[i % count]));
        rdbWriteDouble(&w, i / 7.0);
    }
    struct str bytes = rdbTestWritten();
    sds wanted = sdsnewstr(bytes);
    rdbTestBegin();
    for (unsigned i = 0; i < rounds; i++) rdbWriteScored(&w, strOf(members[i % count]), i / 7.0);
    expectBytes(wanted, sdslen(wanted));
    sdsfree(wanted);
}

/* Returns a string of this length that compresses well, a bit, or not at all. It is never a number, since
 * that would be written as an integer and is no container (integersAreStrings). */
static sds rdbTestText(size_t len, int kind) {
    sds s = sdsgrowzero(sdsempty(), len);
    for (size_t i = 0; i < len; i++)
        s[i] = (char)(kind == 0 ? 'x' : kind == 1 ? 'a' + (int)randomBelow(4) : (int)randomU64());
    if (len && kind == 2) s[0] = (char)(s[0] | 0x80);
    return s;
}

/* Every way of reading a string accepts an integer, except that for containers. */
static void integersAreStrings(void **state) {
    (void)state;
    static const char *const numbers[] = {"0", "7", "-1", "300", "-70000"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct str want = strN(numbers[i], strlen(numbers[i])), s;
        rdbTestBegin();
        for (int n = 0; n < 5; n++) rdbWriteString(&w, want);
        struct rdbReader r = readerOf(rdbTestWritten(), (int)i % 3);
        struct rdbHeld held;
        size_t len;
        assert_true(rdbReadString(&r, &s) && strEq(s, want));
        sds own = rdbReadSds(&r);
        assert_true(own && strEq(sdsview(own), want));
        sdsfree(own);
        assert_true(rdbReadHeld(&r, &held) && strEq(held.s, want));
        rdbHeldFree(&held);
        assert_true(rdbSkipString(&r));
        assert_null(rdbReadBlob(&r, &len));
        assert_true(rioFailed(&r.io));
        rdbReaderFree(&r);
    }
}

static void stringsComeBack(void **state) {
    (void)state;
    static const size_t sizes[] = {0,     1,     20,    21,    63,    64,    247,    248,    249,
                                   16383, 16384, 65535, 65536, 65537, 70000, 300000, 2000000};
    enum { COUNT = sizeof sizes / sizeof *sizes * 3 };
    sds all[COUNT];
    for (int compress = 0; compress < 2; compress++) {
        rdb_compression = compress;
        rdbTestBegin();
        for (int i = 0; i < COUNT; i++)
            rdbWriteString(&w, sdsview(all[i] = rdbTestText(sizes[i / 3], i % 3)));
        struct str bytes = rdbTestWritten();
        for (int way = 0; way < 9; way++) {
            struct rdbReader r = readerOf(bytes, way % 3);
            for (int i = 0; i < COUNT; i++) {
                struct str want = sdsview(all[i]), s;
                struct rdbHeld held = {.own = NULL};
                sds own = NULL;
                size_t len = 0;
                unsigned char *blob = NULL;
                switch (way / 3 ? (int)randomBelow(5) : 0) {
                case 0: assert_true(rdbReadString(&r, &s)); break;
                case 1:
                    assert_non_null(own = rdbReadSds(&r));
                    s = sdsview(own);
                    break;
                case 2:
                    assert_non_null(blob = rdbReadBlob(&r, &len));
                    s = strN((char *)blob, len);
                    break;
                case 3:
                    assert_true(rdbReadHeld(&r, &held));
                    s = held.s;
                    break;
                default: assert_true(rdbSkipString(&r)); s = want;
                }
                assert_true(strEq(s, want));
                sdsfree(own);
                zfree(blob);
                rdbHeldFree(&held);
            }
            assert_true(rioAtEnd(&r.io));
            assert_false(rioFailed(&r.io));
            rdbReaderFree(&r);
        }
        for (int i = 0; i < COUNT; i++) sdsfree(all[i]);
    }
    rdb_compression = true;
}

/* Compression stops being tried while strings do not get shorter, and starts again with one that does. */
static void compressionIsLearnt(void **state) {
    (void)state;
    enum { RANDOM = 1000, EQUAL = 200, SIZE = 1000 };
    char bytes[SIZE];
    for (int learns = 0; learns < 2; learns++) {
        rdbTestBegin();
        w.lzf_learns = learns;
        for (int i = 0; i < RANDOM; i++) {
            randomBytes(bytes, sizeof bytes);
            rdbWriteString(&w, strN(bytes, sizeof bytes));
        }
        assert_int_equal(w.lzf_skips > 0, learns);
        uint64_t before = rioWritten(&w);
        memset(bytes, 'a', sizeof bytes);
        for (int i = 0; i < EQUAL; i++) rdbWriteString(&w, strN(bytes, sizeof bytes));
        uint64_t took = rioWritten(&w) - before;
        assert_true(learns ? took < EQUAL * SIZE / 2 : took < EQUAL * SIZE / 10);
        assert_int_equal(w.lzf_failed, 0);
        assert_int_equal(w.lzf_skips, 0);
        struct rdbReader r = readerOf(rdbTestWritten(), 0);
        for (int i = 0; i < RANDOM; i++) assert_true(rdbSkipString(&r));
        for (int i = 0; i < EQUAL; i++) {
            struct str got;
            assert_true(rdbReadString(&r, &got) && strEq(got, strN(bytes, sizeof bytes)));
        }
        rdbReaderFree(&r);
    }
}

static void whatIsHeldStays(void **state) {
    (void)state;
    rdbTestBegin();
    rdbWriteString(&w, STR("12"));
    rdbWriteString(&w, STR("34"));
    sds longer = rdbTestText(100000, 1), other = rdbTestText(100000, 2);
    rdbWriteString(&w, sdsview(longer));
    rdbWriteString(&w, sdsview(other));
    struct rdbReader r = readerOf(rdbTestWritten(), 2);
    struct rdbHeld a, b, c;
    struct str s;
    assert_true(rdbReadHeld(&r, &a) && rdbReadHeld(&r, &b) && rdbReadHeld(&r, &c) && rdbReadString(&r, &s));
    assert_true(strEq(a.s, STR("12")) && strEq(b.s, STR("34")) && strEq(c.s, sdsview(longer)));
    rdbHeldFree(&a);
    rdbHeldFree(&b);
    rdbHeldFree(&c);
    rdbHeldFree(&c);
    rdbReaderFree(&r);
    sdsfree(longer);
    sdsfree(other);
}

/* ---- Announced lengths that do not follow ---- */

static void expectNoString(struct str bytes) {
    for (int way = 0; way < 3; way++) {
        struct str s;
        size_t len;
        struct rdbReader r = readerOf(bytes, way);
        assert_false(rdbReadString(&r, &s));
        assert_true(rioFailed(&r.io));
        rdbReaderFree(&r);
        r = readerOf(bytes, way);
        assert_null(rdbReadBlob(&r, &len));
        rdbReaderFree(&r);
        r = readerOf(bytes, way);
        assert_null(rdbReadSds(&r));
        rdbReaderFree(&r);
    }
}
#define EXPECT_NONE(literal) expectNoString(STR(literal))

static void rdbTestLies(void **state) {
    (void)state;
    EXPECT_NONE("");
    EXPECT_NONE("\x05"
                "abcd");
    EXPECT_NONE("\x40");
    EXPECT_NONE("\x80\xff\xff\xff\xff"
                "abc");
    EXPECT_NONE("\x81\x00\x00\x10\x00\x00\x00\x00\x00"
                "abc");
    EXPECT_NONE("\x81\xff\xff\xff\xff\xff\xff\xff\xff"
                "abc");
    EXPECT_NONE("\x82"
                "abc");
    EXPECT_NONE("\xbf"
                "abc");
    EXPECT_NONE("\xc4"
                "abc");
    EXPECT_NONE("\xff"
                "abc");
    EXPECT_NONE("\xc3\x03\x80\x7f\xff\xff\xff"
                "abc"); /* compressed data that cannot be decompressed */
    EXPECT_NONE("\xc3\x03\x20"
                "abc");
    EXPECT_NONE("\xc3\x00\x05");
    EXPECT_NONE("\xc3\x20\x05"
                "abc");
    EXPECT_NONE("\xc3\xc0\x05\x05"
                "abc");
}

static void rdbTestCounts(void **state) {
    (void)state;
    uint64_t n;
    struct rdbReader r = readerOf(STR("\x03"
                                      "abcdef"),
                                  0);
    assert_true(rdbReadCount(&r, 2, &n) && n == 3);
    rdbReaderFree(&r);
    r = readerOf(STR("\x03"
                     "abcde"),
                 0);
    assert_false(rdbReadCount(&r, 2, &n));
    rdbReaderFree(&r);
    r = readerOf(STR("\xc0\x01"), 0);
    assert_false(rdbReadCount(&r, 1, &n));
    rdbReaderFree(&r);
    /* A socket's length is unknown, so memory for elements is allocated in portions. */
    r = readerOf(STR("\x81\x7f\xff\xff\xff\xff\xff\xff\xff"), 2);
    assert_true(rdbReadCount(&r, 2, &n));
    assert_int_equal(rdbPresize(&r, n), 1 << 20);
    assert_int_equal(rdbPresize(&r, 5), 5);
    rdbReaderFree(&r);
}

/* ---- Payloads ---- */

static void rdbTestPayloads(void **state) {
    (void)state;
    /* This payload is the string 1 as Redis 7.0.15 writes it. */
    static const char known[] = "\x00\xc0\x01\x0a\x00&x\xe7\xb6\xd1\x01\x11\xfc";
    struct str body, payload = strN(known, sizeof known - 1);
    int version;
    assert_true(rdbDumpValid(payload, &body, &version));
    assert_int_equal(version, 10);
    assert_int_equal(body.len, 3);
    sds own = rdbDumpSeal(sdsnewlen(known, 3), 10);
    assert_true(strEq(sdsview(own), payload));
    sdsfree(own);
    for (size_t cut = 0; cut < payload.len; cut++) assert_false(rdbDumpValid(strN(known, cut), &body, NULL));
    for (int v = 0; v < 100; v++) {
        own = rdbDumpSeal(sdsnewlen(known, 3), v);
        rdb_version_check = RDB_CHECK_STRICT;
        assert_int_equal(rdbDumpValid(sdsview(own), &body, NULL), (v >= 1 && v <= 13) || v == 80 || v == 81);
        rdb_version_check = RDB_CHECK_RELAXED;
        assert_int_equal(rdbDumpValid(sdsview(own), &body, NULL), v >= 1);
        own[1] ^= 1;
        assert_false(rdbDumpValid(sdsview(own), &body, NULL));
        sdsfree(own);
    }
    rdb_version_check = RDB_CHECK_STRICT;
}

/* ---- Commands ---- */

static void commandsAsText(void **state) {
    (void)state;
    rdbTestBegin();
    rewriteCommand(&w, 4);
    rewriteArg(&w, STR("SET"));
    rewriteArg(&w, STR(""));
    rewriteArgInt(&w, -15);
    rewriteArg(&w, STR("0.1"));
    EXPECT("*4\r\n$3\r\nSET\r\n$0\r\n\r\n$3\r\n-15\r\n$3\r\n0.1\r\n");
}

static void itemsInPortions(void **state) {
    (void)state;
    for (uint64_t n = 1; n < 200; n++) {
        rdbTestBegin();
        struct rewriteItems items = {
            .w = &w, .left = n, .args_per_item = 2, .name = STR("ZADD"), .key = STR("k")};
        for (uint64_t i = 0; i < n; i++) {
            rewriteItem(&items);
            rewriteArgInt(&w, (int64_t)i);
            rewriteArg(&w, STR("m"));
        }
        struct str s = rdbTestWritten();
        int64_t words = 0, commands = 0, announced = 0;
        for (size_t i = 0; i < s.len; i++) {
            words += s.ptr[i] == '$';
            if (s.ptr[i] != '*') continue;
            commands++;
            int64_t argc = strtoll(s.ptr + i + 1, NULL, 10);
            assert_true(argc <= 2 + 2 * REWRITE_ITEMS_PER_COMMAND);
            announced += argc;
        }
        assert_int_equal(commands, (n + 63) / 64);
        assert_int_equal(words, announced);
        assert_int_equal(words, 2 * commands + 2 * (int64_t)n);
    }
}

static int rdbTestSetup(void **state) {
    (void)state;
    modelSeed();
    rdb_compression = true;
    return 0;
}

static int rdbTestTeardown(void **state) {
    (void)state;
    sdsfree(out);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rdbTestLengths),    cmocka_unit_test(fixedNumbers),
        cmocka_unit_test(scoresAsText),      cmocka_unit_test(stringsAsIntegers),
        cmocka_unit_test(membersWithScores), cmocka_unit_test(integersAreStrings),
        cmocka_unit_test(stringsComeBack),   cmocka_unit_test(compressionIsLearnt),
        cmocka_unit_test(whatIsHeldStays),   cmocka_unit_test(rdbTestLies),
        cmocka_unit_test(rdbTestCounts),     cmocka_unit_test(rdbTestPayloads),
        cmocka_unit_test(commandsAsText),    cmocka_unit_test(itemsInPortions),
    };
    return cmocka_run_group_tests(tests, rdbTestSetup, rdbTestTeardown);
}
