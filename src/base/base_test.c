/* SPDX-License-Identifier: BSD-3-Clause */
/* base_test.c - the rest of base/: allocator accounting, hash, checksums, glob, random
 * numbers, clock, log, assertions. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/crc.h"
#include "base/glob.h"
#include "base/hash_function.h"
#include "base/log.h"
#include "base/log_limit.h"
#include "base/model_ops.h"
#include "base/random.h"
#include "base/sha1.h"
#include "base/sha256.h"
#include "base/zmalloc.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

/* Makes sanitizers refuse absurd sizes, too. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "allocator_may_return_null=1";
}
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) {
    return "allocator_may_return_null=1";
}

/* ---- zmalloc ---- */

/* The compiler may drop a malloc that is followed by its free, unless the pointer is visible to others. */
static void *volatile seen;

static void memoryIsAccounted(void **state) {
    (void)state;
    size_t start = zmallocUsedMemory();
    seen = zmalloc(1000);
    assert_true(zmallocUsedMemory() == start + zmallocSize(seen));
    assert_true(zmallocSize(seen) >= 1000);
    seen = zrealloc(seen, 100000);
    assert_true(zmallocUsedMemory() == start + zmallocSize(seen));
    zfreeSized(seen, 100000);
    assert_true(zmallocUsedMemory() == start);
    seen = zcalloc(10, 10);
    for (int i = 0; i < 100; i++) assert_int_equal(((char *)seen)[i], 0);
    zfreeSized(seen, 100);
    seen = zstrdup("text");
    assert_string_equal(seen, "text");
    zfree(seen);
    zfree(NULL);
    zfreeSized(NULL, 10);
    assert_true(zmallocUsedMemory() == start);
}

static void sizeZeroIsValid(void **state) {
    (void)state;
    size_t start = zmallocUsedMemory();
    void *p[] = {zmalloc(0), zcalloc(0, 8), zrealloc(NULL, 0), zrealloc(zmalloc(10), 0),
                 zmallocAligned(64, 0)};
    for (size_t i = 0; i < COUNT(p); i++) assert_non_null(p[i]);
    for (size_t i = 0; i < COUNT(p); i++) zfree(p[i]);
    zfreeSized(zmalloc(0), 0);
    assert_true(zmallocUsedMemory() == start);
}

static void goodSizeIsWhatMallocGives(void **state) {
    (void)state;
    void *byte = zmalloc(1);
    bool exact = zmallocSize(byte) == 1;
    zfree(byte);
    if (exact) {
        print_message("skipped: this malloc gives exactly what is asked for, as valgrind's does\n");
        skip();
    }
    for (size_t size = 0; size < 5000; size += 7) {
        void *p = zmalloc(size);
        assert_true(zmallocGoodSize(size) >= size);
        assert_int_equal(zmallocSize(p) > 0 ? zmallocSize(p) : 1, zmallocGoodSize(size));
        zfreeSized(p, zmallocGoodSize(size));
    }
}

static void alignedBlocks(void **state) {
    (void)state;
    size_t start = zmallocUsedMemory();
    for (size_t align = 1; align <= 4096; align *= 2) {
        void *p = zmallocAligned(align, align * 3);
        assert_int_equal((uintptr_t)p % align, 0);
        memset(p, 1, align * 3);
        zfreeSized(p, align * 3);
    }
    assert_true(zmallocUsedMemory() == start);
}

