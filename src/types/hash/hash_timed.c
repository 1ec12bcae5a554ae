/* SPDX-License-Identifier: BSD-3-Clause */
/* hash_timed.c - small hashes some of whose fields expire: a listpack with three elements for each field.
 *
 *     field | value | 0: it does not expire, otherwise the time in ms + 1 | field | value | ...
 *
 * Zero takes two bytes, and a time ten. The first time is kept beside the listpack, so that reading and the
 * job need not search for it; only removing that time costs a walk. */
#include "base/assert.h"
#include "base/zmalloc.h"
#include "types/hash/hash_private.h"

#define TRIPLE 3

static unsigned char *hashTimedValueAt(unsigned char *p) {
    return lpElementEnd(p);
}

static unsigned char *hashTimedTimeAt(unsigned char *p) {
    return lpElementEnd(lpElementEnd(p));
}

struct timedHash *hashTimedNew(size_t bytes) {
    struct timedHash *t = zcalloc(1, sizeof *t);
    t->first_ms = HASH_NEVER;
    t->lp = lpNew(bytes);
    return t;
}

void hashTimedFree(struct timedHash *t) {
    lpFree(t->lp);
    sdsfree(t->tracked.key);
    zfreeSized(t, sizeof *t);
}

struct timedHash *hashTimedCopy(const struct timedHash *t) {
    struct timedHash *copy = zcalloc(1, sizeof *copy);
    copy->first_ms = t->first_ms;
    copy->lp = lpDup(t->lp);
    return copy;
}

size_t hashTimedMemory(const struct timedHash *t) {
    return zmallocSize(t) + zmallocSize(t->lp) + (t->tracked.key ? sdsAllocSize(t->tracked.key) : 0);
}

/* ---- Reading ---- */

size_t hashTimedSize(const struct timedHash *t) {
    return lpLength(t->lp) / TRIPLE;
}

unsigned char *hashTimedFind(const struct timedHash *t, struct str field) {
    unsigned char *p = lpFirst(t->lp);
    return p ? lpFind(t->lp, p, field, TRIPLE - 1) : NULL;
}

unsigned char *hashTimedNext(const struct timedHash *t, unsigned char *p) {
    return p ? lpNext(t->lp, hashTimedTimeAt(p)) : lpFirst(t->lp);
}

int64_t hashTimedExpire(unsigned char *p) {
    struct lpValue v;
    lpGetValue(hashTimedTimeAt(p), &v);
    debugAssert(!v.sval && v.lval >= 0);
    return v.lval - 1;
}

struct str hashTimedValue(unsigned char *p, char *text) {
    return lpView(hashTimedValueAt(p), text);
}

size_t hashTimedCountExpiring(const struct timedHash *t, bool dead) {
    size_t n = 0;
    for (unsigned char *p = NULL; (p = hashTimedNext(t, p));) {
        int64_t expire_ms = hashTimedExpire(p);
        n += dead ? hashTimeIsDead(expire_ms) : expire_ms != HASH_NO_EXPIRE;
    }
    return n;
}

/* ---- Changing ---- */

/* Updates the first time after a field's has changed. */
static void hashTimedNoteTime(struct timedHash *t, int64_t old_ms, int64_t expire_ms) {
    if (expire_ms != HASH_NO_EXPIRE && expire_ms <= t->first_ms) {
        t->first_ms = expire_ms;
    } else if (old_ms == t->first_ms) {
        t->first_ms = HASH_NEVER;
        for (unsigned char *p = NULL; (p = hashTimedNext(t, p));) {
            int64_t ms = hashTimedExpire(p);
            if (ms != HASH_NO_EXPIRE && ms < t->first_ms) t->first_ms = ms;
        }
    }
}

void hashTimedAppend(struct timedHash *t, struct str field, struct str value, int64_t expire_ms) {
    t->lp = lpAppend(lpAppend(t->lp, field), value);
    t->lp = lpAppendInt(t->lp, expire_ms + 1);
    hashTimedNoteTime(t, HASH_NO_EXPIRE, expire_ms);
}

void hashTimedSetExpire(struct timedHash *t, unsigned char *p, int64_t expire_ms) {
    int64_t old_ms = hashTimedExpire(p);
    if (old_ms == expire_ms) return;
    t->lp = lpInsertInt(t->lp, expire_ms + 1, hashTimedTimeAt(p), LP_REPLACE, NULL);
    hashTimedNoteTime(t, old_ms, expire_ms);
}

void hashTimedSet(struct timedHash *t, unsigned char *p, struct str value, bool keep_expiry) {
    if (!keep_expiry) {
        size_t at = (size_t)(p - t->lp);
        hashTimedSetExpire(t, p, HASH_NO_EXPIRE);
        p = t->lp + at; /* what precedes the time has stayed where it was */
    }
    t->lp = lpInsert(t->lp, value, hashTimedValueAt(p), LP_REPLACE, NULL);
}

void hashTimedRemove(struct timedHash *t, unsigned char *p) {
    int64_t old_ms = hashTimedExpire(p);
    for (int i = 0; i < TRIPLE; i++) t->lp = lpDelete(t->lp, p, &p);
    hashTimedNoteTime(t, old_ms, HASH_NO_EXPIRE);
}

size_t hashTimedRemoveDead(struct timedHash *t, struct hashEntry **entries, size_t max) {
    size_t n = 0;
    unsigned char *p = lpFirst(t->lp);
    while (p && n < max && hashTimeIsDead(t->first_ms)) {
        if (!hashTimeIsDead(hashTimedExpire(p))) {
            p = hashTimedNext(t, p);
            continue;
        }
        char text[LP_INTBUF_SIZE];
        size_t at = (size_t)(p - t->lp);
        entries[n++] = hashEntryNew(lpView(p, text), (struct hashInput){.text = STR("")});
        hashTimedRemove(t, p);
        p = t->lp[at] == 0xff ? NULL : t->lp + at;
    }
    return n;
}

unsigned char *hashTimedPairs(const struct timedHash *t) {
    unsigned char *lp = lpNew(lpBytes(t->lp));
    char field[LP_INTBUF_SIZE], value[LP_INTBUF_SIZE];
    for (unsigned char *p = NULL; (p = hashTimedNext(t, p));)
        lp = lpAppend(lpAppend(lp, lpView(p, field)), hashTimedValue(p, value));
    return lpShrinkToFit(lp);
}
