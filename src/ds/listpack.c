/* SPDX-License-Identifier: BSD-3-Clause */
/* listpack.c - a list of strings and integers in one flat allocation; the contract is in listpack.h.
 *
 *     listpack   | total bytes u32 | count u16 | entry | entry | ... | 0xff |        little endian throughout
 *
 *     entry      | encoding and length | data | backlen |
 *                  0xxxxxxx                                  integer 0 .. 127
 *                  10llllll             bytes                string of up to 63 bytes
 *                  110xxxxx xxxxxxxx                         integer of 13 bits, high bits first
 *                  1110llll llllllll    bytes                string of up to 4095 bytes, high bits first
 *                  0xf0 llllllll * 4    bytes                string of up to 4 GiB
 *                  0xf1 .. 0xf4         2, 3, 4, 8 bytes     integer
 *
 * The backlen says how long the entry is before it. It is read from its last byte towards its first: each
 * byte has 7 bits, the lowest first, and its top bit says that another follows on the left. So from any entry
 * both neighbours are one addition away, and no entry knows anything about another: a change moves bytes, but
 * rewrites none.
 *
 * Every change is one "splice": a run of bytes at an offset gives way to a run of another length. */
#include "ds/listpack.h"

#include "base/assert.h"
#include "base/num.h"
#include "base/zmalloc.h"

#define HEADER_SIZE   LP_HEADER_BYTES
#define COUNT_UNKNOWN 65535
#define END           0xff
#define BACKLEN_MAX   5
#define HEAD_MAX      9 /* encoding byte and a 64-bit integer */

enum { ENC_STR32 = 0xf0, ENC_INT16 = 0xf1, ENC_INT24 = 0xf2, ENC_INT32 = 0xf3, ENC_INT64 = 0xf4 };

/* ---- Header ---- */

static uint64_t lpLoadLE(const unsigned char *p, int bytes) {
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++) v |= (uint64_t)p[i] << (8 * i);
    return v;
}

static void lpStoreLE(unsigned char *p, uint64_t v, int bytes) {
    for (int i = 0; i < bytes; i++) p[i] = (unsigned char)(v >> (8 * i));
}

static unsigned lpGetCount(const unsigned char *lp) {
    return (unsigned)lpLoadLE(lp + 4, 2);
}

static void lpSetCount(unsigned char *lp, uint64_t count) {
    lpStoreLE(lp + 4, count < COUNT_UNKNOWN ? count : COUNT_UNKNOWN, 2);
}

/* Adds to the count; once unknown, it stays so until a walk counts the elements. */
static void lpAddCount(unsigned char *lp, int64_t delta) {
    unsigned count = lpGetCount(lp);
    if (count != COUNT_UNKNOWN) lpSetCount(lp, (uint64_t)(count + delta));
}

/* ---- Entries: reading ---- */

/* Returns how many bytes of an entry are needed to know its size, by its first byte; 0 when no entry
 * begins with this byte. */
static unsigned lpPrefixSize(unsigned char first) {
    if (first < 0xe0) return 1;
    if (first < 0xf0) return 2;
    return first == ENC_STR32 ? 5 : first <= ENC_INT64 ? 1 : 0;
}

/* Returns the bytes of the entry without its backlen. */
static inline uint64_t lpEntrySize(const unsigned char *p) {
    static const unsigned char intSize[] = {0, 3, 4, 5, 9}; /* 0xf0 .. 0xf4 */
    if (p[0] < 0x80) return 1;
    if (p[0] < 0xc0) return 1 + (p[0] & 0x3f);
    if (p[0] < 0xe0) return 2;
    if (p[0] < 0xf0) return 2 + ((uint64_t)(p[0] & 0x0f) << 8 | p[1]);
    if (p[0] == ENC_STR32) return 5 + lpLoadLE(p + 1, 4);
    return intSize[p[0] - ENC_STR32];
}

/* The format gives the largest number of 2, 3 and 4 groups one group more than it needs. */
static inline unsigned lpBacklenSize(uint64_t size) {
    if (size <= 127) return 1;
    if (size < (1 << 14) - 1) return 2;
    if (size < (1 << 21) - 1) return 3;
    return size < (1 << 28) - 1 ? 4 : 5;
}

