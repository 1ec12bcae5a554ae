/* SPDX-License-Identifier: BSD-3-Clause */
/* hyperloglog_test.c - HyperLogLogs against a plain array of registers, sparse against dense, the estimate
 * against the truth, and corrupt bytes, which must never be read or written past (run it under ASan). */
#include "ds/hyperloglog.h"

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

#define HEADER 16

struct hllModel {
    uint8_t registers[HLL_REGISTERS];
};

static struct str elementText(uint64_t i, char buf[LONG_STR_SIZE]) {
    return strN(buf, ull2string(buf, i));
}

/* Returns true if a register grew. */
static bool hyperloglogTestModelAdd(struct hllModel *m, struct str element) {
    unsigned index, rank = hllPattern(element, &index);
    if (m->registers[index] >= rank) return false;
    m->registers[index] = (uint8_t)rank;
    return true;
}

static void assertRegisters(const struct hllModel *m, sds hll) {
    static uint8_t registers[HLL_REGISTERS];
    memset(registers, 0, sizeof registers);
    assert_true(hllMergeInto(registers, sdsview(hll)));
    assert_memory_equal(registers, m->registers, sizeof registers);
}

/* ---- Known bytes ---- */

/* The bytes that another server writes for PFADD k a b c; PFCOUNT k. */
static void hyperloglogTestKnown(void **state) {
    (void)state;
    static const unsigned char expected[] = {0x48, 0x59, 0x4c, 0x4c, 1,    0,    0,    0,    3,
                                             0,    0,    0,    0,    0,    0,    0,    0x60, 0xf3,
                                             0x80, 0x50, 0xb1, 0x84, 0x4b, 0xfb, 0x80, 0x42, 0x5a};
    sds hll = hllNew();
    bool changed;
    uint64_t count;
    for (const char *s = "abc"; *s; s++) {
        assert_true(hllAdd(&hll, strN(s, 1), 3000, &changed));
        assert_true(changed);
    }
    assert_true((unsigned char)hll[15] & 0x80);
    assert_true(hllCount(hll, &count));
    assert_int_equal(count, 3);
    assert_int_equal(sdslen(hll), sizeof expected);
    assert_memory_equal(hll, expected, sizeof expected);
    assert_true(hllAdd(&hll, STR("b"), 3000, &changed));
    assert_false(changed);
    assert_memory_equal(hll, expected, sizeof expected);
    sds text = hllDescribe(sdsempty(), sdsview(hll));
    assert_string_equal(text, "Z:8436 v:1,1 Z:4274 v:2,1 Z:3068 v:1,1 Z:603 ");
    sdsfree(text);
    sdsfree(hll);
}

/* Neighbours of one value share an opcode, whatever the order of insertion. */
static void testMergedRuns(void **state) {
    (void)state;
    static const unsigned orders[][4] = {
        {10, 11, 12, 13}, {13, 12, 11, 10}, {10, 13, 11, 12}, {12, 10, 13, 11}};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        sds hll = hllNew();
        uint8_t *registers = zcalloc(1, HLL_REGISTERS);
        for (int k = 0; k < 4; k++) {
            registers[orders[i][k]] = 1;
            assert_true(hllRaise(&hll, registers, false, 3000));
        }
        sds text = hllDescribe(sdsempty(), sdsview(hll));
        assert_string_equal(text, "z:10 v:1,4 Z:16370 ");
        sdsfree(text);
        zfree(registers);
        sdsfree(hll);
    }
}

static void testHeader(void **state) {
    (void)state;
    sds hll = hllNew();
    assert_true(hllIsValid(sdsview(hll)));
    assert_true(hllIsSparse(sdsview(hll)));
    assert_true(hllToDense(&hll));
    assert_false(hllIsSparse(sdsview(hll)));
    assert_true(hllIsValid(sdsview(hll)));
    assert_false(hllIsValid(strN(hll, sdslen(hll) - 1)));
    assert_false(hllIsValid(strN(hll, HEADER - 1)));
    hll[4] = 2;
    assert_false(hllIsValid(sdsview(hll)));
    hll[4] = 0;
    hll[3] = 'l';
    assert_false(hllIsValid(sdsview(hll)));
    sdsfree(hll);
}

/* ---- Against the model ---- */

