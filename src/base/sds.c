/* SPDX-License-Identifier: BSD-3-Clause */
/* sds.c - owned strings; sds.h draws the layout.
 *
 * The idea: one invariant ties a string to its block. The block was allocated with exactly
 *
 *     header size + alloc + 1
 *
 * bytes, so it can be freed with its size. When a string grows, `alloc` is raised to fill the allocator's
 * size class before the allocation, so the rounded part can be used and the invariant still holds. */
#define _GNU_SOURCE /* memmem */
#include "base/sds.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/num.h"
#include "base/words.h"
#include "base/zmalloc.h"

#define GROW_DOUBLING_MAX ((size_t)1024 * 1024)

/* ---- Headers ---- */

static size_t sdsHeaderSize(unsigned width) {
    return (2u << width) + 1;
}

/* Returns the largest number of this width; for the widest, what the address space allows. */
static size_t sdsWidthMax(unsigned width) {
    return width == SDS_WIDTH_8 ? PTRDIFF_MAX / 2 : ((size_t)1 << (8u << width)) - 1;
}

/* Returns the narrowest width that can hold len. */
static unsigned sdsWidthFor(size_t len) {
    unsigned width = SDS_WIDTH_1;
    while (width < SDS_WIDTH_8 && len > sdsWidthMax(width)) width++;
    return width;
}

static void sdsWriteNumber(char *p, unsigned width, uint64_t number) {
    _Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the low bytes come first");
    memcpy(p, &number, (size_t)1 << width);
}

static size_t sdsCapacity(const char *s) {
    return sdsReadNumber(s - 1 - (1u << sdsWidth(s)), sdsWidth(s));
}

static void sdsSetCapacity(sds s, size_t alloc) {
    sdsWriteNumber(s - 1 - (1u << sdsWidth(s)), sdsWidth(s), alloc);
}

static void sdsSetLen(sds s, size_t len) {
    debugAssert(len <= sdsCapacity(s));
    sdsWriteNumber(s - 1 - (2u << sdsWidth(s)), sdsWidth(s), len);
}

static size_t sdsBlockSize(unsigned width, size_t alloc) {
    return sdsHeaderSize(width) + alloc + 1;
}

/* Makes `block`, allocated with sdsBlockSize(width, alloc), a string of len bytes, not written yet. */
static sds sdsFormatBlock(void *block, unsigned width, size_t alloc, size_t len) {
    sds s = (char *)block + sdsHeaderSize(width);
    s[-1] = (char)width;
    sdsSetCapacity(s, alloc);
    sdsSetLen(s, len);
    s[len] = '\0';
    return s;
}

/* Gives s a block for exactly `alloc` bytes, alloc >= sdslen(s), with the smallest header for that. */
static sds sdsReallocate(sds s, size_t alloc) {
    unsigned width = sdsWidthFor(alloc);
    size_t len = sdslen(s);
    serverAssert(alloc >= len);
    if (width == sdsWidth(s)) {
        void *block = zrealloc(sdsAllocPtr(s), sdsBlockSize(width, alloc));
        return sdsFormatBlock(block, width, alloc, len);
    }
    sds moved = sdsFormatBlock(zmalloc(sdsBlockSize(width, alloc)), width, alloc, len);
    memcpy(moved, s, len);
    sdsfree(s);
    return moved;
}

static sds sdsMakeRoom(sds s, size_t addlen, bool generous) {
    if (sdsavail(s) >= addlen) return s;
    size_t wanted;
    bool overflow = __builtin_add_overflow(sdslen(s), addlen, &wanted);
    serverAssert(!overflow && wanted <= sdsWidthMax(SDS_WIDTH_8));
    if (generous) wanted += wanted < GROW_DOUBLING_MAX ? wanted : GROW_DOUBLING_MAX;

    unsigned width = sdsWidthFor(wanted);
    size_t alloc = zmallocGoodSize(sdsBlockSize(width, wanted)) - sdsHeaderSize(width) - 1;
    return sdsReallocate(s, alloc <= sdsWidthMax(width) ? alloc : sdsWidthMax(width));
}

/* ---- Public API: creating and freeing ---- */

