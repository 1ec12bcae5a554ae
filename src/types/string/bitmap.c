/* SPDX-License-Identifier: BSD-3-Clause */
/* bitmap.c - SETBIT, GETBIT, BITCOUNT, BITPOS. See bitmap.h; BITOP is in bitop.c, BITFIELD in bitfield.c.
 *
 * Long strings are processed by 64-bit words, in loops simple enough for the compiler to vectorize. Counting
 * uses the processor's population count where there is one, chosen at run time. */
#include "types/string/bitmap.h"

#include <stdlib.h>

#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/call.h"
#include "command/command.h"
#include "command/lookup.h"
#include "command/turn.h"
#include "commands/cmd_bitmap.h"
#include "data/keyspace/db.h"
#include "data/notify.h"
#include "types/string/bitops.h"
#include "types/string/string_commands.h"
#include "types/types.h"

/* ---- Kernels ---- */

static inline uint64_t bitmapLoadWord(const unsigned char *p) {
    uint64_t w;
    memcpy(&w, p, 8);
    return w;
}

static inline __attribute__((always_inline)) int64_t bitmapCountLoop(const unsigned char *p, size_t n) {
    int64_t total = 0;
    for (; n >= 8; n -= 8, p += 8) total += __builtin_popcountll(bitmapLoadWord(p));
    for (; n; n--, p++) total += __builtin_popcount(*p);
    return total;
}

#if defined(__x86_64__)
__attribute__((target("popcnt"))) static int64_t bitmapCountPopcnt(const unsigned char *p, size_t n) {
    return bitmapCountLoop(p, n);
}
static int64_t bitmapCountBits(const unsigned char *p, size_t n) {
    return __builtin_cpu_supports("popcnt") ? bitmapCountPopcnt(p, n) : bitmapCountLoop(p, n);
}
#else
static int64_t bitmapCountBits(const unsigned char *p, size_t n) {
    return bitmapCountLoop(p, n);
}
#endif

/* Returns the index of the first bit of this value, or -1. */
static int64_t bitmapFindBit(const unsigned char *p, size_t n, bool bit) {
    size_t i = 0;
    uint64_t skip_word = bit ? 0 : UINT64_MAX;
    unsigned char skip_byte = bit ? 0 : 0xff;
    while (n - i >= 8 && bitmapLoadWord(p + i) == skip_word) i += 8;
    while (i < n && p[i] == skip_byte) i++;
    if (i == n) return -1;
    unsigned byte = bit ? p[i] : (unsigned char)~p[i];
    return (int64_t)i * 8 + __builtin_clz(byte) - 24;
}

/* ---- SETBIT, GETBIT ---- */

/* Returns the bits of the longest string that proto-max-bulk-len allows. */
static int64_t bitmapMaxBits(void) {
    return turnMaxBulk() > INT64_MAX / 8 ? INT64_MAX : turnMaxBulk() * 8;
}

bool bitopsOffset(struct client *c, struct str arg, unsigned width, uint64_t *offset) {
    int64_t v;
    bool scaled = width && arg.len && arg.ptr[0] == '#';
    if (scaled) arg = strN(arg.ptr + 1, arg.len - 1);
    bool ok = string2ll(arg, &v) && v >= 0;
    if (ok && scaled) ok = !__builtin_mul_overflow(v, (int64_t)width, &v);
    if (!ok || (v >= bitmapMaxBits() && !callReplays()))
        return replyError(c, "ERR bit offset is not an integer or out of range");
    *offset = (uint64_t)v;
    return true;
}

static bool bitmapBitArgument(struct client *c, struct str arg, bool *bit) {
    if (strEq(arg, STR("0")) || strEq(arg, STR("1"))) {
        *bit = arg.ptr[0] == '1';
        return true;
    }
    return replyError(c, "ERR bit is not an integer or out of range");
}

void setbitCommand(struct client *c) {
    uint64_t offset;
    bool bit;
    if (!bitopsOffset(c, c->argv[2], 0, &offset) || !bitmapBitArgument(c, c->argv[3], &bit)) return;
    struct str key = c->argv[1];
    struct object *o;
    if (!lookupKeyWriteType(c, key, OBJ_STRING, &o)) return;
    char buf[LONG_STR_SIZE];
    bool grows = !o || stringView(o, buf).len <= offset / 8;
    stringWillChange(o, offset / 8, 1);
    unsigned char *bytes = (unsigned char *)stringForWrite(c->db, key, o, offset / 8 + 1, NULL);
    unsigned char mask = (unsigned char)(0x80 >> (offset % 8));
    bool was = bytes[offset / 8] & mask;
    if (bit)
        bytes[offset / 8] |= mask;
    else
        bytes[offset / 8] &= (unsigned char)~mask;
    replyLongLong(c, was);
    if (was == bit && !grows) return;
    keyChanged(c, c->db, key, NOTIFY_STRING, "setbit", 1);
}

void getbitCommand(struct client *c) {
    uint64_t offset;
    if (!bitopsOffset(c, c->argv[2], 0, &offset)) return;
    struct object *o;
    if (!lookupKeyReadType(c, c->argv[1], OBJ_STRING, &o)) return;
    char buf[LONG_STR_SIZE];
    struct str s = o ? stringView(o, buf) : STR("");
    bool bit = offset / 8 < s.len && (unsigned char)s.ptr[offset / 8] & (0x80 >> (offset % 8));
    replyLongLong(c, bit);
}

