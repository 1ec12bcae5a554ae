/* SPDX-License-Identifier: BSD-3-Clause */
/* hyperloglog.c - see hyperloglog.h for the format. */
#include "ds/hyperloglog.h"

#include <math.h>

#include "base/assert.h"

#define HEADER       16
#define DENSE_SIZE   (HEADER + HLL_REGISTERS * HLL_BITS / 8)
#define INDEX_BITS   14
#define RANK_BITS    (64 - INDEX_BITS) /* Q in Ertl's paper */
#define REGISTER_MAX ((1 << HLL_BITS) - 1)
#define ALPHA_INF    0.721347520444481703680 /* 1 / (2 ln 2) */
#define MURMUR_SEED  0xadc83b19ull

enum { HLL_DENSE, HLL_SPARSE };

#define ZERO_MAX  64
#define XZERO_MAX 16384
#define VAL_MAX   32 /* largest register of a VAL run */
#define VAL_RUN   4

/* ---- Hash ---- */

static uint64_t hllMurmurHash64A(const unsigned char *p, size_t len) {
    const uint64_t m = 0xc6a4a7935bd1e995ull;
    uint64_t h = MURMUR_SEED ^ (len * m);
    for (; len >= 8; len -= 8, p += 8) {
        uint64_t k;
        memcpy(&k, p, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        k = __builtin_bswap64(k);
#endif
        k *= m;
        k ^= k >> 47;
        h = (h ^ (k * m)) * m;
    }
    if (len) {
        uint64_t k = 0;
        while (len--) k = k << 8 | p[len];
        h = (h ^ k) * m;
    }
    h = (h ^ (h >> 47)) * m;
    return h ^ (h >> 47);
}

unsigned hllPattern(struct str element, unsigned *index) {
    uint64_t hash = hllMurmurHash64A((const unsigned char *)element.ptr, element.len);
    *index = hash & (HLL_REGISTERS - 1);
    hash = hash >> INDEX_BITS | 1ull << RANK_BITS;
    return (unsigned)__builtin_ctzll(hash) + 1;
}

/* ---- Header ---- */

static unsigned char *hllBytesOf(const char *s) {
    return (unsigned char *)s;
}

static void hllMarkStale(sds hll) {
    hll[15] = (char)(hllBytesOf(hll)[15] | 0x80);
}

static uint64_t hllCachedCount(const unsigned char *p) {
    uint64_t v = 0;
    for (int i = 7; i >= 0; i--) v = v << 8 | p[8 + i];
    return v;
}

sds hllNew(void) {
    unsigned char *p;
    sds s = sdsgrowzero(sdsempty(), HEADER + 2);
    p = hllBytesOf(s);
    memcpy(p, "HYLL", 4);
    p[4] = HLL_SPARSE;
    p[HEADER] = 0x40 | (XZERO_MAX - 1) >> 8;
    p[HEADER + 1] = (XZERO_MAX - 1) & 0xff;
    hllMarkStale(s);
    return s;
}

bool hllIsValid(struct str s) {
    if (s.len < HEADER || memcmp(s.ptr, "HYLL", 4)) return false;
    if (s.ptr[4] == HLL_DENSE) return s.len == DENSE_SIZE;
    return s.ptr[4] == HLL_SPARSE;
}

bool hllIsSparse(struct str s) {
    return s.ptr[4] == HLL_SPARSE;
}

/* ---- Dense ---- */

static unsigned hllDenseGet(const unsigned char *registers, unsigned i) {
    debugAssert(i < HLL_REGISTERS);
    unsigned bit = i * HLL_BITS, byte = bit / 8, shift = bit % 8;
    unsigned v = registers[byte] >> shift;
    if (shift > 8 - HLL_BITS) v |= (unsigned)registers[byte + 1] << (8 - shift);
    return v & REGISTER_MAX;
}

static void hllDenseSet(unsigned char *registers, unsigned i, unsigned v) {
    debugAssert(i < HLL_REGISTERS && v <= REGISTER_MAX);
    unsigned bit = i * HLL_BITS, byte = bit / 8, shift = bit % 8;
    registers[byte] = (unsigned char)((registers[byte] & ~(REGISTER_MAX << shift)) | v << shift);
    if (shift > 8 - HLL_BITS) {
        unsigned up = 8 - shift;
        registers[byte + 1] = (unsigned char)((registers[byte + 1] & ~(REGISTER_MAX >> up)) | v >> up);
    }
}

/* ---- Sparse runs ---- */

struct hllRun {
    unsigned value, length;
    size_t bytes; /* bytes of its opcode */
};

/* Reads the run at p; false at a truncated opcode. */
static bool hllReadRun(const unsigned char *p, const unsigned char *end, struct hllRun *r) {
    if (*p & 0x80) {
        *r = (struct hllRun){(unsigned)(*p >> 2 & 0x1f) + 1, (unsigned)(*p & 3) + 1, 1};
    } else if (*p & 0x40) {
        if (p + 1 == end) return false;
        *r = (struct hllRun){0, ((unsigned)(*p & 0x3f) << 8 | p[1]) + 1, 2};
    } else {
        *r = (struct hllRun){0, (unsigned)(*p & 0x3f) + 1, 1};
    }
    return true;
}

/* Writes opcodes for `length` registers of this value and returns their size. A zero run takes one opcode,
 * and so does a VAL run of up to VAL_RUN. */
static size_t hllWriteRun(unsigned char *p, unsigned value, unsigned length) {
    if (length == 0) return 0;
    if (value) {
        serverAssert(value <= VAL_MAX && length <= VAL_RUN);
        *p = (unsigned char)(0x80 | (value - 1) << 2 | (length - 1));
        return 1;
    }
    serverAssert(length <= XZERO_MAX);
    if (length <= ZERO_MAX) {
        *p = (unsigned char)(length - 1);
        return 1;
    }
    p[0] = (unsigned char)(0x40 | (length - 1) >> 8);
    p[1] = (unsigned char)((length - 1) & 0xff);
    return 2;
}

typedef void runFn(void *priv, unsigned first, const struct hllRun *r);

/* Calls fn for all runs in order; false when they do not make up exactly all registers. fn may have been
 * called by then. */
static bool hllForEachRun(struct str s, runFn *fn, void *priv) {
    const unsigned char *p = hllBytesOf(s.ptr) + HEADER, *end = hllBytesOf(s.ptr) + s.len;
    unsigned first = 0;
    while (p < end) {
        struct hllRun r;
        if (!hllReadRun(p, end, &r) || first + r.length > HLL_REGISTERS) return false;
        fn(priv, first, &r);
        first += r.length;
        p += r.bytes;
    }
    return first == HLL_REGISTERS;
}

static void hllIgnoreRun(void *priv, unsigned first, const struct hllRun *r) {
    (void)priv, (void)first, (void)r;
}

bool hllIsWhole(struct str s) {
    return !hllIsSparse(s) || hllForEachRun(s, hllIgnoreRun, NULL);
}

static void hllDenseRun(void *priv, unsigned first, const struct hllRun *r) {
    for (unsigned i = 0; r->value && i < r->length; i++) hllDenseSet(priv, first + i, r->value);
}

bool hllToDense(sds *hll) {
    struct str s = sdsview(*hll);
    if (!hllIsSparse(s)) return true;
    if (!hllForEachRun(s, hllIgnoreRun, NULL)) return false;
    sds dense = sdsgrowzero(sdsempty(), DENSE_SIZE);
    memcpy(dense, s.ptr, HEADER);
    dense[4] = HLL_DENSE;
    hllForEachRun(s, hllDenseRun, hllBytesOf(dense) + HEADER);
    sdsfree(*hll);
    *hll = dense;
    return true;
}

/* Joins neighbouring VAL runs of one value around `at` over a few opcodes, as far as one change can have
 * made that possible. */
static void hllMergeRuns(sds hll, size_t at) {
    for (int scan = 0; scan < 5; scan++) {
        unsigned char *p = hllBytesOf(hll) + at, *end = hllBytesOf(hll) + sdslen(hll);
        struct hllRun a, b;
        if (p >= end || !hllReadRun(p, end, &a)) return;
        if (a.value && p + a.bytes < end && hllReadRun(p + a.bytes, end, &b) && b.value == a.value &&
            a.length + b.length <= VAL_RUN) {
            hllWriteRun(p, a.value, a.length + b.length);
            memmove(p + 1, p + 2, (size_t)(end - p - 2));
            sdssetlen(hll, sdslen(hll) - 1);
            continue;
        }
        at += a.bytes;
    }
}

/* Finds the run of a register. *at, *prev: offsets of it and of the one before it (or of itself); *first:
 * its first register. */
static bool hllFindRun(struct str s, unsigned index, size_t *at, size_t *prev, unsigned *first,
                       struct hllRun *r) {
    const unsigned char *base = hllBytesOf(s.ptr), *p = base + HEADER, *end = base + s.len;
    *first = 0;
    *prev = HEADER;
    while (p < end) {
        if (!hllReadRun(p, end, r)) return false;
        if (index < *first + r->length) {
            *at = (size_t)(p - base);
            return true;
        }
        *first += r->length;
        *prev = (size_t)(p - base);
        p += r->bytes;
    }
    return false;
}

static bool hllSparseSet(sds *hll, unsigned index, unsigned rank, size_t sparse_max, bool *changed);

static bool hllDenseRaise(sds *hll, unsigned index, unsigned rank, bool *changed) {
    unsigned char *registers = hllBytesOf(*hll) + HEADER;
    if (rank <= hllDenseGet(registers, index)) return true;
    hllDenseSet(registers, index, rank);
    *changed = true;
    return true;
}

static bool hyperloglogRaise(sds *hll, unsigned index, unsigned rank, size_t sparse_max, bool *changed) {
    if (hllIsSparse(sdsview(*hll))) return hllSparseSet(hll, index, rank, sparse_max, changed);
    return hllDenseRaise(hll, index, rank, changed);
}

/* Cuts the run that holds the register into up to three: the part before it, the register, the part behind
 * it. */
static bool hllSparseSet(sds *hll, unsigned index, unsigned rank, size_t sparse_max, bool *changed) {
    if (rank > VAL_MAX) return hllToDense(hll) && hllDenseRaise(hll, index, rank, changed);
    size_t at, prev;
    unsigned first;
    struct hllRun r;
    if (!hllFindRun(sdsview(*hll), index, &at, &prev, &first, &r)) return false;
    if (rank <= r.value) return true;
    unsigned char pieces[5];
    size_t n = hllWriteRun(pieces, r.value, index - first);
    n += hllWriteRun(pieces + n, rank, 1);
    n += hllWriteRun(pieces + n, r.value, first + r.length - index - 1);
    size_t size = sdslen(*hll), now = size - r.bytes + n;
    if (now > size && now > sparse_max) return hllToDense(hll) && hllDenseRaise(hll, index, rank, changed);
    *hll = sdsMakeRoomForExact(*hll, n);
    unsigned char *p = hllBytesOf(*hll) + at;
    memmove(p + n, p + r.bytes, size - at - r.bytes);
    memcpy(p, pieces, n);
    sdssetlen(*hll, now);
    *changed = true;
    hllMergeRuns(*hll, prev);
    return true;
}

bool hllAdd(sds *hll, struct str element, size_t sparse_max, bool *changed) {
    unsigned index, rank = hllPattern(element, &index);
    *changed = false;
    if (!hyperloglogRaise(hll, index, rank, sparse_max, changed)) return false;
    if (*changed) hllMarkStale(*hll);
    return true;
}

bool hllRaise(sds *hll, const uint8_t registers[HLL_REGISTERS], bool dense, size_t sparse_max) {
    bool changed = false;
    if (dense && !hllToDense(hll)) return false;
    for (unsigned i = 0; i < HLL_REGISTERS; i++) {
        if (registers[i] && !hyperloglogRaise(hll, i, registers[i], sparse_max, &changed)) return false;
    }
    hllMarkStale(*hll);
    return true;
}

/* ---- Counting ---- */

static double hllSigma(double x) {
    if (x == 1) return INFINITY;
    double y = 1, z = x, before;
    do {
        x *= x;
        before = z;
        z += x * y;
        y += y;
    } while (before != z);
    return z;
}

static double hllTau(double x) {
    if (x == 0 || x == 1) return 0;
    double y = 1, z = 1 - x, before;
    do {
        x = sqrt(x);
        before = z;
        y *= 0.5;
        z -= (1 - x) * (1 - x) * y;
    } while (before != z);
    return z / 3;
}

static uint64_t hllEstimate(const unsigned histogram[REGISTER_MAX + 1]) {
    const double m = HLL_REGISTERS;
    serverAssert(histogram[0] <= HLL_REGISTERS && histogram[RANK_BITS + 1] <= HLL_REGISTERS);
    double z = m * hllTau((m - histogram[RANK_BITS + 1]) / m);
    for (int j = RANK_BITS; j >= 1; j--) z = (z + histogram[j]) * 0.5;
    z += m * hllSigma(histogram[0] / m);
    return (uint64_t)llround(ALPHA_INF * m * m / z);
}

uint64_t hllCountRegisters(const uint8_t registers[HLL_REGISTERS]) {
    unsigned histogram[REGISTER_MAX + 1] = {0};
    for (unsigned i = 0; i < HLL_REGISTERS; i++) histogram[registers[i] & REGISTER_MAX]++;
    return hllEstimate(histogram);
}

static void hllHistogramRun(void *priv, unsigned first, const struct hllRun *r) {
    (void)first;
    ((unsigned *)priv)[r->value] += r->length;
}

bool hllCountIsCached(struct str s, uint64_t *count) {
    const unsigned char *p = hllBytesOf(s.ptr);
    if (p[15] & 0x80) return false;
    *count = hllCachedCount(p);
    return true;
}

bool hllCount(sds hll, uint64_t *count) {
    struct str s = sdsview(hll);
    unsigned char *p = hllBytesOf(hll);
    if (hllCountIsCached(s, count)) return true;
    unsigned histogram[REGISTER_MAX + 1] = {0};
    if (hllIsSparse(s)) {
        if (!hllForEachRun(s, hllHistogramRun, histogram)) return false;
    } else {
        for (unsigned i = 0; i < HLL_REGISTERS; i++) histogram[hllDenseGet(p + HEADER, i)]++;
    }
    *count = hllEstimate(histogram);
    for (int i = 0; i < 8; i++) p[8 + i] = (unsigned char)(*count >> (8 * i));
    return true;
}

static void hllMaxRun(void *priv, unsigned first, const struct hllRun *r) {
    uint8_t *registers = priv;
    for (unsigned i = first; i < first + r->length; i++) {
        if (r->value > registers[i]) registers[i] = (uint8_t)r->value;
    }
}

bool hllMergeInto(uint8_t registers[HLL_REGISTERS], struct str s) {
    if (hllIsSparse(s)) return hllForEachRun(s, hllMaxRun, registers);
    const unsigned char *dense = hllBytesOf(s.ptr) + HEADER;
    for (unsigned i = 0; i < HLL_REGISTERS; i++) {
        unsigned v = hllDenseGet(dense, i);
        if (v > registers[i]) registers[i] = (uint8_t)v;
    }
    return true;
}

static void hllDescribeRun(void *priv, unsigned first, const struct hllRun *r) {
    sds *out = priv;
    (void)first;
    if (r->value)
        *out = sdscatprintf(*out, "v:%u,%u ", r->value, r->length);
    else
        *out = sdscatprintf(*out, "%c:%u ", r->bytes == 1 ? 'z' : 'Z', r->length);
}

sds hllDescribe(sds out, struct str s) {
    hllForEachRun(s, hllDescribeRun, &out);
    return out;
}