static void listpackBacklenWrite(unsigned char *p, uint64_t size) {
    unsigned n = lpBacklenSize(size);
    for (unsigned i = 0; i < n; i++) {
        p[n - 1 - i] = (unsigned char)((size & 127) | (i + 1 < n ? 128 : 0));
        size >>= 7;
    }
}

/* Reads a backlen towards the left, from its last byte. */
static uint64_t listpackBacklenRead(const unsigned char *last) {
    uint64_t size = *last & 127;
    for (unsigned shift = 7; (*last & 128) && shift < 7 * BACKLEN_MAX; shift += 7)
        size |= (uint64_t)(*--last & 127) << shift;
    return size;
}

static inline unsigned char *lpSkipEntry(unsigned char *p) {
    uint64_t size = lpEntrySize(p);
    return p + size + lpBacklenSize(size);
}

static int64_t lpSignExtend(uint64_t v, int bits) {
    return (int64_t)(v << (64 - bits)) >> (64 - bits);
}

static inline void lpDecode(const unsigned char *p, struct lpValue *v) {
    unsigned char first = p[0];
    v->sval = NULL;
    v->slen = 0;
    v->lval = 0;
    if (first < 0x80) {
        v->lval = first;
    } else if (first < 0xc0) {
        v->slen = first & 0x3f;
        v->sval = (const char *)p + 1;
    } else if (first < 0xe0) {
        v->lval = lpSignExtend((uint64_t)(first & 0x1f) << 8 | p[1], 13);
    } else if (first <= ENC_STR32) {
        unsigned head = lpPrefixSize(first);
        v->slen = (uint32_t)(lpEntrySize(p) - head);
        v->sval = (const char *)p + head;
    } else {
        int bytes = (int)lpEntrySize(p) - 1;
        serverAssert(first <= ENC_INT64);
        v->lval = lpSignExtend(lpLoadLE(p + 1, bytes), 8 * bytes);
    }
}

/* ---- Entries: writing ---- */

/* An element to be stored: `head` (the encoding, and an integer's data), then the string's bytes, then the
 * backlen. */
struct lpEntry {
    unsigned char head[HEAD_MAX];
    unsigned headLen;
    struct str body;
};

static uint64_t lpEntryBytes(const struct lpEntry *e) {
    return e->headLen + e->body.len;
}

static struct lpEntry lpEntryOfInt(int64_t v) {
    struct lpEntry e = {.body = {NULL, 0}};
    int bytes = v == (int16_t)v ? 2 : v >= -(1 << 23) && v < 1 << 23 ? 3 : v == (int32_t)v ? 4 : 8;
    if (v >= 0 && v <= 127) {
        e.head[0] = (unsigned char)v;
        e.headLen = 1;
    } else if (v >= -4096 && v <= 4095) {
        e.head[0] = (unsigned char)(0xc0 | ((uint64_t)v >> 8 & 0x1f));
        e.head[1] = (unsigned char)v;
        e.headLen = 2;
    } else {
        e.head[0] = (unsigned char)(bytes == 8 ? ENC_INT64 : ENC_INT16 + bytes - 2);
        lpStoreLE(e.head + 1, (uint64_t)v, bytes);
        e.headLen = 1 + (unsigned)bytes;
    }
    return e;
}

static struct lpEntry lpEntryOfString(struct str s) {
    struct lpEntry e = {.body = s};
    int64_t v;
    if (s.len < LP_INTBUF_SIZE && string2ll(s, &v)) return lpEntryOfInt(v);
    serverAssert(s.len < UINT32_MAX);
    if (s.len < 64) {
        e.head[0] = (unsigned char)(0x80 | s.len);
        e.headLen = 1;
    } else if (s.len < 4096) {
        e.head[0] = (unsigned char)(0xe0 | s.len >> 8);
        e.head[1] = (unsigned char)s.len;
        e.headLen = 2;
    } else {
        e.head[0] = ENC_STR32;
        lpStoreLE(e.head + 1, s.len, 4);
        e.headLen = 5;
    }
    return e;
}

/* Writes the entry and returns the address behind it. */
static inline unsigned char *lpWriteEntry(unsigned char *p, const struct lpEntry *e) {
    uint64_t size = lpEntryBytes(e);
    memcpy(p, e->head, e->headLen);
    if (e->body.len) memcpy(p + e->headLen, e->body.ptr, e->body.len);
    listpackBacklenWrite(p + size, size);
    return p + size + lpBacklenSize(size);
}