/* Between classes of small sizes, and between small and large, contents stay and every byte is counted. */
static void reallocationsOfAllSizes(void **state) {
    (void)state;
    static const size_t sizes[] = {1,   8,   9,   24,  25,  120, 130,  200,
                                   504, 511, 512, 513, 520, 640, 3000, 100000};
    size_t start = zmallocUsedMemory();
    for (size_t i = 0; i < COUNT(sizes); i++) {
        for (size_t j = 0; j < COUNT(sizes); j++) {
            size_t kept = sizes[i] < sizes[j] ? sizes[i] : sizes[j];
            char *p = zmalloc(sizes[i]);
            memset(p, (int)(i * COUNT(sizes) + j), sizes[i]);
            p = zrealloc(p, sizes[j]);
            for (size_t k = 0; k < kept; k++) assert_int_equal(p[k], (char)(i * COUNT(sizes) + j));
            assert_true(zmallocSize(p) >= sizes[j] && zmallocUsedMemory() == start + zmallocSize(p));
            zfreeSized(p, sizes[j]);
            assert_true(zmallocUsedMemory() == start);
        }
    }
}

/* The bytes that zmallocSameRoom reports can be written to, and freed by the new size. */
static void roomForOtherSizes(void **state) {
    (void)state;
    for (size_t was = 1; was < 1100; was++) {
        for (size_t size = was > 70 ? was - 70 : 1; size < was + 70; size++) {
            char *p = zmalloc(was);
            bool same = zmallocSameRoom(p, was, size);
            if (was == size) assert_true(same);
            if (same) assert_true(zmallocSize(p) >= size && zmallocGoodSize(size) == zmallocGoodSize(was));
            if (same) memset(p, 1, size);
            zfreeSized(p, same ? size : was);
        }
    }
}

static void refusedMemory(void **state) {
    (void)state;
    volatile size_t absurd = SIZE_MAX / 2 - 4096;
    void *p = zmalloc(10);
    size_t before = zmallocUsedMemory();
    assert_null(ztrymalloc(absurd));
    assert_null(ztryrealloc(p, absurd));
    assert_true(zmallocUsedMemory() == before);
    zfree(p);
}

enum { BLOCKS = 1000 };
static void *handedOver[BLOCKS];

static void *allocateForOthers(void *arg) {
    (void)arg;
    zmallocThreadStart();
    for (int i = 0; i < BLOCKS; i++) {
        zfree(zmalloc(50));
        handedOver[i] = zmalloc(1 + (size_t)i);
    }
    zmallocThreadExit();
    return NULL;
}

static void memoryOfThreadsIsAccounted(void **state) {
    (void)state;
    pthread_t thread;
    /* The first thread also makes libc allocate for its own. */
    for (int round = 0; round < 3; round++) {
        size_t start = zmallocUsedMemory(), expected = 0;
        assert_int_equal(pthread_create(&thread, NULL, allocateForOthers, NULL), 0);
        pthread_join(thread, NULL);
        for (int i = 0; i < BLOCKS; i++) expected += zmallocSize(handedOver[i]);
        size_t with = zmallocUsedMemory();
        for (int i = 0; i < BLOCKS; i++) zfree(handedOver[i]);
        size_t after = zmallocUsedMemory();
        assert_true(with - after == expected);
        if (round > 0) assert_true(after - start < 1024);
    }
}

static void allocatorFigures(void **state) {
    (void)state;
    struct zmallocStats stats;
    seen = zmalloc(8 << 20);
    memset(seen, 1, 8 << 20);
    zmallocGetStats(&stats);
    assert_true(stats.allocated >= 8 << 20);
    assert_true(stats.active >= 8 << 20);
    assert_true(stats.resident >= 8 << 20);
    assert_true(zmallocRss() >= 8 << 20);
    zfree(seen);
    zmallocPurge();
    zmallocSetBackgroundThread(false);
#ifdef USE_JEMALLOC
    assert_memory_equal(zmallocName(), "jemalloc-", 9);
#else
    assert_string_equal(zmallocName(), "libc");
#endif
}

/* ---- Hash ---- */

/* These values are from CPython 3.11+, whose hash(bytes) is SipHash-1-3, with PYTHONHASHSEED=0
 * (the key is then all zeros). */
static void hashOfKnownTexts(void **state) {
    (void)state;
    static const uint8_t zeros[16];
    hashSetSeed(zeros);
    assert_true(hashBytes("a", 1) == 0x407448d2b89b1813);
    assert_true(hashBytes("abcdefg", 7) == 0x6db12aae9070f506);
    assert_true(hashBytes("abcdefgh", 8) == 0x3f7b849c0b8e35ea);
    assert_true(hashBytes("The quick brown fox", 19) == 0x975e410714568333);
}