/* ---- BITCOUNT, BITPOS ---- */

struct bitRange {
    int64_t start, end; /* in units, later in bits; inclusive; empty when start > end */
    int64_t unit;       /* number of bits */
    bool has_end;
};

/* Parses the unit, if there is one, as a number of bits. */
static bool bitmapParseUnit(struct client *c, int at, int64_t *bits) {
    *bits = 8;
    if (at >= c->argc || strIs(c->argv[at], "byte")) return true;
    if (strIs(c->argv[at], "bit")) {
        *bits = 1;
        return true;
    }
    return replySyntaxError(c);
}

/* Parses start [end [BYTE|BIT]] from argument `first` on; none: the whole string. The unit is checked before
 * the end, which decides which error is replied. */
static bool bitmapParseRange(struct client *c, int first, struct bitRange *r) {
    if (c->argc > first + 3) return replySyntaxError(c);
    *r = (struct bitRange){.start = 0, .end = -1, .has_end = c->argc > first + 1};
    return (c->argc <= first || argLongLong(c, c->argv[first], &r->start, NULL)) &&
           bitmapParseUnit(c, first + 2, &r->unit) &&
           (!r->has_end || argLongLong(c, c->argv[first + 1], &r->end, NULL));
}

/* Resolves the range for a string of len bytes, in bits from here on. When both ends are before the string
 * and in the wrong order, a count finds nothing, but a search looks at the first byte. */
static void bitmapApplyRange(struct bitRange *r, size_t len, bool counting) {
    int64_t unit = r->unit, total = (int64_t)len * (8 / unit);
    bool backwards = counting && r->start < 0 && r->end < 0 && r->start > r->end;
    if (r->start < 0) r->start = r->start < -total ? 0 : r->start + total;
    if (r->end < 0) r->end = r->end < -total ? 0 : r->end + total;
    if (r->end >= total) r->end = total - 1;
    if (backwards || r->start > r->end) {
        r->start = 1;
        r->end = 0;
        return;
    }
    r->start *= unit;
    r->end = r->end * unit + unit - 1;
}

/* Returns the bits of a byte that lie in the range; `byte` is its index. */
static unsigned char bitmapMaskFor(const struct bitRange *r, int64_t byte) {
    unsigned mask = 0xff;
    if (byte == r->start / 8) mask &= 0xffu >> (r->start % 8);
    if (byte == r->end / 8) mask &= 0xffu << (7 - r->end % 8);
    return (unsigned char)mask;
}

static int64_t bitmapCountRange(const unsigned char *p, const struct bitRange *r) {
    int64_t first = r->start / 8, last = r->end / 8;
    int64_t total = __builtin_popcount(p[first] & bitmapMaskFor(r, first));
    if (last == first) return total;
    total += __builtin_popcount(p[last] & bitmapMaskFor(r, last));
    return total + bitmapCountBits(p + first + 1, (size_t)(last - first - 1));
}

void bitcountCommand(struct client *c) {
    struct bitRange r;
    if (!bitmapParseRange(c, 2, &r)) return;
    struct object *o;
    if (!lookupKeyReadType(c, c->argv[1], OBJ_STRING, &o)) return;
    if (!o) {
        replyLongLong(c, 0);
        return;
    }
    char buf[LONG_STR_SIZE];
    struct str s = stringView(o, buf);
    bitmapApplyRange(&r, s.len, true);
    replyLongLong(c, r.start > r.end ? 0 : bitmapCountRange((const unsigned char *)s.ptr, &r));
}

/* Returns the first bit of this value in the range, or -1. */
static int64_t bitmapFindInRange(const unsigned char *p, const struct bitRange *r, bool bit) {
    int64_t first = r->start / 8, last = r->end / 8;
    for (int64_t i = first; i <= last; i = i == first && last - first > 1 ? last : i + 1) {
        unsigned found = (bit ? p[i] : (unsigned char)~p[i]) & bitmapMaskFor(r, i);
        if (i == last && last - first > 1) { /* the bytes between come before the last byte */
            int64_t at = bitmapFindBit(p + first + 1, (size_t)(last - first - 1), bit);
            if (at >= 0) return (first + 1) * 8 + at;
        }
        if (found) return i * 8 + __builtin_clz(found) - 24;
    }
    return -1;
}

void bitposCommand(struct client *c) {
    int64_t v;
    if (!argLongLong(c, c->argv[2], &v, NULL)) return;
    if (v != 0 && v != 1) {
        replyError(c, "ERR The bit argument must be 1 or 0.");
        return;
    }
    struct bitRange r;
    if (!bitmapParseRange(c, 3, &r)) return;
    struct object *o;
    if (!lookupKeyReadType(c, c->argv[1], OBJ_STRING, &o)) return;
    if (!o) {
        replyLongLong(c, v ? -1 : 0);
        return;
    }
    char buf[LONG_STR_SIZE];
    struct str s = stringView(o, buf);
    bitmapApplyRange(&r, s.len, false);
    int64_t at = r.start > r.end ? -1 : bitmapFindInRange((const unsigned char *)s.ptr, &r, v);
    /* Endless zeros follow the string, unless the range was closed. */
    if (at < 0 && v == 0 && !r.has_end && r.start <= r.end) at = (int64_t)s.len * 8;
    replyLongLong(c, at);
}

void bitmapInit(void) {
    commandRegister(commandsBitmap);
}