/* ---- Changing ---- */

/* A scratch buffer: a listpack that is changed here and then copied to where it will stay needs no
 * allocation (lpScratch). */
static struct {
    bool taken;
    _Alignas(8) unsigned char bytes[LP_SCRATCH_BYTES];
} scratch;

static unsigned char *lpOutOfScratch(unsigned char *lp, size_t capacity) {
    scratch.taken = false;
    return memcpy(zmalloc(capacity), lp, lpBytes(lp));
}

static unsigned char *lpGrow(unsigned char *lp, size_t bytes) {
    if (lp != scratch.bytes) return bytes > zmallocSize(lp) ? zrealloc(lp, bytes) : lp;
    return bytes > sizeof scratch.bytes ? lpOutOfScratch(lp, bytes) : lp;
}

/* Releases the unused end of a shrunk listpack, but not so eagerly that a push and a pop would each
 * reallocate. */
static unsigned char *lpFreeSlack(unsigned char *lp, size_t bytes) {
    if (lp == scratch.bytes) return lp;
    size_t usable = zmallocSize(lp);
    return usable - bytes > usable / 4 ? lpShrinkToFit(lp) : lp;
}

/* Replaces the `old` bytes at `offset` by space for `new` ones. */
static unsigned char *lpSplice(unsigned char *lp, size_t offset, size_t old, size_t new) {
    size_t before = lpBytes(lp), after = before - old + new;
    debugAssert(offset >= HEADER_SIZE && offset + old < before); /* the end stays */
    serverAssert(after <= UINT32_MAX);
    if (new > old) lp = lpGrow(lp, after);
    if (new != old) memmove(lp + offset + new, lp + offset + old, before - offset - old);
    lpStoreLE(lp, after, 4);
    return new < old ? lpFreeSlack(lp, after) : lp;
}

static unsigned char *lpInsertEntry(unsigned char *lp, const struct lpEntry *e, unsigned char *p, int where,
                                    unsigned char **newp) {
    uint64_t size = lpEntryBytes(e);
    size_t old = 0, new = size + lpBacklenSize(size);
    debugAssert(p[0] != END || where == LP_BEFORE);
    if (where == LP_AFTER) p = lpSkipEntry(p);
    if (where == LP_REPLACE) old = (size_t)(lpSkipEntry(p) - p);
    size_t offset = (size_t)(p - lp);

    lp = lpSplice(lp, offset, old, new);
    p = lp + offset;
    lpWriteEntry(p, e);
    if (where != LP_REPLACE) lpAddCount(lp, 1);
    if (newp) *newp = p;
    return lp;
}

static unsigned char *lpEndOf(unsigned char *lp) {
    return lp + lpBytes(lp) - 1;
}

static unsigned char *lpUnlessEnd(unsigned char *p) {
    return *p == END ? NULL : p;
}

/* ---- Creating, freeing, size ---- */

unsigned char *lpNew(size_t capacity) {
    unsigned char *lp = zmalloc(capacity > HEADER_SIZE + 1 ? capacity : HEADER_SIZE + 1);
    lpSeal(lp, HEADER_SIZE + LP_END_BYTES, 0);
    return lp;
}

unsigned char *lpScratch(const unsigned char *lp, size_t more) {
    size_t bytes = lpBytes(lp);
    if (scratch.taken || bytes + more > sizeof scratch.bytes) return NULL;
    scratch.taken = true;
    return memcpy(scratch.bytes, lp, bytes);
}

unsigned char *lpKeep(unsigned char *lp) {
    return lp == scratch.bytes ? lpOutOfScratch(lp, lpBytes(lp)) : lp;
}

void lpFree(unsigned char *lp) {
    if (lp == scratch.bytes)
        scratch.taken = false;
    else
        zfree(lp);
}

unsigned char *lpShrinkToFit(unsigned char *lp) {
    if (lp == scratch.bytes) return lpKeep(lp);
    size_t bytes = lpBytes(lp);
    return zmallocGoodSize(bytes) < zmallocSize(lp) ? zrealloc(lp, bytes) : lp;
}

unsigned char *lpDup(const unsigned char *lp) {
    size_t bytes = lpBytes(lp);
    return memcpy(zmalloc(bytes), lp, bytes);
}