sds sdstrynewlen(const void *init, size_t len) {
    if (len > sdsWidthMax(SDS_WIDTH_8)) return NULL;
    unsigned width = sdsWidthFor(len);
    void *block = ztrymalloc(sdsBlockSize(width, len));
    if (!block) return NULL;
    sds s = sdsFormatBlock(block, width, len, len);
    if (init && len) memcpy(s, init, len);
    return s;
}

sds sdsnewlen(const void *init, size_t len) {
    serverAssert(len <= sdsWidthMax(SDS_WIDTH_8));
    unsigned width = sdsWidthFor(len);
    sds s = sdsFormatBlock(zmalloc(sdsBlockSize(width, len)), width, len, len);
    if (init && len) memcpy(s, init, len);
    return s;
}

sds sdsnew(const char *cstr) {
    return sdsnewlen(cstr, strlen(cstr));
}

sds sdsnewstr(struct str s) {
    return sdsnewlen(s.ptr, s.len);
}

sds sdsempty(void) {
    return sdsnewlen("", 0);
}

sds sdsdup(const char *s) {
    return sdsnewlen(s, sdslen(s));
}

sds sdsfromll(long long v) {
    char text[LONG_STR_SIZE];
    return sdsnewlen(text, ll2string(text, v));
}

void sdsfree(sds s) {
    if (s) zfreeSized(sdsAllocPtr(s), sdsBlockSize(sdsWidth(s), sdsCapacity(s)));
}

/* ---- Public API: space ---- */

size_t sdsavail(const char *s) {
    return sdsCapacity(s) - sdslen(s);
}

size_t sdsAllocSize(const char *s) {
    return zmallocSize(sdsAllocPtr(s));
}

void *sdsAllocPtr(const char *s) {
    return (void *)(s - sdsHeaderSize(sdsWidth(s)));
}

sds sdsMove(sds s, zmoveFn *move, void *priv) {
    size_t header = sdsHeaderSize(sdsWidth(s));
    char *now = move(priv, s - header);
    return now ? now + header : NULL;
}

void sdssetlen(sds s, size_t len) {
    serverAssert(len <= sdsCapacity(s));
    sdsSetLen(s, len);
    s[len] = '\0';
}

sds sdsMakeRoomFor(sds s, size_t addlen) {
    return sdsMakeRoom(s, addlen, true);
}

sds sdsMakeRoomForExact(sds s, size_t addlen) {
    return sdsMakeRoom(s, addlen, false);
}

sds sdsShrink(sds s) {
    return sdsavail(s) ? sdsReallocate(s, sdslen(s)) : s;
}

sds sdsgrowzero(sds s, size_t len) {
    size_t old = sdslen(s);
    if (len <= old) return s;
    s = sdsMakeRoom(s, len - old, old > 0); /* an empty string may never grow again */
    memset(s + old, 0, len - old);
    sdssetlen(s, len);
    return s;
}

/* ---- Public API: contents ---- */

sds sdscatlen(sds s, const void *p, size_t len) {
    size_t old = sdslen(s);
    s = sdsMakeRoomFor(s, len);
    if (len) memcpy(s + old, p, len);
    sdssetlen(s, old + len);
    return s;
}

sds sdscat(sds s, const char *cstr) {
    return sdscatlen(s, cstr, strlen(cstr));
}

sds sdscatstr(sds s, struct str v) {
    return sdscatlen(s, v.ptr, v.len);
}

sds sdscpylen(sds s, const void *p, size_t len) {
    sdssetlen(s, 0);
    return sdscatlen(s, p, len);
}

/* Most texts fit the available space, or a little more; the second pass knows how much. */
sds sdscatvprintf(sds s, const char *fmt, va_list ap) {
    size_t old = sdslen(s);
    va_list again;
    va_copy(again, ap);
    s = sdsMakeRoomFor(s, strlen(fmt) + 16);
    size_t room = sdsavail(s) + 1;
    int printed = vsnprintf(s + old, room, fmt, ap);
    serverAssert(printed >= 0);
    if ((size_t)printed >= room) {
        s = sdsMakeRoomFor(s, (size_t)printed);
        vsnprintf(s + old, (size_t)printed + 1, fmt, again);
    }
    va_end(again);
    sdssetlen(s, old + (size_t)printed);
    return s;
}

sds sdscatprintf(sds s, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    s = sdscatvprintf(s, fmt, ap);
    va_end(ap);
    return s;
}

