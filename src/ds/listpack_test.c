/* SPDX-License-Identifier: BSD-3-Clause */
/* listpack_test.c - the listpack against an array of strings under random operations; its bytes against the
 * published format; the validator against corrupted data.
 *
 *   MODEL_OPS=n   number of operations (default 1,000,000)
 *   SEED=n        repeat a run; the seed is printed
 *   --bench       ns per operation instead of the tests
 *   --hex a b ..  prints the listpack of the arguments in hex; an argument "x*63" is 63 times the letter x */
#include "ds/listpack.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

#include "base/model_ops.h"
#include "base/num.h"
#include "base/random.h"
#include "base/zmalloc.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct str listpackTestOwnCopy(struct str s) {
    char *p = zmalloc(s.len + 1);
    if (s.len) memcpy(p, s.ptr, s.len);
    return strN(p, s.len);
}

/* ---- The model ---- */

#define MODEL_MAX 2048
#define BUF_SIZE  5000

static struct str model[MODEL_MAX];
static size_t modelLen;
static unsigned char *lp;

static void listpackTestModelPut(size_t at, struct str s) {
    memmove(&model[at + 1], &model[at], (modelLen - at) * sizeof(model[0]));
    model[at] = listpackTestOwnCopy(s);
    modelLen++;
}

static void listpackTestModelTake(size_t at, size_t count) {
    for (size_t i = at; i < at + count; i++) zfree((char *)model[i].ptr);
    memmove(&model[at], &model[at + count], (modelLen - at - count) * sizeof(model[0]));
    modelLen -= count;
}

