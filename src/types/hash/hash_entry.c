/* SPDX-License-Identifier: BSD-3-Clause */
/* hash_entry.c - a field and its value in one allocation.
 *
 *     | flags:2 flen:6 | vlen:8 | [flen:32] [expire:64 pos:32] [pad, ptr:64] | field | value |
 *
 * The parts in brackets are present when their flag is set: flen:32 when the field has 63 bytes or more,
 * expire and pos (the position in the heap of expiring fields) when the field has an expiry, and a pointer
 * when the value is an sds of more than 254 bytes or belongs to somebody else (vlen says which). A usual
 * entry takes 2 bytes more than its text: 13 bytes of field and 10 of value take an allocation of 32. The
 * pointer is aligned, for the sake of leak checkers; nothing else is. */
#include "types/hash/hash_entry.h"

#include "base/assert.h"
#include "base/zmalloc.h"

enum { HAS_EXPIRE = 0x80, HAS_PTR = 0x40, FIELD_LEN = 0x3f };

/* vlen of a value that is a pointer: to an sds, or to a struct elsewhere. */
enum { OWN = 0, ELSEWHERE = 1 };
struct elsewhere {
    struct str text;
};

#define LONG_FIELD  63 /* in flen: the length is in flen:32 */
#define EXPIRE_SIZE 12

struct hashEntry {
    uint8_t head, vlen;
    char data[];
};

/* ---- Layout ---- */

struct hashEntryLayout {
    size_t field_at, total;
    uint8_t head;
};

static inline size_t hashEntryExpireAt(uint8_t head) {
    return (head & FIELD_LEN) == LONG_FIELD ? 6 : 2;
}

static inline size_t hashEntryFieldAt(uint8_t head) {
    if (head < LONG_FIELD) return 2;
    size_t at = hashEntryExpireAt(head) + (head & HAS_EXPIRE ? EXPIRE_SIZE : 0);
    return head & HAS_PTR ? ((at + 7) & ~(size_t)7) + 8 : at;
}

static struct hashEntryLayout hashEntryLayoutFor(size_t flen, size_t vlen, bool expire) {
    bool ptr = vlen > HASH_EMBED_MAX;
    struct hashEntryLayout l;
    l.head =
        (uint8_t)((flen < LONG_FIELD ? flen : LONG_FIELD) | (expire ? HAS_EXPIRE : 0) | (ptr ? HAS_PTR : 0));
    l.field_at = hashEntryFieldAt(l.head);
    l.total = l.field_at + flen + (ptr ? 0 : vlen);
    return l;
}

static inline char *hashEntryBytesAt(const struct hashEntry *e, size_t at) {
    return (char *)e + at;
}

static inline size_t hashEntryFieldLen(const struct hashEntry *e) {
    size_t len = e->head & FIELD_LEN;
    if (len < LONG_FIELD) return len;
    uint32_t longlen;
    memcpy(&longlen, e->data, sizeof longlen);
    return longlen;
}

static sds hashEntryValuePtr(const struct hashEntry *e) {
    sds s;
    memcpy(&s, hashEntryBytesAt(e, hashEntryFieldAt(e->head) - sizeof s), sizeof s);
    return s;
}

static void hashEntrySetValuePtr(struct hashEntry *e, sds s) {
    memcpy(hashEntryBytesAt(e, hashEntryFieldAt(e->head) - sizeof s), &s, sizeof s);
}

static size_t hashEntryRequestedSize(const struct hashEntry *e) {
    return hashEntryFieldAt(e->head) + hashEntryFieldLen(e) + (e->head & HAS_PTR ? 0 : e->vlen);
}

static void hashEntryWriteHead(struct hashEntry *e, const struct hashEntryLayout *l, size_t flen) {
    e->head = l->head;
    uint32_t longlen = (uint32_t)flen;
    if (flen >= LONG_FIELD) memcpy(e->data, &longlen, sizeof longlen);
}

