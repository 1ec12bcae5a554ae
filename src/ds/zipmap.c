/* SPDX-License-Identifier: BSD-3-Clause */
/* zipmap.c - reads the flat map of the oldest files; the format is in zipmap.h. */
#include "ds/zipmap.h"

#include <stdint.h>

#include "ds/listpack.h"

#define COUNT_UNKNOWN 254
#define END           0xff
#define LONG_LENGTH   0xfe

struct zipmapReader {
    const unsigned char *p, *end;
};

static bool zipmapReadLength(struct zipmapReader *r, size_t *len) {
    size_t left = (size_t)(r->end - r->p);
    if (left < 1 || *r->p == END || (*r->p == LONG_LENGTH && left < 5)) return false;
    if (*r->p < LONG_LENGTH) {
        *len = *r->p++;
    } else {
        *len = (size_t)r->p[1] | (size_t)r->p[2] << 8 | (size_t)r->p[3] << 16 | (size_t)r->p[4] << 24;
        r->p += 5;
        return *len >= LONG_LENGTH; /* a shorter one has only the short form */
    }
    return true;
}

static bool zipmapReadText(struct zipmapReader *r, size_t len, struct str *s) {
    if (len > (size_t)(r->end - r->p)) return false;
    *s = strN((const char *)r->p, len);
    r->p += len;
    return true;
}

static bool zipmapReadPair(struct zipmapReader *r, struct str *key, struct str *value) {
    size_t len;
    struct str unused;
    if (!zipmapReadLength(r, &len) || !zipmapReadText(r, len, key) || !zipmapReadLength(r, &len) ||
        r->p == r->end)
        return false;
    size_t unused_len = *r->p++;
    return zipmapReadText(r, len, value) && zipmapReadText(r, unused_len, &unused);
}

unsigned char *zipmapToListpack(struct str bytes) {
    const unsigned char *zm = (const unsigned char *)bytes.ptr;
    if (bytes.len < 2 || *zm == END || zm[bytes.len - 1] != END) return NULL;
    struct zipmapReader r = {zm + 1, zm + bytes.len - 1};
    unsigned char *lp = lpNew(bytes.len);
    size_t pairs = 0;
    struct str key, value;
    for (; r.p < r.end; pairs++) {
        if (!zipmapReadPair(&r, &key, &value) || !lpSafeToAdd(lp, key.len + value.len)) {
            lpFree(lp);
            return NULL;
        }
        lp = lpAppend(lpAppend(lp, key), value);
    }
    if (*zm == COUNT_UNKNOWN || *zm == pairs) return lpShrinkToFit(lp);
    lpFree(lp);
    return NULL;
}
