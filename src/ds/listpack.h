/* SPDX-License-Identifier: BSD-3-Clause */
/* listpack.h - a list of strings and integers in one flat allocation (the published listpack format, byte
 * exact).
 *
 *     [u32 total bytes][u16 count][entry ...][0xff]          entry: [encoding+len][data][backlen]
 *
 * Integers are stored in 1 to 9 bytes: 7-bit unsigned, 13-bit, 16, 24, 32, 64-bit signed; strings with 6, 12
 * or 32-bit lengths. backlen holds the entry's size in 7-bit groups, readable backwards, so the list can be
 * walked both ways. A count of 65535 means "unknown, walk". A string that is the canonical text of an int64
 * is stored as that integer. Pointers to entries are invalid after any change. Functions that change return
 * the listpack, which may have moved. */
#pragma once

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/str.h"

#define LP_INTBUF_SIZE            21
#define LISTPACK_MAX_SAFETY_LIMIT (1 << 30) /* no listpack may grow past this */

struct lpValue {      /* an element, read in place */
    const char *sval; /* NULL: an integer */
    uint32_t slen;
    int64_t lval;
};

unsigned char *lpNew(size_t capacity);
void lpFree(unsigned char *lp);
unsigned char *lpShrinkToFit(unsigned char *lp);
/* Copies a listpack into a static buffer, with space for `more` bytes, to be changed and then copied
 * again. NULL: it does not fit, or the buffer is in use. lpFree ends its use; lpKeep turns it into a
 * listpack that stays. For the main thread only. */
#define LP_SCRATCH_BYTES 192
unsigned char *lpScratch(const unsigned char *lp, size_t more);
unsigned char *lpKeep(unsigned char *lp); /* with an allocation of its own; it may have moved */
/* Returns the total bytes of the format. */
static inline size_t lpBytes(const unsigned char *lp) {
    uint32_t bytes;
    memcpy(&bytes, lp, sizeof bytes);
    return le32toh(bytes);
}
unsigned long lpLength(unsigned char *lp); /* O(1) up to 65534 elements, else O(n) */
bool lpSafeToAdd(const unsigned char *lp, size_t add);

/* Position. NULL past either end. */
unsigned char *lpFirst(unsigned char *lp);
unsigned char *lpLast(unsigned char *lp);
unsigned char *lpNext(unsigned char *lp, unsigned char *p);
unsigned char *lpPrev(unsigned char *lp, unsigned char *p);
unsigned char *lpSeek(unsigned char *lp,
                      long index); /* a negative index counts from the end; walks from the nearer end */

/* Read. lpView renders an integer into buf (LP_INTBUF_SIZE), so the result is always text. */
void lpGetValue(unsigned char *p, struct lpValue *v);
struct str lpView(unsigned char *p, char *buf);
bool lpEqual(unsigned char *p, struct str s);
int lpCompare(unsigned char *p, struct str s); /* strCmp order of the texts */
/* Returns the first element equal to s from p on, comparing every (skip+1)-th; NULL when there is none. */
unsigned char *lpFind(unsigned char *lp, unsigned char *p, struct str s, unsigned skip);

/* Change. `newp` (may be NULL) receives the inserted element. */
enum { LP_BEFORE, LP_AFTER, LP_REPLACE };
unsigned char *lpInsert(unsigned char *lp, struct str s, unsigned char *p, int where, unsigned char **newp);
unsigned char *lpInsertInt(unsigned char *lp, int64_t v, unsigned char *p, int where, unsigned char **newp);
unsigned char *lpAppend(unsigned char *lp, struct str s);
unsigned char *lpAppendInt(unsigned char *lp, int64_t v);
unsigned char *lpPrepend(unsigned char *lp, struct str s);
/* Removes the element at p; *next (may be NULL) is the element that followed, or NULL. */
unsigned char *lpDelete(unsigned char *lp, unsigned char *p, unsigned char **next);
unsigned char *lpDeleteRange(unsigned char *lp, long index, unsigned long num);
/* Returns the result; both inputs become NULL. */
unsigned char *lpMerge(unsigned char **first, unsigned char **second);
unsigned char *lpDup(const unsigned char *lp);

/* ---- Elements by themselves, for containers of another layout. Small ones need no call. ---- */
unsigned char *lpLongElementEnd(unsigned char *p);
unsigned char *lpWriteLongInt(unsigned char *to, int64_t v);
size_t lpLongIntBytes(int64_t v);
/* Returns the address behind the element; lpView and lpGetValue use it. */
static inline unsigned char *lpElementEnd(unsigned char *p) {
    if (p[0] < 0x80) return p + 2;                 /* 0 .. 127 */
    if (p[0] < 0xc0) return p + 2 + (p[0] & 0x3f); /* a string of up to 63 bytes */
    return lpLongElementEnd(p);
}
/* Returns the most bytes that an element of a string of `len` bytes takes; an integer takes lpIntBytes. */
static inline size_t lpElementBound(size_t len) {
    return len + (len < 64 ? 2 : len < 4096 ? 4 : 10);
}
static inline size_t lpIntBytes(int64_t v) {
    return (uint64_t)v < 128 ? 2 : lpLongIntBytes(v);
}
/* Both return the address after the element. */
unsigned char *lpElementWrite(unsigned char *to, struct str s);
static inline unsigned char *lpElementWriteInt(unsigned char *to, int64_t v) {
    if ((uint64_t)v >= 128) return lpWriteLongInt(to, v);
    to[0] = (unsigned char)v;
    to[1] = 1;
    return to + 2;
}
/* A size that is written after something, as after every element: its bytes, writing and reading it. */
unsigned lpBacklenBytes(uint64_t size);
unsigned char *lpBacklenWrite(unsigned char *to, uint64_t size); /* returns what is behind it */
uint64_t lpBacklenRead(const unsigned char *end);
/* Makes a listpack of elements that were written from LP_HEADER_BYTES on: `bytes` with header and end. */
#define LP_HEADER_BYTES 6
#define LP_END_BYTES    1
void lpSeal(unsigned char *lp, size_t bytes, uint64_t count);

/* Returns whether `size` bytes at lp are a well-formed listpack. `deep` checks every entry and calls
 * `check`, unless NULL, for each. Reads no byte outside. For data from outside. */
bool lpValidate(const unsigned char *lp, size_t size, bool deep,
                bool (*check)(unsigned char *p, unsigned long index, void *priv), void *priv);