/* The paper's algorithm, step by step, for any number of rounds. */
static uint64_t plainSipHash(const uint8_t key[16], const uint8_t *p, size_t len, int perWord, int atEnd) {
    uint64_t k[2], v[4];
    memcpy(k, key, 16);
    v[0] = k[0] ^ 0x736f6d6570736575;
    v[1] = k[1] ^ 0x646f72616e646f6d;
    v[2] = k[0] ^ 0x6c7967656e657261;
    v[3] = k[1] ^ 0x7465646279746573;
#define ROTATE(x, n) ((x) << (n) | (x) >> (64 - (n)))
    for (size_t word = 0; word <= len / 8 + 1; word++) {
        bool end = word == len / 8 + 1;
        uint64_t m = word == len / 8 ? (uint64_t)len << 56 : 0;
        for (size_t i = 0; i < 8 && word * 8 + i < len; i++) m |= (uint64_t)p[word * 8 + i] << (8 * i);
        if (end)
            v[2] ^= 0xff;
        else
            v[3] ^= m;
        for (int round = 0; round < (end ? atEnd : perWord); round++) {
            v[0] += v[1];
            v[2] += v[3];
            v[1] = ROTATE(v[1], 13) ^ v[0];
            v[3] = ROTATE(v[3], 16) ^ v[2];
            v[0] = ROTATE(v[0], 32);
            v[2] += v[1];
            v[0] += v[3];
            v[1] = ROTATE(v[1], 17) ^ v[2];
            v[3] = ROTATE(v[3], 21) ^ v[0];
            v[2] = ROTATE(v[2], 32);
        }
        if (!end) v[0] ^= m;
    }
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static void hashOfEveryLength(void **state) {
    (void)state;
    uint8_t key[16], text[200], lower[200];
    for (uint8_t i = 0; i < 16; i++) key[i] = text[i] = i;
    /* The one vector of the paper, appendix A. */
    assert_true(plainSipHash(key, text, 15, 2, 4) == 0xa129ca6149be45e5);

    randomBytes(key, sizeof(key));
    randomBytes(text, sizeof(text));
    for (size_t i = 0; i < sizeof(text); i++)
        lower[i] = text[i] >= 'A' && text[i] <= 'Z' ? text[i] | 0x20 : text[i];
    hashSetSeed(key);
    for (size_t len = 0; len <= sizeof(text); len++) {
        assert_true(hashBytes(text, len) == plainSipHash(key, text, len, 1, 3));
        assert_true(hashStrNoCase(strN((char *)text, len)) == hashBytes(lower, len));
    }
}

static void hashFoldsLettersOnly(void **state) {
    (void)state;
    for (int c = 0; c < 256; c++) {
        char text[8] = {'x', (char)c, 'x', 'x', 'x', 'x', 'x', (char)c}, lower[8];
        memcpy(lower, text, 8);
        if (c >= 'A' && c <= 'Z') lower[1] = lower[7] = (char)(c | 0x20);
        assert_true(hashStrNoCase(strN(text, 8)) == hashBytes(lower, 8));
        assert_true(hashStrNoCase(strN(text, 3)) == hashBytes(lower, 3));
    }
}

/* ---- Checksums ---- */

static void checksumsOfKnownTexts(void **state) {
    (void)state;
    assert_true(crc64(0, "123456789", 9) == 0xe9c6d914c4b8d9ca);
    assert_true(crc64(0, "", 0) == 0);
    assert_int_equal(crc16("123456789", 9), 0x31c3);
    assert_int_equal(crc16("", 0), 0);
}

/* Compares texts of every length with the definition, bit by bit. */
static void checksumOfKeys(void **state) {
    (void)state;
    uint8_t text[100];
    randomBytes(text, sizeof(text));
    unsigned crc = 0;
    for (size_t len = 0; len < sizeof(text); len++) {
        assert_int_equal(crc16(text, len), crc);
        assert_int_equal(crc16Plain(text, len), crc);
        crc ^= (unsigned)text[len] << 8;
        for (int bit = 0; bit < 8; bit++) crc = (crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1) & 0xffff;
    }
}

static void checksumsInPieces(void **state) {
    (void)state;
    uint8_t text[100];
    randomBytes(text, sizeof(text));
    uint64_t whole = crc64(0, text, sizeof(text)), byBytes = 0;
    for (size_t i = 0; i < sizeof(text); i++) byBytes = crc64(byBytes, text + i, 1);
    assert_true(byBytes == whole);
    for (size_t cut = 0; cut <= sizeof(text); cut++)
        assert_true(crc64(crc64(0, text, cut), text + cut, sizeof(text) - cut) == whole);
}

/* Long texts are computed in another way than byte by byte. */
static void checksumsOfLongTexts(void **state) {
    (void)state;
    uint8_t text[1200];
    randomBytes(text, sizeof(text));
    for (size_t from = 0; from < 20; from++) {
        uint64_t start = randomU64(), bytewise = start;
        for (size_t len = 0; len <= sizeof(text) - from; len++) {
            assert_true(crc64(start, text + from, len) == bytewise);
            if (from + len < sizeof(text)) bytewise = crc64(bytewise, text + from + len, 1);
        }
    }
}

static void sha1OfKnownTexts(void **state) {
    (void)state;
    char hex[41];
    sha1Hex(hex, "", 0);
    assert_string_equal(hex, "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    sha1Hex(hex, "abc", 3);
    assert_string_equal(hex, "a9993e364706816aba3e25717850c26c9cd0d89d");
    const char *two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    sha1Hex(hex, two, strlen(two));
    assert_string_equal(hex, "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
    char *million = zmalloc(1000000);
    memset(million, 'a', 1000000);
    sha1Hex(hex, million, 1000000);
    assert_string_equal(hex, "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
    zfree(million);
}

/* The examples of FIPS 180-4, then every length around the ends of a block, by a digest of all digests
 * (made with Python's hashlib). */
static void sha256OfKnownTexts(void **state) {
    (void)state;
    char hex[SHA256_HEX_LEN + 1], text[200];
    sha256Hex(hex, "", 0);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    sha256Hex(hex, "abc", 3);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    const char *two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    sha256Hex(hex, two, strlen(two));
    assert_string_equal(hex, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    static char all[sizeof text * SHA256_HEX_LEN + 1];
    for (size_t len = 0; len < sizeof text; len++) {
        memset(text, (int)len, len);
        sha256Hex(all + len * SHA256_HEX_LEN, text, len);
    }
    sha256Hex(hex, all, sizeof all - 1);
    assert_string_equal(hex, "c86ce814ed1233ab1d4b273da1b6b13765cd39e72e81ce941452479e70ff1b10");
}

static void sha1InPieces(void **state) {
    (void)state;
    uint8_t text[300], whole[20], pieces[20];
    randomBytes(text, sizeof(text));
    struct sha1 ctx;
    for (size_t len = 0; len <= sizeof(text); len++) {
        sha1Init(&ctx);
        sha1Update(&ctx, text, len);
        sha1Final(&ctx, whole);
        size_t cut = randomBelow(len + 1);
        sha1Init(&ctx);
        sha1Update(&ctx, text, cut);
        for (size_t i = cut; i < len; i++) sha1Update(&ctx, text + i, 1);
        sha1Final(&ctx, pieces);
        assert_memory_equal(whole, pieces, 20);
    }
}

/* ---- Glob ---- */

static void baseTestGlobs(void **state) {
    (void)state;
    static const struct {
        const char *pattern, *text;
        bool matches;
    } cases[] = {
        {"", "", true},
        {"", "a", false},
        {"a", "", false},
        {"*", "", false},
        {"**", "", false},
        {"*", "a", true},
        {"**", "abc", true},
        {"a*", "a", true},
        {"*a", "ba", true},
        {"*a", "ab", false},
        {"a*b*c", "axxbyyc", true},
        {"a*b*c", "axxbyy", false},
        {"*ab", "aab", true},
        {"?", "", false},
        {"?", "a", true},
        {"a?c", "abc", true},
        {"a?c", "ac", false},
        {"[abc]", "b", true},
        {"[abc]", "d", false},
        {"[^abc]", "d", true},
        {"[^abc]", "a", false},
        {"[a-c]x", "bx", true},
        {"[c-a]", "b", true},
        {"[a-c]", "-", false},
        {"[\\]]", "]", true},
        {"[\\a-c]", "b", false},
        {"[\\a-c]", "-", true},
        {"[]a]", "a", false},
        {"[^]", "x", true},
        {"[a", "a", true},
        {"[", "a", false},
        {"[a-]", "]", true},
        {"[a-", "a", true},
        {"\\*", "*", true},
        {"\\*", "a", false},
        {"\\a", "a", true},
        {"\\", "\\", true},
        {"a\\", "a\\", true},
        {"*\\**", "a*b", true},
        {"*\\**", "ab", false},
        {"h[ae]llo*", "hallo!", true},
        {"*[ab]*[cd]", "xaxbxcxd", true},
        {"abc", "abcd", false},
        {"abcd", "abc", false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        if (globMatch(strOf(cases[i].pattern), strOf(cases[i].text), false) != cases[i].matches)
            fail_msg("pattern '%s' on '%s'", cases[i].pattern, cases[i].text);
    }
}

static void globsWithoutCase(void **state) {
    (void)state;
    assert_true(globMatch(STR("MAX*[A-C]x"), STR("maxmemory-bX"), true));
    assert_false(globMatch(STR("MAX*"), STR("maxmemory"), false));
    assert_true(globMatch(STR("[^a]"), STR("b"), true));
    assert_false(globMatch(STR("[^a]"), STR("A"), true));
    assert_false(globMatch(STR("["), STR("{"), true));
    assert_true(globMatch(strN("a\0*", 3), strN("a\0b", 3), false));
    assert_false(globMatch(strN("a\0b", 3), strN("a\0c", 3), false));
}

/* A matcher that backtracked to every star would not finish here. */
static void globThatInvitesBacktracking(void **state) {
    (void)state;
    char text[3000], pattern[2001];
    memset(text, 'a', sizeof(text));
    for (size_t i = 0; i < 2000; i += 2) memcpy(pattern + i, "a*", 2);
    pattern[2000] = 'b';
    int64_t start = monotonicUs();
    assert_false(globMatch(strN(pattern, sizeof(pattern)), strN(text, sizeof(text)), false));
    assert_true(monotonicUs() - start < 2000000);
}

/* ---- Random ---- */

static void randomNumbersAreRepeatable(void **state) {
    (void)state;
    uint64_t first[10];
    randomSeed(42);
    for (int i = 0; i < 10; i++) first[i] = randomU64();
    randomSeed(42);
    for (int i = 0; i < 10; i++) assert_true(randomU64() == first[i]);
    randomSeed(43);
    assert_true(randomU64() != first[0]);
}

/* Chi-squared over 10 cells: with 9 degrees of freedom, above 40 comes once in 130,000; the seed is fixed. */
static void randomNumbersAreEven(void **state) {
    (void)state;
    enum { CELLS = 10, DRAWS = 100000 };
    int below[CELLS] = {0}, real[CELLS] = {0};
    randomSeed(1);
    for (int i = 0; i < DRAWS; i++) {
        uint64_t n = randomBelow(CELLS);
        double d = randomDouble();
        assert_true(n < CELLS && d >= 0 && d < 1);
        below[n]++;
        real[(int)(d * CELLS)]++;
    }
    double sumBelow = 0, sumReal = 0, expected = (double)DRAWS / CELLS;
    for (int i = 0; i < CELLS; i++) {
        sumBelow += pow(below[i] - expected, 2) / expected;
        sumReal += pow(real[i] - expected, 2) / expected;
    }
    assert_true(sumBelow < 40 && sumReal < 40);
    for (int i = 0; i < 100; i++) assert_true(randomBelow(1) == 0);
    /* For 2^64 numbers over 3 * 2^62, every third result would come twice as often if none were refused. */
    int thirds[3] = {0};
    for (int i = 0; i < 30000; i++) thirds[randomBelow((uint64_t)3 << 62) % 3]++;
    for (int i = 0; i < 3; i++) assert_true(abs(thirds[i] - 10000) < 500);
}

static void randomSecrets(void **state) {
    (void)state;
    char a[200], b[200];
    randomHexChars(a, sizeof(a));
    randomHexChars(b, sizeof(b));
    assert_true(memcmp(a, b, sizeof(a)) != 0);
    for (size_t i = 0; i < sizeof(a); i++) assert_non_null(memchr("0123456789abcdef", a[i], 16));
    memset(a, 7, 10);
    randomHexChars(a, 9);
    assert_int_equal(a[9], 7);
}

/* ---- Clock, log, assertions ---- */

static void clocksAgree(void **state) {
    (void)state;
    int64_t wall = ustime(), steady = monotonicUs();
    assert_true(wall > 1600000000LL * 1000000);
    assert_true(llabs(mstime() - wall / 1000) < 1000);
    usleep(2000);
    assert_true(monotonicUs() - steady >= 2000);
}

static char logPath[64];

/* Starts a log file of its own, at level notice. */
static void logBegin(void) {
    snprintf(logPath, sizeof(logPath), "/tmp/base_test_%d.log", (int)getpid());
    unlink(logPath);
    assert_true(logSetFile(logPath));
    logSetLevel(LL_NOTICE);
}

/* Reads the log into buf and logs to stdout again. */
static void logEnd(char *buf, size_t size) {
    FILE *f = fopen(logPath, "r");
    assert_non_null(f);
    size_t n = fread(buf, 1, size - 1, f);
    buf[n] = '\0';
    fclose(f);
    unlink(logPath);
    assert_true(logSetFile(""));
}

static void logLinesHaveTheFormat(void **state) {
    (void)state;
    char text[512], month[4], level, role;
    int pid, day, year, hour, minute, second, ms, used = 0;
    logBegin();
    serverLog(LL_VERBOSE, "dropped");
    logSetRole('S');
    errno = EBADF;
    serverLog(LL_WARNING, "hello %d", 42);
    assert_int_equal(errno, EBADF);
    logSetRole('M');
    logEnd(text, sizeof(text));
    int fields = sscanf(text, "%d:%c %d %3s %d %d:%d:%d.%3d %c %n", &pid, &role, &day, month, &year, &hour,
                        &minute, &second, &ms, &level, &used);
    assert_int_equal(fields, 10);
    assert_int_equal(pid, getpid());
    assert_int_equal(role, 'S');
    assert_int_equal(level, '#');
    assert_true(day >= 1 && day <= 31 && year >= 2024 && hour < 24 && minute < 60 && second <= 60);
    assert_string_equal(text + used, "hello 42\n");
}

static void logLevels(void **state) {
    (void)state;
    char text[2048];
    logBegin();
    logSetLevel(LL_DEBUG);
    assert_int_equal(logGetLevel(), LL_DEBUG);
    for (int level = LL_DEBUG; level <= LL_WARNING; level++) serverLog(level, "at %d", level);
    logSetLevel(LL_NOTHING);
    serverLog(LL_WARNING, "silence");
    logSetLevel(LL_NOTICE);
    logEnd(text, sizeof(text));
    const char *const expected[] = {" . at 0\n", " - at 1\n", " * at 2\n", " # at 3\n"};
    for (int i = 0; i < 4; i++) assert_non_null(strstr(text, expected[i]));
    assert_null(strstr(text, "silence"));
}

static void logRawAndLongAndFromSignal(void **state) {
    (void)state;
    static char text[20000], longText[5001];
    memset(longText, 'y', 5000);
    logBegin();
    serverLog(LL_NOTICE | LL_RAW, "raw %s", "text\n");
    serverLogFromSignal("signal\n");
    serverLog(LL_NOTICE, "<%s>", longText);
    serverLog(LL_NOTICE | LL_RAW, "%s|", longText);
    logEnd(text, sizeof(text));
    assert_memory_equal(text, "raw text\nsignal\n", 16);
    char *open = strchr(text, '<'), *close = strchr(text, '>');
    assert_non_null(open);
    assert_int_equal(close - open, 5001);
    assert_memory_equal(close, ">\ny", 3);
    assert_int_equal(strlen(close), 2 + 5000 + 1);
}

static void logFileThatCannotBeOpened(void **state) {
    (void)state;
    char tooLong[5000];
    assert_false(logSetFile("/nonexistent/dir/file"));
    assert_int_equal(errno, ENOENT);
    memset(tooLong, 'x', sizeof(tooLong));
    tooLong[sizeof(tooLong) - 1] = '\0';
    assert_false(logSetFile(tooLong));
    assert_int_equal(logOpenFd(), STDOUT_FILENO); /* neither file was opened */
    logCloseFd(STDOUT_FILENO);
    assert_true(fcntl(STDOUT_FILENO, F_GETFD) != -1);
}

static void baseTestPanicHook(const char *reason, const char *file, int line) {
    char text[256];
    int n = snprintf(text, sizeof(text), "hook: %s at %s:%d\n", reason, strrchr(file, '/') + 1, line > 0);
    serverLogFromSignal(text);
    (void)n;
    serverPanic("inside the hook");
}

static void failAssertion(void) {
    serverAssert(1 + 1 == 3);
}
static void failPanic(void) {
    serverPanic("reason %d", 7);
}
static void failOom(size_t size) {
    serverLog(LL_WARNING, "oom handler %d", size > 1000000);
}
static void failAllocation(void) {
    volatile size_t absurd = SIZE_MAX / 2 - 4096;
    zmallocSetOomHandler(failOom);
    seen = zmalloc(absurd);
}

/* Runs fn in a child that must abort; its log comes back in buf. */
static void runToAbort(void (*fn)(void), char *buf, size_t size) {
    logBegin();
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        signal(SIGABRT, SIG_DFL);
        serverSetPanicHook(baseTestPanicHook);
        fn();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    logEnd(buf, size);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void failuresAbortWithAReport(void **state) {
    (void)state;
    char text[4096];
    runToAbort(failAssertion, text, sizeof(text));
    assert_non_null(strstr(text, "=== ASSERTION FAILED ===\n"));
    assert_non_null(strstr(text, "'1 + 1 == 3' does not hold\n"));
    assert_non_null(strstr(text, "hook: ASSERTION FAILED '1 + 1 == 3' is not true at base_test.c:1\n"));
    assert_non_null(strstr(text, "Panic: inside the hook ("));
    runToAbort(failPanic, text, sizeof(text));
    assert_non_null(strstr(text, "Panic: reason 7 ("));
    assert_non_null(strstr(text, "hook: reason 7 at base_test.c:1\n"));
    runToAbort(failAllocation, text, sizeof(text));
    assert_non_null(strstr(text, "oom handler 1\n"));
}

/* Children of a process whose threads take the locks of base/: no lock may stay held in a child. */
static _Atomic bool busy;

static void *askForMemoryUsed(void *arg) {
    (void)arg;
    zmallocThreadStart();
    while (busy) zmallocUsedMemory();
    zmallocThreadExit();
    return NULL;
}

static void *writeLog(void *arg) {
    (void)arg;
    while (busy) serverLog(LL_NOTICE, "x");
    return NULL;
}

static void forkWhileBusyWith(void *(*work)(void *)) {
    pthread_t thread;
    busy = true;
    assert_int_equal(pthread_create(&thread, NULL, work, NULL), 0);
    for (int i = 0; i < (int)modelShare(500); i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            alarm(5);
            serverLog(LL_NOTICE, "child");
            _exit(zmallocUsedMemory() == 0);
        }
        int status;
        waitpid(pid, &status, 0);
        if (status != 0) fail_msg("child %d ended with status %d", i, status);
    }
    busy = false;
    pthread_join(thread, NULL);
}

static void childrenInheritNoLocks(void **state) {
    (void)state;
    seen = zmalloc(10);
    assert_true(logSetFile("/dev/null"));
    forkWhileBusyWith(askForMemoryUsed);
    forkWhileBusyWith(writeLog);
    assert_true(logSetFile(""));
    zfree(seen);
}

static void logLimits(void **state) {
    (void)state;
    struct logLimit l = {0};
    unsigned held = 77;
    for (int i = 0; i < LOG_LIMIT_LINES; i++) {
        assert_true(logLimitAllows(&l, 1000000 + i, &held));
        assert_int_equal(held, 0);
    }
    for (int i = 0; i < 500; i++) assert_false(logLimitAllows(&l, 1000000 + LOG_LIMIT_MS - 1, &held));
    assert_true(logLimitAllows(&l, 1000000 + LOG_LIMIT_MS, &held));
    assert_int_equal(held, 500);
    assert_true(logLimitAllows(&l, 1000000 + LOG_LIMIT_MS, &held));
    assert_int_equal(held, 0);
    for (int i = 2; i < LOG_LIMIT_LINES; i++) assert_true(logLimitAllows(&l, 1000000 + LOG_LIMIT_MS, &held));
    assert_false(logLimitAllows(&l, 1000000 + LOG_LIMIT_MS, &held));
    assert_true(logLimitAllows(&l, 5, &held)); /* the clock was set back */
    assert_int_equal(held, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memoryIsAccounted),
        cmocka_unit_test(sizeZeroIsValid),
        cmocka_unit_test(goodSizeIsWhatMallocGives),
        cmocka_unit_test(alignedBlocks),
        cmocka_unit_test(reallocationsOfAllSizes),
        cmocka_unit_test(roomForOtherSizes),
        cmocka_unit_test(refusedMemory),
        cmocka_unit_test(memoryOfThreadsIsAccounted),
        cmocka_unit_test(allocatorFigures),
        cmocka_unit_test(hashOfKnownTexts),
        cmocka_unit_test(hashOfEveryLength),
        cmocka_unit_test(hashFoldsLettersOnly),
        cmocka_unit_test(checksumsOfKnownTexts),
        cmocka_unit_test(checksumsInPieces),
        cmocka_unit_test(checksumOfKeys),
        cmocka_unit_test(checksumsOfLongTexts),
        cmocka_unit_test(sha1OfKnownTexts),
        cmocka_unit_test(sha256OfKnownTexts),
        cmocka_unit_test(sha1InPieces),
        cmocka_unit_test(baseTestGlobs),
        cmocka_unit_test(globsWithoutCase),
        cmocka_unit_test(globThatInvitesBacktracking),
        cmocka_unit_test(randomNumbersAreRepeatable),
        cmocka_unit_test(randomNumbersAreEven),
        cmocka_unit_test(randomSecrets),
        cmocka_unit_test(clocksAgree),
        cmocka_unit_test(logLinesHaveTheFormat),
        cmocka_unit_test(logLevels),
        cmocka_unit_test(logRawAndLongAndFromSignal),
        cmocka_unit_test(logFileThatCannotBeOpened),
        cmocka_unit_test(logLimits),
        cmocka_unit_test(failuresAbortWithAReport),
        cmocka_unit_test(childrenInheritNoLocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