static void hashEntryCopyExpire(struct hashEntry *to, const struct hashEntry *from) {
    memcpy(hashEntryBytesAt(to, hashEntryExpireAt(to->head)),
           hashEntryBytesAt(from, hashEntryExpireAt(from->head)), EXPIRE_SIZE);
}

static struct elsewhere *hashEntryElsewhereOf(const struct hashEntry *e) {
    return (struct elsewhere *)hashEntryValuePtr(e);
}

static void hashEntryFreeValue(struct hashEntry *e) {
    if (hashEntryIsElsewhere(e))
        zfree(hashEntryElsewhereOf(e));
    else if (e->head & HAS_PTR)
        sdsfree(hashEntryValuePtr(e));
}

static void hashEntryWriteValue(struct hashEntry *e, size_t flen, struct hashInput value) {
    if (value.owned == HASH_ELSEWHERE) {
        struct elsewhere *there = zmalloc(sizeof *there);
        there->text = value.text;
        e->vlen = ELSEWHERE;
        hashEntrySetValuePtr(e, (sds)there);
    } else if (e->head & HAS_PTR) {
        e->vlen = OWN;
        hashEntrySetValuePtr(e, value.owned ? value.owned : sdsnewstr(value.text));
    } else {
        e->vlen = (uint8_t)value.text.len;
        memcpy(hashEntryBytesAt(e, hashEntryFieldAt(e->head) + flen), value.text.ptr, value.text.len);
        debugAssert(!value.owned);
    }
}

static struct hashInput hashEntryReadable(struct hashInput value) {
    if (value.owned && value.owned != HASH_ELSEWHERE) value.text = sdsview(value.owned);
    return value;
}

/* A value longer than what is embedded is a pointer. */
static size_t hashEntryLengthInside(struct hashInput value) {
    return value.owned == HASH_ELSEWHERE ? HASH_EMBED_MAX + 1 : value.text.len;
}

/* ---- API ---- */

struct str hashEntryField(const struct hashEntry *e) {
    return strN(hashEntryBytesAt(e, hashEntryFieldAt(e->head)), hashEntryFieldLen(e));
}

bool hashEntryIsElsewhere(const struct hashEntry *e) {
    return e->head & HAS_PTR && e->vlen == ELSEWHERE;
}

struct str hashEntryValue(const struct hashEntry *e) {
    if (hashEntryIsElsewhere(e)) return hashEntryElsewhereOf(e)->text;
    if (e->head & HAS_PTR) return sdsview(hashEntryValuePtr(e));
    return strN(hashEntryBytesAt(e, hashEntryFieldAt(e->head) + hashEntryFieldLen(e)), e->vlen);
}

int64_t hashEntryExpire(const struct hashEntry *e) {
    if (!(e->head & HAS_EXPIRE)) return HASH_NO_EXPIRE;
    int64_t ms;
    memcpy(&ms, hashEntryBytesAt(e, hashEntryExpireAt(e->head)), sizeof ms);
    return ms;
}

uint32_t hashEntryHeapPos(const struct hashEntry *e) {
    debugAssert(e->head & HAS_EXPIRE);
    uint32_t pos;
    memcpy(&pos, hashEntryBytesAt(e, hashEntryExpireAt(e->head) + 8), sizeof pos);
    return pos;
}

void hashEntrySetHeapPos(struct hashEntry *e, uint32_t pos) {
    debugAssert(e->head & HAS_EXPIRE);
    memcpy(hashEntryBytesAt(e, hashEntryExpireAt(e->head) + 8), &pos, sizeof pos);
}

size_t hashEntryMemory(const struct hashEntry *e) {
    if (hashEntryIsElsewhere(e)) return zmallocSize(e) + zmallocSize(hashEntryElsewhereOf(e));
    return zmallocSize(e) + (e->head & HAS_PTR ? sdsAllocSize(hashEntryValuePtr(e)) : 0);
}