/* Adds random elements to a sparse one with this limit and to a dense one. */
static void checkAdding(size_t sparse_max, uint64_t elements, uint64_t check_every) {
    struct hllModel *m = zcalloc(1, sizeof *m);
    sds sparse = hllNew(), dense = hllNew();
    bool was_dense = false;
    assert_true(hllToDense(&dense));
    for (uint64_t i = 1; i <= elements; i++) {
        char buf[LONG_STR_SIZE];
        struct str element = elementText(randomBelow(2 * elements), buf);
        bool grew = hyperloglogTestModelAdd(m, element), a, b;
        assert_true(hllAdd(&sparse, element, sparse_max, &a));
        assert_true(hllAdd(&dense, element, sparse_max, &b));
        assert_int_equal(a, grew);
        assert_int_equal(b, grew);
        bool is_sparse = hllIsSparse(sdsview(sparse));
        assert_false(is_sparse && was_dense);
        was_dense = !is_sparse;
        if (is_sparse && a && sdslen(sparse) > HEADER + 2) assert_true(sdslen(sparse) <= sparse_max);
        if (i % check_every) continue;
        uint64_t x, y;
        assertRegisters(m, sparse);
        assertRegisters(m, dense);
        assert_true(hllCount(sparse, &x));
        assert_true(hllCount(dense, &y));
        assert_int_equal(x, y);
        assert_int_equal(x, hllCountRegisters(m->registers));
        if (!is_sparse) assert_memory_equal(sparse, dense, sdslen(dense));
    }
    sdsfree(sparse);
    sdsfree(dense);
    zfree(m);
}

static void hyperloglogTestModel(void **state) {
    (void)state;
    static const size_t limits[] = {0, 20, 30, 100, 500, 3000, 12000, 20000, 100000};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        checkAdding(limits[i], 300, 1);
        checkAdding(limits[i], modelShare(20000), 1000);
    }
}

/* Every register can take every value that fits six bits, without touching its neighbours. */
static void testAllRegisters(void **state) {
    (void)state;
    for (int round = 0; round < 20; round++) {
        struct hllModel *m = zcalloc(1, sizeof *m);
        unsigned highest = round % 2 ? 32 : 51, filled = 1 + (unsigned)randomBelow(100);
        for (unsigned i = 0; i < HLL_REGISTERS; i++)
            if (randomBelow(100) < filled) m->registers[i] = (uint8_t)randomBelow(highest + 1);
        sds hll = hllNew();
        assert_true(hllRaise(&hll, m->registers, round % 3 == 0, 1 << 20));
        if (round % 3 == 0 || highest > 32) assert_false(hllIsSparse(sdsview(hll)));
        assertRegisters(m, hll);
        assert_true(hllToDense(&hll));
        assertRegisters(m, hll);
        sdsfree(hll);
        zfree(m);
    }
}

static void hyperloglogTestMerge(void **state) {
    (void)state;
    for (int round = 0; round < 100; round++) {
        struct hllModel *all = zcalloc(1, sizeof *all);
        uint8_t *merged = zcalloc(1, HLL_REGISTERS);
        for (int part = 0; part < 3; part++) {
            sds hll = hllNew();
            for (uint64_t i = randomBelow(2000); i; i--) {
                char buf[LONG_STR_SIZE];
                struct str element = elementText(randomBelow(5000), buf);
                bool changed;
                hyperloglogTestModelAdd(all, element);
                assert_true(hllAdd(&hll, element, part == 1 ? 0 : 3000, &changed));
            }
            assert_true(hllMergeInto(merged, sdsview(hll)));
            sdsfree(hll);
        }
        assert_memory_equal(merged, all->registers, HLL_REGISTERS);
        zfree(merged);
        zfree(all);
    }
}

/* ---- The estimate ---- */

/* The standard error is 1.04 / sqrt(16384) = 0.81%. Over many trials its mean square must be near that, and
 * its mean near zero. */
static void testAccuracy(void **state) {
    (void)state;
    static const uint64_t sizes[] = {10, 100, 1000, 10000, 50000, 100000};
    uint64_t next = 1;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes && sizes[k] <= modelOps(); k++) {
        double sum = 0, squares = 0;
        enum { TRIALS = 40 };
        for (int t = 0; t < TRIALS; t++) {
            struct hllModel *m = zcalloc(1, sizeof *m);
            char buf[LONG_STR_SIZE];
            for (uint64_t i = 0; i < sizes[k]; i++) hyperloglogTestModelAdd(m, elementText(next++, buf));
            double error = ((double)hllCountRegisters(m->registers) - (double)sizes[k]) / (double)sizes[k];
            sum += error;
            squares += error * error;
            assert_true(fabs(error) < 5 * 0.0082);
            zfree(m);
        }
        assert_true(sqrt(squares / TRIALS) < 1.5 * 0.0082);
        assert_true(fabs(sum / TRIALS) < 4 * 0.0082 / sqrt(TRIALS));
    }
}

static void testCache(void **state) {
    (void)state;
    sds hll = hllNew();
    uint64_t count;
    assert_true(hllCount(hll, &count));
    assert_int_equal(count, 0);
    memcpy(hll + 8, "\x39\x30\0\0\0\0\0\0", 8); /* a count that is not stale is returned */
    assert_true(hllCount(hll, &count));
    assert_int_equal(count, 12345);
    hll[15] = (char)0x80;
    assert_true(hllCount(hll, &count));
    assert_int_equal(count, 0);
    sdsfree(hll);
}

/* ---- Corrupt bytes ---- */