unsigned long lpLength(unsigned char *lp) {
    unsigned long count = lpGetCount(lp);
    if (count != COUNT_UNKNOWN) return count;
    count = 0;
    for (unsigned char *p = lp + HEADER_SIZE; *p != END; p = lpSkipEntry(p)) count++;
    lpSetCount(lp, count);
    return count;
}

bool lpSafeToAdd(const unsigned char *lp, size_t add) {
    size_t bytes = lp ? lpBytes(lp) : 0;
    return add <= LISTPACK_MAX_SAFETY_LIMIT && bytes + add <= LISTPACK_MAX_SAFETY_LIMIT;
}

/* ---- Positions ---- */

unsigned char *lpFirst(unsigned char *lp) {
    return lpUnlessEnd(lp + HEADER_SIZE);
}

unsigned char *lpLast(unsigned char *lp) {
    return lpPrev(lp, lpEndOf(lp));
}

unsigned char *lpNext(unsigned char *lp, unsigned char *p) {
    debugAssert(*p != END);
    (void)lp;
    return lpUnlessEnd(lpSkipEntry(p));
}

unsigned char *lpPrev(unsigned char *lp, unsigned char *p) {
    debugAssert(p >= lp + HEADER_SIZE && p < lp + lpBytes(lp));
    if (p == lp + HEADER_SIZE) return NULL;
    uint64_t size = listpackBacklenRead(p - 1);
    return p - lpBacklenSize(size) - size;
}

unsigned char *lpSeek(unsigned char *lp, long index) {
    bool known = lpGetCount(lp) != COUNT_UNKNOWN;
    if (known) {
        long count = (long)lpGetCount(lp);
        if (index < -count || index >= count) return NULL;
        if (index < 0 && -index > count / 2) index += count;
        if (index > count / 2) index -= count;
    }
    unsigned char *p = index < 0 ? lpLast(lp) : lpFirst(lp);
    for (; index > 0 && p; index--) p = lpNext(lp, p);
    for (; index < -1 && p; index++) p = lpPrev(lp, p);
    return p;
}

/* ---- Reading ---- */

void lpGetValue(unsigned char *p, struct lpValue *v) {
    debugAssert(*p != END);
    lpDecode(p, v);
}

struct str lpView(unsigned char *p, char *buf) {
    struct lpValue v;
    lpDecode(p, &v);
    return v.sval ? strN(v.sval, v.slen) : strN(buf, ll2string(buf, v.lval));
}

bool lpEqual(unsigned char *p, struct str s) {
    char buf[LP_INTBUF_SIZE];
    return strEq(lpView(p, buf), s);
}

int lpCompare(unsigned char *p, struct str s) {
    char buf[LP_INTBUF_SIZE];
    return strCmp(lpView(p, buf), s);
}

unsigned char *lpFind(unsigned char *lp, unsigned char *p, struct str s, unsigned skip) {
    int64_t want = 0;
    bool isInt = s.len < LP_INTBUF_SIZE && string2ll(s, &want);
    struct lpValue v;
    for (unsigned pass = 0; p; p = lpNext(lp, p)) {
        if (pass) {
            pass--;
            continue;
        }
        pass = skip;
        lpDecode(p, &v);
        if (v.sval ? strEq(strN(v.sval, v.slen), s) : isInt && v.lval == want) return p;
    }
    return NULL;
}

/* ---- Changing elements ---- */

unsigned char *lpInsert(unsigned char *lp, struct str s, unsigned char *p, int where, unsigned char **newp) {
    struct lpEntry e = lpEntryOfString(s);
    return lpInsertEntry(lp, &e, p, where, newp);
}

unsigned char *lpInsertInt(unsigned char *lp, int64_t v, unsigned char *p, int where, unsigned char **newp) {
    struct lpEntry e = lpEntryOfInt(v);
    return lpInsertEntry(lp, &e, p, where, newp);
}

unsigned char *lpAppend(unsigned char *lp, struct str s) {
    return lpInsert(lp, s, lpEndOf(lp), LP_BEFORE, NULL);
}

unsigned char *lpAppendInt(unsigned char *lp, int64_t v) {
    return lpInsertInt(lp, v, lpEndOf(lp), LP_BEFORE, NULL);
}

unsigned char *lpPrepend(unsigned char *lp, struct str s) {
    return lpInsert(lp, s, lp + HEADER_SIZE, LP_BEFORE, NULL);
}

