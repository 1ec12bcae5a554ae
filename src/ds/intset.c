/* SPDX-License-Identifier: BSD-3-Clause */
/* intset.c - see intset.h. The format is little endian on every machine; integers are read and written with
 * memcpy. */
#include "ds/intset.h"

#include <endian.h>
#include <string.h>

#include "base/assert.h"
#include "base/zmalloc.h"

enum { WIDTH_16 = 2, WIDTH_32 = 4, WIDTH_64 = 8 };

static uint32_t intsetLoadU32(const unsigned char *p) {
    uint32_t v;
    memcpy(&v, p, 4);
    return le32toh(v);
}

static void intsetStoreU32(unsigned char *p, uint32_t v) {
    v = htole32(v);
    memcpy(p, &v, 4);
}

static uint32_t intsetWidthOf(const unsigned char *is) {
    return intsetLoadU32(is);
}

static uint32_t intsetWidthFor(int64_t v) {
    if (v < INT32_MIN || v > INT32_MAX) return WIDTH_64;
    return v < INT16_MIN || v > INT16_MAX ? WIDTH_32 : WIDTH_16;
}

static int64_t intsetLoad(const unsigned char *is, uint32_t width, uint32_t i) {
    debugAssert(width == WIDTH_16 || width == WIDTH_32 || width == WIDTH_64);
    const unsigned char *p = is + INTSET_HEADER + (size_t)i * width;
    if (width == WIDTH_16) {
        uint16_t v;
        memcpy(&v, p, 2);
        return (int16_t)le16toh(v);
    }
    if (width == WIDTH_32) return (int32_t)intsetLoadU32(p);
    uint64_t v;
    memcpy(&v, p, 8);
    return (int64_t)le64toh(v);
}

static void intsetStore(unsigned char *is, uint32_t width, uint32_t i, int64_t value) {
    unsigned char *p = is + INTSET_HEADER + (size_t)i * width;
    if (width == WIDTH_16) {
        uint16_t v = htole16((uint16_t)value);
        memcpy(p, &v, 2);
    } else if (width == WIDTH_32) {
        intsetStoreU32(p, (uint32_t)value);
    } else {
        uint64_t v = htole64((uint64_t)value);
        memcpy(p, &v, 8);
    }
}

/* Finds the index of v, or of the first integer above it. */
static bool intsetSearch(const unsigned char *is, int64_t v, uint32_t *at) {
    uint32_t width = intsetWidthOf(is), low = 0, high = intsetLength(is);
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        int64_t here = intsetLoad(is, width, mid);
        if (here == v) {
            *at = mid;
            return true;
        }
        if (here < v)
            low = mid + 1;
        else
            high = mid;
    }
    *at = low;
    return false;
}

static unsigned char *intsetResize(unsigned char *is, uint32_t width, uint32_t length) {
    return zrealloc(is, INTSET_HEADER + (size_t)width * length);
}

/* Gives every integer the new width, from the last to the first so that none is overwritten unread. v is
 * outside the range of the old width, so it belongs at one of the ends. */
static unsigned char *intsetWidenAndAdd(unsigned char *is, int64_t v) {
    uint32_t old = intsetWidthOf(is), width = intsetWidthFor(v), length = intsetLength(is), shift = v < 0;
    serverAssert(width > old && length < UINT32_MAX);
    is = intsetResize(is, width, length + 1);
    for (uint32_t i = length; i-- > 0;) intsetStore(is, width, i + shift, intsetLoad(is, old, i));
    intsetStore(is, width, shift ? 0 : length, v);
    intsetStoreU32(is, width);
    intsetStoreU32(is + 4, length + 1);
    return is;
}

unsigned char *intsetNew(void) {
    unsigned char *is = zmalloc(INTSET_HEADER);
    intsetStoreU32(is, WIDTH_16);
    intsetStoreU32(is + 4, 0);
    return is;
}

void intsetFree(unsigned char *is) {
    zfree(is);
}

unsigned char *intsetDup(const unsigned char *is) {
    size_t bytes = intsetBytes(is);
    return memcpy(zmalloc(bytes), is, bytes);
}

uint32_t intsetLength(const unsigned char *is) {
    return intsetLoadU32(is + 4);
}
size_t intsetBytes(const unsigned char *is) {
    return INTSET_HEADER + (size_t)intsetWidthOf(is) * intsetLength(is);
}

bool intsetFind(const unsigned char *is, int64_t v) {
    uint32_t at;
    return intsetWidthFor(v) <= intsetWidthOf(is) && intsetSearch(is, v, &at);
}

int64_t intsetGet(const unsigned char *is, uint32_t index) {
    debugAssert(index < intsetLength(is));
    return intsetLoad(is, intsetWidthOf(is), index);
}

unsigned char *intsetAdd(unsigned char *is, int64_t v, bool *done) {
    if (done) *done = true;
    uint32_t width = intsetWidthOf(is), length = intsetLength(is), at;
    if (intsetWidthFor(v) > width) return intsetWidenAndAdd(is, v);
    if (intsetSearch(is, v, &at)) {
        if (done) *done = false;
        return is;
    }
    serverAssert(length < UINT32_MAX);
    debugAssert(at == 0 || intsetLoad(is, width, at - 1) < v);
    debugAssert(at == length || intsetLoad(is, width, at) > v);
    is = intsetResize(is, width, length + 1);
    unsigned char *p = is + INTSET_HEADER + (size_t)at * width;
    memmove(p + width, p, (size_t)(length - at) * width);
    intsetStore(is, width, at, v);
    intsetStoreU32(is + 4, length + 1);
    return is;
}

unsigned char *intsetRemove(unsigned char *is, int64_t v, bool *done) {
    uint32_t width = intsetWidthOf(is), length = intsetLength(is), at;
    bool found = intsetWidthFor(v) <= width && intsetSearch(is, v, &at);
    if (done) *done = found;
    if (!found) return is;
    debugAssert(at < length && intsetLoad(is, width, at) == v);
    unsigned char *p = is + INTSET_HEADER + (size_t)at * width;
    memmove(p, p + width, (size_t)(length - at - 1) * width);
    intsetStoreU32(is + 4, length - 1);
    return intsetResize(is, width, length - 1);
}

bool intsetValidate(const unsigned char *is, size_t size, bool deep) {
    if (size < INTSET_HEADER) return false;
    uint32_t width = intsetWidthOf(is), length = intsetLength(is);
    if (width != WIDTH_16 && width != WIDTH_32 && width != WIDTH_64) return false;
    if (length == 0 || (size - INTSET_HEADER) / width != length || (size - INTSET_HEADER) % width)
        return false;
    for (uint32_t i = 1; deep && i < length; i++) {
        if (intsetLoad(is, width, i - 1) >= intsetLoad(is, width, i)) return false;
    }
    return true;
}