/* Makes sparse bytes, some of which are changed, cut off or doubled. */
static sds corruptBytes(void) {
    sds hll = hllNew();
    bool changed;
    char buf[LONG_STR_SIZE];
    for (uint64_t i = randomBelow(200); i; i--) hllAdd(&hll, elementText(randomU64(), buf), 100000, &changed);
    for (uint64_t i = randomBelow(4); i && sdslen(hll) > HEADER; i--)
        hll[HEADER + randomBelow(sdslen(hll) - HEADER)] = (char)randomU64();
    if (randomBelow(4) == 0) sdssetlen(hll, HEADER + randomBelow(sdslen(hll) - HEADER + 1));
    if (randomBelow(4) == 0) {
        size_t len = sdslen(hll) - HEADER, from = randomBelow(len + 1);
        hll = sdsMakeRoomFor(hll, len);
        hll = sdscatlen(hll, hll + HEADER + from, len - from);
    }
    return hll;
}

/* Decodes the registers independently; false if they are not complete. */
static bool hyperloglogTestDecode(struct str s, uint8_t registers[HLL_REGISTERS]) {
    const unsigned char *p = (const unsigned char *)s.ptr + HEADER,
                        *end = (const unsigned char *)s.ptr + s.len;
    unsigned n = 0;
    while (p < end) {
        unsigned length, value = 0;
        if (*p & 0x80) {
            value = (*p >> 2 & 31) + 1u;
            length = (*p & 3) + 1u;
        } else if (*p & 0x40) {
            if (p + 1 == end) return false;
            length = ((*p & 63u) << 8) + p[1] + 1;
            p++;
        } else {
            length = (*p & 63) + 1u;
        }
        p++;
        if (length > HLL_REGISTERS - n) return false;
        while (length--) registers[n++] = (uint8_t)value;
    }
    return n == HLL_REGISTERS;
}

/* Runs the readers on an exact allocation, so that ASan sees the first byte read too far. */
static void checkReaders(sds hll, bool good, const uint8_t *expected) {
    size_t len = sdslen(hll);
    char *exact = malloc(len);
    uint8_t *registers = zcalloc(1, HLL_REGISTERS);
    memcpy(exact, hll, len);
    assert_true(hllIsValid(strN(exact, len)));
    assert_int_equal(hllMergeInto(registers, strN(exact, len)), good);
    if (good) assert_memory_equal(registers, expected, HLL_REGISTERS);
    sdsfree(hllDescribe(sdsempty(), strN(exact, len)));
    zfree(registers);
    free(exact);
}

static void checkWriters(sds hll, bool good) {
    uint64_t count;
    sds a = sdsdup(hll), b = sdsdup(hll), c = sdsdup(hll);
    assert_int_equal(hllToDense(&a), good);
    if (!good) assert_true(strEq(sdsview(a), sdsview(hll)));
    b[15] = (char)0x80;
    assert_int_equal(hllCount(b, &count), good);
    for (int i = 0; i < 30; i++) {
        char buf[LONG_STR_SIZE];
        bool changed;
        sds before = sdsdup(c);
        bool ok = hllAdd(&c, elementText(randomU64(), buf), i % 2 ? 3000 : 50, &changed);
        assert_true(ok || (!changed && strEq(sdsview(c), sdsview(before))));
        if (good) assert_true(ok);
        sdsfree(before);
    }
    sdsfree(a);
    sdsfree(b);
    sdsfree(c);
}

static void testCorrupt(void **state) {
    (void)state;
    uint8_t *expected = zmalloc(HLL_REGISTERS);
    int good_ones = 0;
    for (int i = 0; i < 6000; i++) {
        sds hll = corruptBytes();
        bool good = hyperloglogTestDecode(sdsview(hll), expected);
        good_ones += good;
        checkReaders(hll, good, expected);
        checkWriters(hll, good);
        sdsfree(hll);
    }
    assert_in_range(good_ones, 500, 5500);
    zfree(expected);
}

/* Dense registers hold six bits, more than the hash can give. */
static void testCorruptDense(void **state) {
    (void)state;
    for (int i = 0; i < 300; i++) {
        sds hll = hllNew();
        uint64_t count;
        assert_true(hllToDense(&hll));
        for (size_t k = HEADER; k < sdslen(hll); k++) hll[k] = (char)(i == 0 ? 0xff : randomU64());
        hll[15] = (char)0x80;
        assert_true(hllCount(hll, &count));
        char buf[LONG_STR_SIZE];
        bool changed;
        assert_true(hllAdd(&hll, elementText(randomU64(), buf), 3000, &changed));
        sdsfree(hll);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hyperloglogTestKnown), cmocka_unit_test(testMergedRuns),
        cmocka_unit_test(testHeader),           cmocka_unit_test(hyperloglogTestModel),
        cmocka_unit_test(testAllRegisters),     cmocka_unit_test(hyperloglogTestMerge),
        cmocka_unit_test(testAccuracy),         cmocka_unit_test(testCache),
        cmocka_unit_test(testCorrupt),          cmocka_unit_test(testCorruptDense),
    };
    randomSeed(20);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