unsigned char *lpDelete(unsigned char *lp, unsigned char *p, unsigned char **next) {
    serverAssert(*p != END);
    size_t offset = (size_t)(p - lp);
    lp = lpSplice(lp, offset, (size_t)(lpSkipEntry(p) - p), 0);
    lpAddCount(lp, -1);
    if (next) *next = lpUnlessEnd(lp + offset);
    return lp;
}

unsigned char *lpDeleteRange(unsigned char *lp, long index, unsigned long num) {
    unsigned char *from = num ? lpSeek(lp, index) : NULL, *to = from;
    unsigned long count = 0;
    if (!from) return lp;
    for (; count < num && *to != END; count++) to = lpSkipEntry(to);
    lp = lpSplice(lp, (size_t)(from - lp), (size_t)(to - from), 0);
    lpAddCount(lp, -(int64_t)count);
    return lp;
}

unsigned char *lpMerge(unsigned char **first, unsigned char **second) {
    unsigned char *lp = *first, *other = *second;
    size_t offset = lpBytes(lp) - 1, more = lpBytes(other) - HEADER_SIZE - 1;
    unsigned count = lpGetCount(lp), otherCount = lpGetCount(other);
    bool known = count != COUNT_UNKNOWN && otherCount != COUNT_UNKNOWN;
    serverAssert(lp != other);

    lp = lpSplice(lp, offset, 0, more);
    memcpy(lp + offset, other + HEADER_SIZE, more);
    lpSetCount(lp, known ? count + otherCount : COUNT_UNKNOWN);
    lpFree(other);
    *first = *second = NULL;
    return lp;
}

/* ---- Elements by themselves ---- */

unsigned char *lpLongElementEnd(unsigned char *p) {
    return lpSkipEntry(p);
}

unsigned char *lpElementWrite(unsigned char *to, struct str s) {
    struct lpEntry e = lpEntryOfString(s);
    return lpWriteEntry(to, &e);
}

unsigned char *lpWriteLongInt(unsigned char *to, int64_t v) {
    struct lpEntry e = lpEntryOfInt(v);
    return lpWriteEntry(to, &e);
}

size_t lpLongIntBytes(int64_t v) {
    struct lpEntry e = lpEntryOfInt(v);
    return e.headLen + 1u;
}

unsigned lpBacklenBytes(uint64_t size) {
    return lpBacklenSize(size);
}

unsigned char *lpBacklenWrite(unsigned char *to, uint64_t size) {
    listpackBacklenWrite(to, size);
    return to + lpBacklenSize(size);
}

uint64_t lpBacklenRead(const unsigned char *end) {
    return listpackBacklenRead(end - 1);
}

void lpSeal(unsigned char *lp, size_t bytes, uint64_t count) {
    lpStoreLE(lp, bytes, 4);
    lpSetCount(lp, count);
    lp[bytes - 1] = END;
}

/* ---- Data from outside ---- */

/* Returns the size of the whole entry at p, of which `room` bytes may be read; 0 when it is not well
 * formed. */
static size_t lpCheckedEntry(const unsigned char *p, size_t room) {
    unsigned char backlen[BACKLEN_MAX];
    unsigned prefix = lpPrefixSize(p[0]);
    if (prefix == 0 || prefix > room) return 0;
    uint64_t size = lpEntrySize(p);
    unsigned backSize = lpBacklenSize(size);
    if (size + backSize > room) return 0;
    if (backSize == 1)
        return p[size] == size ? size + 1 : 0; /* nearly all of them: files are full of these */
    listpackBacklenWrite(backlen, size);
    return memcmp(p + size, backlen, backSize) == 0 ? size + backSize : 0;
}

bool lpValidate(const unsigned char *lp, size_t size, bool deep,
                bool (*check)(unsigned char *p, unsigned long index, void *priv), void *priv) {
    unsigned long count = 0;
    if (size < HEADER_SIZE + 1 || lpBytes(lp) != size || lp[size - 1] != END) return false;
    if (!deep) return true;
    for (size_t at = HEADER_SIZE; at != size - 1; count++) {
        size_t bytes = lpCheckedEntry(lp + at, size - 1 - at);
        if (bytes == 0) return false;
        if (check && !check((unsigned char *)lp + at, count, priv)) return false;
        at += bytes;
    }
    return lpGetCount(lp) == COUNT_UNKNOWN || lpGetCount(lp) == count;
}
