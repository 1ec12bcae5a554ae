/* SPDX-License-Identifier: BSD-3-Clause */
/* ziplist.c - reads the flat list of older files; the format is in ziplist.h. */
#include "ds/ziplist.h"

#include "ds/listpack.h"

#define HEADER_SIZE   10
#define COUNT_UNKNOWN 65535
#define END           0xff
#define LONG_SIZE     0xfe /* the size of the previous entry is in the next four bytes */

/* The remaining entries, and the start of the first one. */
struct ziplistReader {
    const unsigned char *p, *end;
};

static bool ziplistReadBytes(struct ziplistReader *r, size_t n, const unsigned char **p) {
    if (n > (size_t)(r->end - r->p)) return false;
    *p = r->p;
    r->p += n;
    return true;
}

static uint64_t ziplistLoadLE(const unsigned char *p, unsigned bytes) {
    uint64_t v = 0;
    for (unsigned i = bytes; i-- > 0;) v = v << 8 | p[i];
    return v;
}

static uint64_t ziplistLoadBE(const unsigned char *p, unsigned bytes) {
    uint64_t v = 0;
    for (unsigned i = 0; i < bytes; i++) v = v << 8 | p[i];
    return v;
}

static bool ziplistReadSizeBefore(struct ziplistReader *r, uint64_t *size) {
    const unsigned char *p;
    if (!ziplistReadBytes(r, 1, &p)) return false;
    *size = *p;
    if (*p < LONG_SIZE) return true;
    if (*p != LONG_SIZE || !ziplistReadBytes(r, 4, &p)) return false;
    *size = ziplistLoadLE(p, 4);
    return true;
}

static bool ziplistReadString(struct ziplistReader *r, uint64_t len, struct lpValue *v) {
    const unsigned char *p;
    if (!ziplistReadBytes(r, len, &p)) return false;
    v->sval = (const char *)p;
    v->slen = (uint32_t)len;
    return true;
}

static bool ziplistReadInteger(struct ziplistReader *r, unsigned bytes, struct lpValue *v) {
    const unsigned char *p;
    if (!ziplistReadBytes(r, bytes, &p)) return false;
    unsigned shift = 64 - 8 * bytes;
    v->sval = NULL;
    v->lval = (int64_t)(ziplistLoadLE(p, bytes) << shift) >> shift;
    return true;
}

static bool ziplistReadElement(struct ziplistReader *r, struct lpValue *v) {
    const unsigned char *p, *more;
    if (!ziplistReadBytes(r, 1, &p)) return false;
    switch (*p >> 6) {
    case 0: return ziplistReadString(r, *p, v);
    case 1: return ziplistReadBytes(r, 1, &more) && ziplistReadString(r, (uint64_t)(*p & 63) << 8 | *more, v);
    case 2: return ziplistReadBytes(r, 4, &more) && ziplistReadString(r, ziplistLoadBE(more, 4), v);
    }
    switch (*p) {
    case 0xc0: return ziplistReadInteger(r, 2, v);
    case 0xd0: return ziplistReadInteger(r, 4, v);
    case 0xe0: return ziplistReadInteger(r, 8, v);
    case 0xf0: return ziplistReadInteger(r, 3, v);
    case 0xfe: return ziplistReadInteger(r, 1, v);
    }
    v->sval = NULL;
    v->lval = (*p & 15) - 1;
    return *p >= 0xf1 && *p <= 0xfd;
}

/* Appends a value; returns NULL if it is too large for a listpack. */
static unsigned char *ziplistAppend(unsigned char *lp, const struct lpValue *v) {
    if (!lpSafeToAdd(lp, v->sval ? v->slen : 0)) {
        lpFree(lp);
        return NULL;
    }
    return v->sval ? lpAppend(lp, strN(v->sval, v->slen)) : lpAppendInt(lp, v->lval);
}

unsigned char *ziplistToListpack(struct str bytes) {
    const unsigned char *zl = (const unsigned char *)bytes.ptr;
    if (bytes.len < HEADER_SIZE + 1 || ziplistLoadLE(zl, 4) != bytes.len || zl[bytes.len - 1] != END)
        return NULL;
    struct ziplistReader r = {zl + HEADER_SIZE, zl + bytes.len - 1};
    uint64_t last = ziplistLoadLE(zl + 4, 4), announced = ziplistLoadLE(zl + 8, 2), count = 0, before = 0,
             before_is;
    const unsigned char *entry = r.p;
    unsigned char *lp = lpNew(bytes.len);
    struct lpValue v;
    while (lp && r.p < r.end) {
        entry = r.p;
        if (!ziplistReadSizeBefore(&r, &before_is) || before_is != before || !ziplistReadElement(&r, &v))
            goto bad;
        before = (uint64_t)(r.p - entry);
        count++;
        lp = ziplistAppend(lp, &v);
    }
    if (last == (uint64_t)(entry - zl) && (announced == COUNT_UNKNOWN || announced == count))
        return lp ? lpShrinkToFit(lp) : NULL;
bad:
    if (lp) lpFree(lp);
    return NULL;
}