/* Integers near each boundary of the encodings. */
static int64_t randomInt(void) {
    static const int64_t edges[] = {0,       127,      4095,      -4096,     INT16_MAX, INT16_MIN,
                                    8388607, -8388608, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
    uint64_t v = (uint64_t)edges[randomBelow(COUNT(edges))];
    return (int64_t)(randomBelow(3) ? v + randomBelow(5) - 2 : randomU64() >> randomBelow(64));
}

static struct str randomItem(char *buf) {
    size_t len;
    switch (randomBelow(12)) {
    case 0:
    case 1:
    case 2:
    case 3: return strN(buf, ll2string(buf, randomInt()));
    case 4: { /* almost an integer */
        static const char *odd[] = {
            "", "-0", "+1", "007", " 1", "1 ", "9223372036854775808", "0x1", "-", "-9223372036854775809"};
        return strOf(odd[randomBelow(COUNT(odd))]);
    }
    case 5: len = 60 + randomBelow(8); break;
    case 6: len = 120 + randomBelow(10); break;
    case 7: len = randomBelow(32) ? randomBelow(300) : 4090 + randomBelow(12); break;
    default: len = randomBelow(20);
    }
    for (size_t i = 0; i < len; i++)
        buf[i] = (char)(randomBelow(8) ? 'a' + randomBelow(2) : randomBelow(256));
    return strN(buf, len);
}

/* ---- Comparing ---- */

static void expectItem(unsigned char *p, size_t at) {
    char buf[LP_INTBUF_SIZE];
    assert_non_null(p);
    assert_true(strEq(lpView(p, buf), model[at]));
    struct lpValue v;
    int64_t n;
    lpGetValue(p, &v);
    if (string2ll(model[at], &n)) {
        assert_null(v.sval);
        assert_true(v.lval == n);
    } else {
        assert_non_null(v.sval);
        assert_int_equal(v.slen, model[at].len);
    }
}

static bool sameAsModel(unsigned char *p, unsigned long index, void *priv) {
    expectItem(p, index);
    ++*(size_t *)priv;
    return true;
}

static void listpackTestVerifyAll(void) {
    size_t seen = 0;
    assert_int_equal(lpLength(lp), modelLen);
    assert_true(lpValidate(lp, lpBytes(lp), true, sameAsModel, &seen));
    assert_int_equal(seen, modelLen);
    unsigned char *p = lpFirst(lp);
    for (size_t i = 0; i < modelLen; i++, p = lpNext(lp, p)) expectItem(p, i);
    assert_null(p);
    p = lpLast(lp);
    for (size_t i = modelLen; i-- > 0; p = lpPrev(lp, p)) expectItem(p, i);
    assert_null(p);
}

/* ---- Operations ---- */

static void listpackTestOpInsert(void) {
    char buf[BUF_SIZE];
    struct str s = randomItem(buf);
    unsigned char *p = NULL;
    int64_t n;
    if (modelLen == MODEL_MAX) return;
    if (modelLen == 0 || randomBelow(3) == 0) {
        bool front = randomBelow(2);
        if (!front && string2ll(s, &n) && randomBelow(2))
            lp = lpAppendInt(lp, n);
        else
            lp = front ? lpPrepend(lp, s) : lpAppend(lp, s);
        listpackTestModelPut(front ? 0 : modelLen, s);
        return;
    }
    size_t at = randomBelow(modelLen);
    int where = randomBelow(2) ? LP_BEFORE : LP_AFTER;
    unsigned char **newp = randomBelow(4) ? &p : NULL;
    if (string2ll(s, &n) && randomBelow(2))
        lp = lpInsertInt(lp, n, lpSeek(lp, (long)at), where, newp);
    else
        lp = lpInsert(lp, s, lpSeek(lp, (long)at), where, newp);
    at += where == LP_AFTER;
    listpackTestModelPut(at, s);
    if (newp) assert_ptr_equal(p, lpSeek(lp, (long)at));
}

static void listpackTestOpReplace(void) {
    char buf[BUF_SIZE];
    struct str s = randomItem(buf);
    unsigned char *p;
    if (!modelLen) return;
    size_t at = randomBelow(modelLen);
    lp = lpInsert(lp, s, lpSeek(lp, (long)at), LP_REPLACE, &p);
    listpackTestModelTake(at, 1);
    listpackTestModelPut(at, s);
    assert_ptr_equal(p, lpSeek(lp, (long)at));
}

static void listpackTestOpDelete(void) {
    unsigned char *next;
    if (!modelLen) return;
    size_t at = randomBelow(4) ? randomBelow(modelLen) : modelLen - 1;
    lp = lpDelete(lp, lpSeek(lp, (long)at), &next);
    listpackTestModelTake(at, 1);
    assert_ptr_equal(next, at < modelLen ? lpSeek(lp, (long)at) : NULL);
}

static void listpackTestOpDeleteRange(void) {
    size_t at = randomBelow(modelLen + 2), count = randomBelow(randomBelow(20) ? 4 : modelLen + 3);
    if (randomBelow(modelLen + 50) == 0) count = ULONG_MAX;
    long index = (long)at;
    if (at < modelLen && randomBelow(2)) index -= (long)modelLen;
    lp = lpDeleteRange(lp, index, count);
    if (at >= modelLen) return;
    listpackTestModelTake(at, count < modelLen - at ? count : modelLen - at);
}

static void opSeek(void) {
    size_t at = randomBelow(modelLen + 3);
    unsigned char *p = lpSeek(lp, (long)at), *q = lpSeek(lp, (long)at - (long)modelLen);
    if (at >= modelLen) {
        assert_null(p);
        assert_null(lpSeek(lp, -(long)at - 1));
    } else {
        expectItem(p, at);
        assert_ptr_equal(p, q);
    }
}

static void opFind(void) {
    char buf[BUF_SIZE];
    struct str s = modelLen && randomBelow(2) ? model[randomBelow(modelLen)] : randomItem(buf);
    unsigned skip = (unsigned)randomBelow(3);
    size_t at = modelLen ? randomBelow(modelLen) : 0;
    unsigned char *p = lpSeek(lp, (long)at), *found = p ? lpFind(lp, p, s, skip) : NULL;
    while (at < modelLen && !strEq(model[at], s)) at += skip + 1;
    assert_ptr_equal(found, at < modelLen ? lpSeek(lp, (long)at) : NULL);
}

static int listpackTestSign(int v) {
    return (v > 0) - (v < 0);
}

static void opCompare(void) {
    char buf[BUF_SIZE];
    if (!modelLen) return;
    struct str s = randomBelow(2) ? model[randomBelow(modelLen)] : randomItem(buf);
    size_t at = randomBelow(modelLen);
    unsigned char *p = lpSeek(lp, (long)at);
    assert_int_equal(listpackTestSign(lpCompare(p, s)), listpackTestSign(strCmp(model[at], s)));
    assert_int_equal(lpEqual(p, s), strEq(model[at], s));
}

/* Split off a tail and merge it again. */
static void opMerge(void) {
    size_t at = randomBelow(modelLen + 1);
    unsigned char *tail = lpDup(lp);
    tail = lpDeleteRange(tail, 0, at);
    lp = lpDeleteRange(lp, (long)at, ULONG_MAX);
    if (randomBelow(2)) lp = lpShrinkToFit(lp);
    assert_int_equal(lpLength(lp), at);
    unsigned char *head = lp;
    lp = lpMerge(&head, &tail);
    assert_null(head);
    assert_null(tail);
}

static void listpackTestRandomStep(size_t target) {
    uint64_t op = randomBelow(100);
    if (op < 40) {
        modelLen < target || randomBelow(3) == 0 ? listpackTestOpInsert() : listpackTestOpDelete();
    } else if (op < 50) {
        listpackTestOpReplace();
    } else if (op < 55) {
        listpackTestOpDelete();
    } else if (op < 57) {
        listpackTestOpDeleteRange();
    } else if (op < 70) {
        opSeek();
    } else if (op < 85) {
        opFind();
    } else if (op < 97) {
        opCompare();
    } else {
        opMerge();
    }
}

static void listpackTestModel(void **state) {
    (void)state;
    static const size_t targets[] = {1, 4, 10, 30, 128, 512};
    long ops = (long)modelOps();
    size_t target = 1;
    lp = lpNew(0);
    for (long i = 0; i < ops; i++) {
        if (i % 3000 == 0) target = targets[randomBelow(COUNT(targets))];
        listpackTestRandomStep(target);
        if (modelLen < 12 || randomBelow(modelLen) == 0) listpackTestVerifyAll();
    }
    listpackTestVerifyAll();
    listpackTestModelTake(0, modelLen);
    lpFree(lp);
}

/* ---- Bytes ---- */

static void expectHex(struct str s, const char *hex) {
    unsigned char *one = lpAppend(lpNew(0), s), *first = lpFirst(one);
    char got[64] = "";
    size_t n = lpBytes(one) - 7;
    for (size_t i = 0; i < n && i < 20; i++) sprintf(got + 2 * i, "%02x", first[i]);
    assert_string_equal(got, hex);
    assert_int_equal(one[0], (n + 7) & 255);
    assert_int_equal(one[1], (n + 7) >> 8 & 255);
    assert_int_equal(one[4], 1);
    assert_int_equal(one[lpBytes(one) - 1], 0xff);
    lpFree(one);
}

static void testIntBytes(void **state) {
    (void)state;
    static const struct {
        const char *text, *hex;
    } cases[] = {
        {"0", "0001"},
        {"127", "7f01"},
        {"128", "c08002"},
        {"4095", "cfff02"},
        {"-1", "dfff02"},
        {"-4096", "d00002"},
        {"4096", "f1001003"},
        {"-4097", "f1ffef03"},
        {"32767", "f1ff7f03"},
        {"-32768", "f1008003"},
        {"32768", "f200800004"},
        {"-32769", "f2ff7fff04"},
        {"8388607", "f2ffff7f04"},
        {"-8388608", "f200008004"},
        {"8388608", "f30000800005"},
        {"-8388609", "f3ffff7fff05"},
        {"2147483647", "f3ffffff7f05"},
        {"-2147483648", "f30000008005"},
        {"2147483648", "f4000000800000000009"},
        {"-2147483649", "f4ffffff7fffffffff09"},
        {"9223372036854775807", "f4ffffffffffffff7f09"},
        {"-9223372036854775808", "f4000000000000008009"},
        {"", "8001"},
        {"-0", "822d3003"},
        {"01", "82303103"},
        {"abc", "8361626304"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t v;
        expectHex(strOf(cases[i].text), cases[i].hex);
        if (!string2ll(strOf(cases[i].text), &v)) continue;
        unsigned char *a = lpAppend(lpNew(0), strOf(cases[i].text)), *b = lpAppendInt(lpNew(0), v);
        assert_int_equal(lpBytes(a), lpBytes(b));
        assert_memory_equal(a, b, lpBytes(a));
        lpFree(a);
        lpFree(b);
    }
}

/* Heads and backlens of strings at each boundary. The backlens of the sizes 2^14-1 and 2^21-1 have one group
 * more than they need; that is the format. */
static void testStringBytes(void **state) {
    (void)state;
    static const struct {
        size_t len;
        const char *head, *back;
    } cases[] = {
        {1, "81", "02"},
        {63, "bf", "40"},
        {64, "e040", "42"},
        {125, "e07d", "7f"},
        {126, "e07e", "0180"},
        {4095, "efff", "2081"},
        {4096, "f000100000", "2085"},
        {16377, "f0f93f0000", "7ffe"},
        {16378, "f0fa3f0000", "00ffff"},
        {16379, "f0fb3f0000", "018080"},
        {2097145, "f0f9ff1f00", "7ffffe"},
        {2097146, "f0faff1f00", "00ffffff"},
        {2097147, "f0fbff1f00", "01808080"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        size_t headLen = strlen(cases[i].head) / 2, backLen = strlen(cases[i].back) / 2, len = cases[i].len;
        char *text = zmalloc(len), hex[32];
        memset(text, 'x', len);
        unsigned char *one = lpAppendInt(lpAppend(lpNew(0), strN(text, len)), 7), *p = lpFirst(one);
        for (size_t k = 0; k < headLen; k++) sprintf(hex + 2 * k, "%02x", p[k]);
        assert_string_equal(hex, cases[i].head);
        for (size_t k = 0; k < backLen; k++) sprintf(hex + 2 * k, "%02x", p[headLen + len + k]);
        assert_string_equal(hex, cases[i].back);
        assert_int_equal(lpBytes(one), 6 + headLen + len + backLen + 2 + 1);
        assert_ptr_equal(lpPrev(one, lpLast(one)), p);
        assert_true(lpEqual(p, strN(text, len)));
        assert_true(lpValidate(one, lpBytes(one), true, NULL, NULL));
        lpFree(one);
        zfree(text);
    }
}

/* With 65535 elements and more the count is unknown, until a walk counts them. */
static void testManyElements(void **state) {
    (void)state;
    unsigned char *many = lpNew(0), *other;
    for (int i = 0; i < 65540; i++) many = lpAppendInt(many, i % 100);
    assert_int_equal(many[4] | many[5] << 8, 65535);
    assert_int_equal(lpLength(many), 65540);
    assert_true(lpEqual(lpSeek(many, -1), STR("39")));
    assert_true(lpEqual(lpSeek(many, 65539), STR("39")));
    assert_null(lpSeek(many, 65540));
    assert_null(lpSeek(many, -65541));
    assert_true(lpValidate(many, lpBytes(many), true, NULL, NULL));
    many = lpDeleteRange(many, 10, 65000);
    assert_int_equal(many[4] | many[5] << 8, 65535);
    assert_true(lpValidate(many, lpBytes(many), true, NULL, NULL));
    assert_int_equal(lpLength(many), 540);
    assert_int_equal(many[4] | many[5] << 8, 540);
    for (int i = 540; i < 65000; i++) many = lpAppendInt(many, 1);
    other = lpDup(many);
    many = lpMerge(&many, &other);
    assert_int_equal(lpLength(many), 130000);
    lpFree(many);
}

static void listpackTestMemory(void **state) {
    (void)state;
    unsigned char *list = lpNew(1000);
    assert_true(zmallocSize(list) >= 1000);
    list = lpShrinkToFit(list);
    assert_true(zmallocSize(list) <= zmallocGoodSize(7));
    for (int i = 0; i < 1000; i++) list = lpAppend(list, STR("twenty bytes of text"));
    list = lpDeleteRange(list, 5, ULONG_MAX);
    assert_true(zmallocSize(list) < 256); /* given back */
    assert_true(lpSafeToAdd(list, 1000));
    assert_true(lpSafeToAdd(NULL, LISTPACK_MAX_SAFETY_LIMIT));
    assert_false(lpSafeToAdd(list, LISTPACK_MAX_SAFETY_LIMIT));
    assert_false(lpSafeToAdd(NULL, SIZE_MAX));
    lpFree(list);
}

static void testScratch(void **state) {
    (void)state;
    unsigned char *list = lpAppend(lpAppend(lpNew(0), STR("one")), STR("two"));
    assert_null(lpScratch(list, LP_SCRATCH_BYTES)); /* too large */
    unsigned char *copy = lpScratch(list, 20);
    assert_non_null(copy);
    assert_null(lpScratch(list, 0)); /* the buffer is in use */
    assert_ptr_equal(lpDeleteRange(lpPrepend(copy, STR("none")), 1, 1), copy);
    assert_true(lpEqual(lpFirst(copy), STR("none")) && lpEqual(lpLast(copy), STR("two")));
    assert_true(lpEqual(lpFirst(list), STR("one")));
    lpFree(copy);

    assert_non_null(copy = lpScratch(list, 0)); /* given back */
    unsigned char *kept = lpKeep(copy);
    assert_ptr_not_equal(kept, copy);
    assert_ptr_equal(lpKeep(kept), kept);
    assert_memory_equal(kept, list, lpBytes(list));
    assert_true(zmallocSize(kept) <= zmallocGoodSize(lpBytes(list))); /* less in valgrind */

    assert_non_null(copy = lpScratch(kept, 0));
    unsigned char *grown = copy;
    for (int i = 0; i < 20; i++)
        grown = lpAppend(grown, STR("twenty bytes of text")); /* outgrows the buffer */
    assert_ptr_not_equal(grown, copy);
    assert_int_equal(lpLength(grown), 22);
    assert_true(lpEqual(lpFirst(grown), STR("one")));
    assert_ptr_equal(lpScratch(list, 0), copy);
    unsigned char *fit = lpShrinkToFit(copy);
    assert_true(fit != copy && lpLength(fit) == 2);
    lpFree(fit);
    lpFree(grown);
    lpFree(kept);
    lpFree(list);
}

/* ---- The validator ---- */

static bool readEach(unsigned char *p, unsigned long index, void *priv) {
    char buf[LP_INTBUF_SIZE];
    struct str s = lpView(p, buf);
    (void)index;
    for (size_t i = 0; i < s.len; i++) *(unsigned *)priv += (unsigned char)s.ptr[i];
    return true;
}

static bool refuseThird(unsigned char *p, unsigned long index, void *priv) {
    (void)p, (void)priv;
    return index != 2;
}

/* A listpack that the validator accepts can be walked both ways, and its count is right. */
static void walkAccepted(unsigned char *data) {
    unsigned long n = 0, back = 0;
    for (unsigned char *p = lpFirst(data); p; p = lpNext(data, p)) n++;
    for (unsigned char *p = lpLast(data); p; p = lpPrev(data, p)) back++;
    assert_int_equal(n, back);
    assert_int_equal(lpLength(data), n);
}

/* Repairs the header, so that the validator's first check passes. */
static void listpackTestFixHeader(unsigned char *data, size_t size) {
    if (size < 7) return;
    for (int k = 0; k < 4; k++) data[k] = (unsigned char)(size >> 8 * k);
    data[size - 1] = 0xff;
}

static unsigned char evilByte(void) {
    return (unsigned char)(randomBelow(2) ? randomU64() : 0xe0 + randomBelow(32));
}

/* A listpack is cut at every length and its header is repaired: only cuts between two entries are accepted,
 * and nothing outside is read. */
static void testTruncated(void **state) {
    (void)state;
    static const size_t lens[] = {0, 1, 63, 64, 130, 4096, 17000};
    size_t ends[COUNT(lens) + 1] = {6}, end = 0;
    char *text = zmalloc(17000);
    memset(text, 'x', 17000);
    unsigned char *good = lpNew(0);
    for (size_t i = 0; i < COUNT(lens); i++) {
        good = lpAppend(good, strN(text, lens[i]));
        ends[i + 1] = lpBytes(good) - 1;
    }
    good[4] = good[5] = 0xff; /* count unknown */
    for (size_t size = 0; size <= lpBytes(good); size++) {
        unsigned char *cut = malloc(size ? size : 1);
        memcpy(cut, good, size);
        listpackTestFixHeader(cut, size);
        bool whole = size == ends[end] + 1;
        assert_true(lpValidate(cut, size, true, NULL, NULL) == whole);
        end += whole;
        free(cut);
    }
    assert_int_equal(end, COUNT(ends));
    /* The last bytes are entries that claim to be longer than the listpack. */
    for (int first = 0; first < 256; first++) {
        for (size_t room = 1; room < 12; room++) {
            unsigned char *cut = malloc(7 + room);
            memset(cut, first, 7 + room);
            memset(cut + 4, 0xff, 2);
            listpackTestFixHeader(cut, 7 + room);
            if (lpValidate(cut, 7 + room, true, NULL, NULL)) walkAccepted(cut);
            free(cut);
        }
    }
    lpFree(good);
    zfree(text);
}

/* Corrupts valid listpacks in allocations of the exact size,
 * so that ASan and valgrind see any read outside. */
static void testValidate(void **state) {
    (void)state;
    char buf[BUF_SIZE];
    long rounds = (long)modelOps() / 5, accepted = 0;
    unsigned sum = 0;
    for (long i = 0; i < rounds; i++) {
        unsigned char *good = lpNew(0);
        for (uint64_t n = randomBelow(8); n > 0; n--) good = lpAppend(good, randomItem(buf));
        size_t size = lpBytes(good);
        assert_true(lpValidate(good, size, true, readEach, &sum));
        assert_false(lpValidate(good, size - 1, false, NULL, NULL));
        assert_true(lpValidate(good, size, true, refuseThird, NULL) == (lpLength(good) < 3));
        if (randomBelow(4) == 0) size = randomBelow(size + 1); /* cut off */
        unsigned char *bad = malloc(size ? size : 1);
        memcpy(bad, good, size);
        for (uint64_t n = randomBelow(4); size && n > 0; n--) bad[randomBelow(size)] = evilByte();
        if (randomBelow(4)) listpackTestFixHeader(bad, size);
        if (lpValidate(bad, size, true, readEach, &sum)) {
            walkAccepted(bad);
            accepted++;
        }
        free(bad);
        lpFree(good);
    }
    assert_true(accepted > rounds / 10);
    assert_true(accepted < rounds);
}

/* One broken byte each; all must be refused. */
static void listpackTestRefused(void **state) {
    (void)state;
    unsigned char *good = lpAppendInt(lpAppend(lpAppend(lpNew(0), STR("abc")), STR("300")), 5);
    size_t size = lpBytes(good); /* 6: 83 a b c 04 | 11: c1 2c 02 | 14: 05 01 | 16: ff */
    static const struct {
        size_t at;
        unsigned char byte;
    } breaks[] = {{0, 18},    {4, 2},  {4, 4},  {5, 1},     {6, 0x82},  {6, 0xf0},  {6, 0xf5},  {6, 0xff},
                  {10, 0x84}, {10, 3}, {13, 1}, {14, 0xc0}, {14, 0xff}, {14, 0xf4}, {15, 0x81}, {16, 0xfe}};
    assert_int_equal(size, 17);
    for (size_t i = 0; i < COUNT(breaks); i++) {
        unsigned char *bad = lpDup(good);
        bad[breaks[i].at] = breaks[i].byte;
        assert_false(lpValidate(bad, size, true, NULL, NULL));
        lpFree(bad);
    }
    good[4] = good[5] = 0xff; /* an unknown count is no error */
    assert_true(lpValidate(good, size, true, NULL, NULL));
    lpFree(good);
}

/* ---- Benchmark, and bytes for comparison with other implementations ---- */

static double listpackTestNow(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void listpackTestBench(int items) {
    char buf[32];
    int rounds = 2000000 / items;
    uint64_t sum = 0;
    unsigned char *list = NULL;
    double t = listpackTestNow();
    for (int r = 0; r < rounds; r++) {
        if (list) lpFree(list);
        list = lpNew(0);
        for (int i = 0; i < items; i++)
            list = lpAppend(list, strN(buf, (size_t)sprintf(buf, "member:%d", i)));
    }
    double append = listpackTestNow() - t;
    t = listpackTestNow();
    for (int r = 0; r < rounds; r++)
        for (unsigned char *p = lpFirst(list); p; p = lpNext(list, p)) sum += lpView(p, buf).len;
    double walk = listpackTestNow() - t;
    t = listpackTestNow();
    for (int r = 0; r < rounds; r++) sum += (uintptr_t)lpFind(list, lpFirst(list), STR("member:none"), 0);
    double find = listpackTestNow() - t;
    printf("%5d items: append %5.1f ns, walk %4.1f ns, find %4.1f ns per item, %.1f bytes per item%s\n",
           items, append / (rounds * items), walk / (rounds * items), find / (rounds * items),
           (double)zmallocSize(list) / items, sum == 42 ? " " : "");
    lpFree(list);
}

static void printHex(int argc, char **argv) {
    unsigned char *list = lpNew(0);
    for (int i = 0; i < argc; i++) {
        struct str s = strOf(argv[i]);
        char *star = strchr(argv[i], '*'), *text = NULL;
        if (star == argv[i] + 1) {
            s.len = (size_t)atol(star + 1);
            s.ptr = text = zmalloc(s.len);
            memset(text, argv[i][0], s.len);
        }
        list = lpAppend(list, s);
        if (text) zfree(text);
    }
    for (size_t i = 0; i < lpBytes(list); i++) printf("%02x", list[i]);
    printf("\n");
    lpFree(list);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "--bench") == 0) {
        listpackTestBench(5);
        listpackTestBench(128);
        listpackTestBench(1000);
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "--hex") == 0) {
        printHex(argc - 2, argv + 2);
        return 0;
    }
    modelSeed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(testIntBytes),        cmocka_unit_test(testStringBytes),
        cmocka_unit_test(testManyElements),    cmocka_unit_test(listpackTestMemory),
        cmocka_unit_test(listpackTestModel),   cmocka_unit_test(testValidate),
        cmocka_unit_test(listpackTestRefused), cmocka_unit_test(testTruncated),
        cmocka_unit_test(testScratch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