sds sdscatrepr(sds s, const char *p, size_t len) {
    s = sdsMakeRoomFor(s, len + 2);
    s = sdscatlen(s, "\"", 1);
    for (const char *end = p + len; p < end; p++) {
        unsigned char c = (unsigned char)*p;
        char letter = escapeLetter(*p);
        if (letter) {
            s = sdscatlen(s, (char[]){'\\', letter}, 2);
        } else if (c >= 0x20 && c < 0x7f) {
            s = sdscatlen(s, p, 1);
        } else {
            static const char hex[] = "0123456789abcdef";
            s = sdscatlen(s, (char[]){'\\', 'x', hex[c >> 4], hex[c & 15]}, 4);
        }
    }
    return sdscatlen(s, "\"", 1);
}

static bool sdsWordNeedsQuotes(struct str word) {
    for (size_t i = 0; i < word.len; i++) {
        unsigned char c = (unsigned char)word.ptr[i];
        if (c <= ' ' || c >= 0x7f || c == '"' || c == '\'' || c == '\\') return true;
    }
    return word.len == 0;
}

sds sdscatword(sds s, struct str word) {
    return sdsWordNeedsQuotes(word) ? sdscatrepr(s, word.ptr, word.len) : sdscatstr(s, word);
}

void sdstolower(sds s) {
    for (size_t i = 0, len = sdslen(s); i < len; i++)
        if (s[i] >= 'A' && s[i] <= 'Z') s[i] |= 0x20;
}

void sdstoupper(sds s) {
    for (size_t i = 0, len = sdslen(s); i < len; i++)
        if (s[i] >= 'a' && s[i] <= 'z') s[i] &= ~0x20;
}

sds sdstrim(sds s, const char *cset) {
    size_t setlen = strlen(cset);
    const char *start = s, *end = s + sdslen(s);
    while (start < end && memchr(cset, *start, setlen)) start++;
    while (start < end && memchr(cset, end[-1], setlen)) end--;
    size_t len = (size_t)(end - start);
    memmove(s, start, len);
    sdssetlen(s, len);
    return s;
}

void sdsrange(sds s, ptrdiff_t start, ptrdiff_t end) {
    ptrdiff_t len = (ptrdiff_t)sdslen(s);
    if (start < 0) start = start + len < 0 ? 0 : start + len;
    if (end < 0) end += len;
    if (end >= len) end = len - 1;
    size_t kept = start <= end ? (size_t)(end - start + 1) : 0;
    if (kept) memmove(s, s + start, kept);
    sdssetlen(s, kept);
}

int sdscmp(const char *a, const char *b) {
    return strCmp(sdsview(a), sdsview(b));
}

/* ---- Public API: splitting ---- */

sds *sdssplitargs(const char *line, size_t len, int *argc) {
    const char *p = line, *end = line + len;
    sds *argv = zmalloc(sizeof(*argv));
    char *word = zmalloc(len + 1); /* each word fits */
    size_t word_len;
    *argc = 0;
    for (;;) {
        while (p && p < end && charIsBlank(*p)) p++;
        if (!p || p == end) break;
        p = wordRead(p, end, word, &word_len);
        argv = zrealloc(argv, (size_t)(*argc + 1) * sizeof(*argv));
        argv[(*argc)++] = sdsnewlen(word, word_len);
    }
    zfree(word);
    if (p) return argv;
    sdsfreesplitres(argv, *argc);
    *argc = 0;
    return NULL;
}

sds *sdssplitlen(const char *s, size_t len, const char *sep, size_t seplen, int *count) {
    serverAssert(seplen > 0);
    sds *tokens = zmalloc(sizeof(*tokens));
    *count = 0;
    if (len == 0) return tokens;
    for (const char *end = s + len, *found; s; s = found ? found + seplen : NULL) {
        found = memmem(s, (size_t)(end - s), sep, seplen);
        tokens = zrealloc(tokens, (size_t)(*count + 1) * sizeof(*tokens));
        tokens[(*count)++] = sdsnewlen(s, (size_t)((found ? found : end) - s));
    }
    return tokens;
}

void sdsfreesplitres(sds *tokens, int count) {
    if (!tokens) return;
    while (count > 0) sdsfree(tokens[--count]);
    zfree(tokens);
}