struct hashEntry *hashEntryNew(struct str field, struct hashInput value) {
    value = hashEntryReadable(value);
    struct hashEntryLayout l = hashEntryLayoutFor(field.len, hashEntryLengthInside(value), false);
    struct hashEntry *e = zmalloc(l.total);
    hashEntryWriteHead(e, &l, field.len);
    memcpy(hashEntryBytesAt(e, l.field_at), field.ptr, field.len);
    hashEntryWriteValue(e, field.len, value);
    return e;
}

struct hashEntry *hashEntryCopy(const struct hashEntry *e) {
    size_t size = hashEntryRequestedSize(e);
    struct hashEntry *copy = zmalloc(size);
    memcpy(copy, e, size);
    if (hashEntryIsElsewhere(e)) {
        /* The layout of a copy may differ. */
        copy->vlen = OWN;
        hashEntrySetValuePtr(copy, sdsempty());
        return hashEntrySetValue(copy, (struct hashInput){.text = hashEntryValue(e)});
    }
    if (e->head & HAS_PTR) hashEntrySetValuePtr(copy, sdsdup(hashEntryValuePtr(e)));
    return copy;
}

void hashEntryFree(struct hashEntry *e) {
    hashEntryFreeValue(e);
    zfreeSized(e, hashEntryRequestedSize(e));
}

struct hashEntry *hashEntrySetValue(struct hashEntry *e, struct hashInput value) {
    value = hashEntryReadable(value);
    struct str field = hashEntryField(e);
    struct hashEntryLayout l =
        hashEntryLayoutFor(field.len, hashEntryLengthInside(value), e->head & HAS_EXPIRE);
    if (l.head == e->head && zmallocSameRoom(e, hashEntryRequestedSize(e), l.total)) {
        hashEntryFreeValue(e);
        hashEntryWriteValue(e, field.len, value);
        return e;
    }
    struct hashEntry *now = zmalloc(l.total);
    hashEntryWriteHead(now, &l, field.len);
    if (l.head & HAS_EXPIRE) hashEntryCopyExpire(now, e);
    memcpy(hashEntryBytesAt(now, l.field_at), field.ptr, field.len);
    hashEntryWriteValue(now, field.len, value);
    hashEntryFree(e);
    return now;
}

/* Field and embedded value are neighbours: they are moved together. */
struct hashEntry *hashEntrySetExpire(struct hashEntry *e, int64_t expire_ms) {
    bool expire = expire_ms != HASH_NO_EXPIRE, ptr = e->head & HAS_PTR;
    size_t flen = hashEntryFieldLen(e), now_size = hashEntryRequestedSize(e),
           from = hashEntryFieldAt(e->head);
    struct hashEntryLayout l = hashEntryLayoutFor(flen, ptr ? HASH_EMBED_MAX + 1 : e->vlen, expire);
    if (l.head != e->head) {
        sds value = ptr ? hashEntryValuePtr(e) : NULL;
        struct hashEntry *to = zmallocSameRoom(e, now_size, l.total) ? e : zmalloc(l.total);
        uint8_t vlen = e->vlen;
        memmove(hashEntryBytesAt(to, l.field_at), hashEntryBytesAt(e, from), now_size - from);
        hashEntryWriteHead(to, &l, flen);
        to->vlen = vlen;
        if (ptr) hashEntrySetValuePtr(to, value);
        if (to != e) zfreeSized(e, now_size);
        e = to;
    }
    if (expire) memcpy(hashEntryBytesAt(e, hashEntryExpireAt(e->head)), &expire_ms, sizeof expire_ms);
    return e;
}

struct hashEntry *hashEntryMove(struct hashEntry *e, zmoveFn *move, void *priv) {
    sds value = hashEntryIsElsewhere(e) ? move(priv, hashEntryValuePtr(e))
                : e->head & HAS_PTR     ? sdsMove(hashEntryValuePtr(e), move, priv)
                                        : NULL;
    if (value) hashEntrySetValuePtr(e, value);
    struct hashEntry *now = move(priv, e);
    return now ? now : e;
}
