/* SPDX-License-Identifier: BSD-3-Clause */
/* sds.h - owned, growable, binary-safe strings with their length in front of the bytes.
 *
 *     [len][alloc][width][bytes ...][NUL]
 *                        ^ an `sds` points here, so it can be passed where a C string is expected
 *
 * len and alloc are unsigned numbers of 1, 2, 4 or 8 bytes each, unaligned, as wide as alloc needs. The width
 * byte holds the logarithm of that, 0 to 3. So a short string costs 3 bytes and the NUL.
 *
 * Functions that may move the string return the new one; the old pointer is then invalid. */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/str.h"
#include "base/zmalloc.h"

typedef char *sds;

enum { SDS_WIDTH_1, SDS_WIDTH_2, SDS_WIDTH_4, SDS_WIDTH_8 };

/* Reads a number of the header, 1 << width bytes at p. */
static inline size_t sdsReadNumber(const char *p, unsigned width) {
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    switch (width) {
    case SDS_WIDTH_1: return (uint8_t)*p;
    case SDS_WIDTH_2: return memcpy(&two, p, sizeof(two)), two;
    case SDS_WIDTH_4: return memcpy(&four, p, sizeof(four)), four;
    default: return memcpy(&eight, p, sizeof(eight)), eight;
    }
}
static inline unsigned sdsWidth(const char *s) {
    return (unsigned char)s[-1];
}
static inline size_t sdslen(const char *s) {
    return sdsReadNumber(s - 1 - (2u << sdsWidth(s)), sdsWidth(s));
}
static inline struct str sdsview(const char *s) {
    return (struct str){s, sdslen(s)};
}

sds sdsnewlen(const void *init, size_t len); /* init NULL: bytes are uninitialized */
sds sdsnew(const char *cstr);
sds sdsnewstr(struct str s);
sds sdsempty(void);
sds sdsdup(const char *s);
sds sdstrynewlen(const void *init, size_t len); /* NULL when memory is refused */
void sdsfree(sds s);                            /* NULL is fine */

size_t sdsavail(const char *s);                /* bytes that fit without moving */
size_t sdsAllocSize(const char *s);            /* bytes of the allocation, usable size */
void *sdsAllocPtr(const char *s);              /* start of the allocation */
sds sdsMove(sds s, zmoveFn *move, void *priv); /* the string at its new address; NULL: it was not moved */
void sdssetlen(sds s, size_t len);             /* len <= current capacity; writes the NUL */
sds sdsMakeRoomFor(sds s, size_t addlen);      /* grows generously: doubles up to 1 MiB, then by 1 MiB */
sds sdsMakeRoomForExact(sds s, size_t addlen);
sds sdsShrink(sds s); /* frees the unused bytes */
sds sdsgrowzero(sds s, size_t len);

sds sdscatlen(sds s, const void *p, size_t len);
sds sdscat(sds s, const char *cstr);
sds sdscatstr(sds s, struct str v);
sds sdscpylen(sds s, const void *p, size_t len);
sds sdscatprintf(sds s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
sds sdscatvprintf(sds s, const char *fmt, va_list ap);
sds sdscatrepr(sds s, const char *p, size_t len); /* "quoted", with \n \r \t \a \b \\ \" \xHH escapes */
/* Appends one word of a line for sdssplitargs, quoted if it needs quotes. */
sds sdscatword(sds s, struct str word);
sds sdsfromll(long long v);
void sdstolower(sds s);
void sdstoupper(sds s);
sds sdstrim(sds s, const char *cset);
void sdsrange(sds s, ptrdiff_t start, ptrdiff_t end); /* keeps [start, end], negative counts from the end */
int sdscmp(const char *a, const char *b);

/* Splits `line` like a shell's command line: blanks separate, "double quotes" know \xHH and C escapes,
 * 'single quotes' know \'. Returns a zmalloc'ed array of *argc sds, or NULL on unbalanced quotes. */
sds *sdssplitargs(const char *line, size_t len, int *argc);
/* Splits at a separator; an empty string gives no tokens. Free the result with sdsfreesplitres. */
sds *sdssplitlen(const char *s, size_t len, const char *sep, size_t seplen, int *count);
void sdsfreesplitres(sds *tokens, int count);
