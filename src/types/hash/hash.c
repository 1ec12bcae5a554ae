/* SPDX-License-Identifier: BSD-3-Clause */
/* hash.c - the hash container in its encodings; see hash.h.
 *
 *     packed      | n:8 | field | m:8 | value | n:8 | field | ...      up to 63 bytes, in the object
 *
 * A packed hash is changed in a copy on the stack (`room` of struct hash), which hashCommit writes into the
 * object. That costs less than an allocation, and reading touches the object's cache line only. Hashes only
 * ever convert towards tables; one with expiring fields becomes a plain listpack or table when its last
 * expiry is gone. */
#include "types/hash/hash.h"

#include "base/assert.h"
#include "base/random.h"
#include "base/zmalloc.h"
#include "data/keyspace/db.h"
#include "data/lifetime/lazyfree.h"
#include "data/notify.h"
#include "registry/cron.h"
#include "registry/server_events.h"
#include "types/hash/hash_private.h"
#include "types/hash/hash_shape.h"
#include "types/types.h"

#define RANDOM_TRIES 64

int64_t hash_max_listpack_entries, hash_max_listpack_value;

static struct str hashEntryKey(const void *entry) {
    return hashEntryField(entry);
}
static void hashTableEntryFree(void *entry) {
    hashEntryFree(entry);
}
static const struct hashtableType hashTableType = {.entryKey = hashEntryKey, .entryFree = hashTableEntryFree};

static int64_t hashEntryWhen(const void *entry) {
    return hashEntryExpire(entry);
}
static void hashEntryPlaced(void *entry, uint32_t pos) {
    hashEntrySetHeapPos(entry, pos);
}
static const struct hashHeapType hashFieldHeap = {.when = hashEntryWhen, .placed = hashEntryPlaced};

static bool hashIsDead(const struct hashEntry *e) {
    return hashTimeIsDead(hashEntryExpire(e));
}

static bool hashIsTable(const struct hash *h) {
    return h->encoding >= HASH_TABLE;
}

/* ---- Packed ---- */

static inline const unsigned char *hashPackedEnd(const struct hash *h) {
    return (const unsigned char *)h->ptr + h->used;
}

static inline struct str hashPackedText(const unsigned char *p) {
    return strN((const char *)p + 1, *p);
}

static inline unsigned char *hashPackedNext(const unsigned char *p) {
    return (unsigned char *)p + 1 + *p;
}

static unsigned char *hashPackedFind(const struct hash *h, struct str field) {
    for (unsigned char *p = h->ptr; p < hashPackedEnd(h); p = hashPackedNext(hashPackedNext(p))) {
        if (strEq(hashPackedText(p), field)) return p;
    }
    return NULL;
}

static size_t hashPackedCount(const struct hash *h) {
    size_t n = 0;
    for (const unsigned char *p = h->ptr; p < hashPackedEnd(h); p = hashPackedNext(hashPackedNext(p))) n++;
    return n;
}

/* Copies from the object to the stack before the first change. Returns the offset of p. */
static size_t hashPackedToRoom(struct hash *h, const unsigned char *p) {
    size_t at = p ? (size_t)(p - (unsigned char *)h->ptr) : h->used;
    if (h->ptr != h->room) {
        memcpy(h->room, h->ptr, h->used);
        h->ptr = h->room;
    }
    return at;
}

/* Makes `len` bytes out of the `old_len` at p. */
static char *hashPackedResize(struct hash *h, const unsigned char *p, size_t old_len, size_t len) {
    size_t at = hashPackedToRoom(h, p);
    memmove(h->room + at + len, h->room + at + old_len, h->used - at - old_len);
    h->used = (uint8_t)(h->used - old_len + len);
    return h->room + at;
}

static char *hashWriteText(char *to, struct str s) {
    *to++ = (char)s.len;
    memcpy(to, s.ptr, s.len);
    return to + s.len;
}

/* Returns false when there is not enough space. `p` is the field if it exists. */
static bool hashPackedSet(struct hash *h, unsigned char *p, struct str field, struct str value) {
    unsigned char *old = p ? hashPackedNext(p) : NULL;
    size_t old_len = old ? 1u + *old : 0, len = 1 + value.len + (p ? 0 : 1 + field.len);
    if (h->used - old_len + len > HASH_PACKED_MAX) return false;
    char *to = hashPackedResize(h, old, old_len, len);
    if (!p) to = hashWriteText(to, field);
    hashWriteText(to, value);
    return true;
}

static void hashPackedRemove(struct hash *h, unsigned char *p) {
    hashPackedResize(h, p, (size_t)(hashPackedNext(hashPackedNext(p)) - p), 0);
}

/* ---- Listpack ---- */

static unsigned char *hashListpackOf(const struct hash *h) {
    return h->encoding == HASH_TIMED ? hashTimed(h)->lp : h->ptr;
}

static unsigned char *hashListpackFind(unsigned char *lp, struct str field) {
    unsigned char *p = lpFirst(lp);
    return p ? lpFind(lp, p, field, 1) : NULL;
}

static void hashListpackSet(struct hash *h, unsigned char *p, struct str field, struct str value) {
    if (p) {
        h->ptr = lpInsert(h->ptr, value, lpNext(h->ptr, p), LP_REPLACE, NULL);
    } else {
        h->ptr = lpAppend(h->ptr, field);
        h->ptr = lpAppend(h->ptr, value);
        h->named = true;
    }
}

static void hashListpackRemove(struct hash *h, unsigned char *p) {
    h->ptr = lpDelete(h->ptr, p, &p);
    h->ptr = lpDelete(h->ptr, p, NULL);
    h->named = true;
}

/* ---- Shaped. A place is the address of the value, and the index in the bits above the address ---- */

#define PLACE_BITS 48

static const void *hashShapedPlace(const unsigned char *value, unsigned i) {
    return (const void *)((uintptr_t)value | (uintptr_t)i << PLACE_BITS);
}

static unsigned char *hashShapedPlaceValue(const void *place) {
    return (unsigned char *)((uintptr_t)place & (((uintptr_t)1 << PLACE_BITS) - 1));
}

static unsigned hashShapedPlaceIndex(const void *place) {
    return (unsigned)((uintptr_t)place >> PLACE_BITS);
}

static bool hashShapedHas(const struct hash *h, struct str field) {
    return hashShapeFind(hashShapedShape(h->ptr), field) >= 0;
}

static void hashShapedToListpack(struct hash *h) {
    void *container = h->ptr;
    h->shape_before = (uint16_t)hashShapedId(container);
    h->ptr = hashShapedListpack(container);
    h->encoding = HASH_LISTPACK;
    hashShapedFree(container);
}

void hashFindShape(struct hash *h) {
    if (h->encoding != HASH_LISTPACK) return;
    struct hashShape *s = hashShapeOf(h->ptr, h->shape_before);
    if (!s) return;
    void *container = hashShapedNew(s, h->ptr);
    lpFree(h->ptr);
    h->ptr = container;
    h->encoding = HASH_SHAPED;
}

/* ---- Table ---- */

/* Updates what points to the entry at `ref`, which is at `now` now. */
static void hashEntryMoved(struct hash *h, struct hashtableRef *ref, struct hashEntry *now) {
    if (hashtableRefEntry(ref) == now) return;
    hashtableRefSet(ref, now);
    if (hashEntryExpire(now) != HASH_NO_EXPIRE)
        hashHeapReplace(&hashExpiring(h)->due, hashEntryHeapPos(now), now);
}

static void hashDropExpiry(struct hash *h, struct hashtableRef *ref) {
    struct hashEntry *e = hashtableRefEntry(ref);
    hashHeapRemove(&hashExpiring(h)->due, &hashFieldHeap, hashEntryHeapPos(e));
    hashtableRefSet(ref, hashEntrySetExpire(e, HASH_NO_EXPIRE));
}

/* Names of the dead fields that the running command has removed, while somebody wants them. */
static struct str *dead_fields;
static size_t dead_fields_room;

const struct str *hashDeadFields(void) {
    return dead_fields;
}

static void hashCountDead(struct hash *h, struct str field) {
    size_t at = h->expired_removed++;
    if (!notify_subkey_sink) return;
    if (at >= dead_fields_room) {
        dead_fields_room = 2 * at + 16;
        dead_fields = zrealloc(dead_fields, dead_fields_room * sizeof *dead_fields);
    }
    dead_fields[at] = field;
}

static bool hashTableSet(struct hash *h, struct str field, struct hashInput value, bool keep_expiry) {
    uint64_t hash = dbHashMember(field);
    hashFieldWillChange(h->ptr, hash);
    struct hashtableRef *ref = hashtableFindRef(h->ptr, field, hash);
    if (!ref) {
        hashtableAddUnchecked(h->ptr, hashEntryNew(field, value), hash);
        return true;
    }
    struct hashEntry *e = hashtableRefEntry(ref);
    bool dead = hashIsDead(e);
    if (dead) hashCountDead(h, field);
    if (hashEntryExpire(e) != HASH_NO_EXPIRE && (dead || !keep_expiry)) hashDropExpiry(h, ref);
    hashEntryMoved(h, ref, hashEntrySetValue(hashtableRefEntry(ref), value));
    return dead;
}

static struct hashEntry *hashTableFind(const struct hash *h, struct str field) {
    return hashtableFindHashed(h->ptr, field, dbHashMember(field));
}

/* Removes the field if it exists and its being dead equals `dead`. */
static bool hashTableRemove(struct hash *h, struct str field, bool dead) {
    struct hashEntry *e = hashTableFind(h, field);
    if (!e || hashIsDead(e) != dead) return false;
    uint64_t hash = dbHashMember(field);
    hashFieldWillChange(h->ptr, hash);
    if (hashEntryExpire(e) != HASH_NO_EXPIRE)
        hashHeapRemove(&hashExpiring(h)->due, &hashFieldHeap, hashEntryHeapPos(e));
    hashtablePopHashed(h->ptr, field, hash);
    hashEntryFree(e);
    return true;
}

static void hashExpiringFree(struct expiringHash *e) {
    serverAssert(!e->before);
    hashtableDestroy(&e->fields);
    hashHeapFree(&e->due);
    sdsfree(e->tracked.key);
    zfreeSized(e, sizeof *e);
}

static struct expiringHash *hashExpiringNew(void) {
    struct expiringHash *e = zcalloc(1, sizeof *e);
    hashtableInit(&e->fields, &hashTableType);
    return e;
}

void *hashTableCopy(const struct hash *h) {
    bool expiring = h->encoding == HASH_EXPIRING;
    hashtable *ht = expiring ? &hashExpiringNew()->fields : hashtableCreate(&hashTableType);
    hashtableExpand(ht, hashtableSize(h->ptr));
    struct hashtableIterator it;
    void *entry;
    hashtableInitIterator(&it, h->ptr, true);
    while (hashtableNext(&it, &entry)) {
        struct str field = hashEntryField(entry);
        struct hashEntry *copy = hashEntryCopy(entry);
        hashtableAddUnchecked(ht, copy, hashBytes(field.ptr, field.len));
        if (hashEntryExpire(copy) != HASH_NO_EXPIRE)
            hashHeapAdd(&((struct expiringHash *)ht)->due, &hashFieldHeap, copy);
    }
    hashtableStopIterator(&it);
    return ht;
}

size_t hashRemoveDeadBatch(struct hash *h, struct hashEntry **entries, size_t max) {
    if (h->encoding == HASH_TIMED) return hashTimedRemoveDead(hashTimed(h), entries, max);
    struct expiringHash *e = hashExpiring(h);
    size_t n = 0;
    struct hashEntry *first;
    while (n < max && (first = hashHeapFirst(&e->due)) && hashIsDead(first)) {
        struct str field = hashEntryField(first);
        uint64_t hash = hashBytes(field.ptr, field.len);
        hashFieldWillChange(e, hash);
        hashHeapRemove(&e->due, &hashFieldHeap, 0);
        hashtableRemoveEntry(&e->fields, first, hash);
        entries[n++] = first;
    }
    return n;
}

/* ---- Conversion ---- */

static void hashToListpack(struct hash *h) {
    unsigned char *lp = lpNew(0);
    for (const unsigned char *p = h->ptr; p < hashPackedEnd(h); p = hashPackedNext(p))
        lp = lpAppend(lp, hashPackedText(p));
    h->ptr = lp;
    h->encoding = HASH_LISTPACK;
    h->named = true;
}

/* In a database the small hash stays tracked until hashCommit, which knows the database. */
static void hashTimedToExpiring(struct hash *h, size_t expected) {
    struct timedHash *t = hashTimed(h);
    struct expiringHash *e = hashExpiringNew();
    char field_text[LP_INTBUF_SIZE], value_text[LP_INTBUF_SIZE];
    hashtableExpand(&e->fields, expected);
    for (unsigned char *p = NULL; (p = hashTimedNext(t, p));) {
        struct str field = lpView(p, field_text), value = hashTimedValue(p, value_text);
        int64_t expire_ms = hashTimedExpire(p);
        struct hashEntry *entry = hashEntryNew(field, (struct hashInput){.text = value});
        if (expire_ms != HASH_NO_EXPIRE) entry = hashEntrySetExpire(entry, expire_ms);
        hashtableAddUnchecked(&e->fields, entry, hashBytes(field.ptr, field.len));
        if (expire_ms != HASH_NO_EXPIRE) hashHeapAdd(&e->due, &hashFieldHeap, entry);
    }
    if (t->tracked.key)
        e->before = t;
    else
        hashTimedFree(t);
    h->ptr = e;
    h->encoding = HASH_EXPIRING;
}

static void hashForgetBefore(struct hash *h, struct db *db) {
    struct timedHash *before = hashExpiring(h)->before;
    if (!before) return;
    hashUntrack(&db->keyspace, &before->tracked);
    hashTimedFree(before);
    hashExpiring(h)->before = NULL;
}

static void hashToTable(struct hash *h, size_t expected) {
    if (h->encoding == HASH_TIMED) {
        hashTimedToExpiring(h, expected ? expected : hashSize(h) + 1);
        return;
    }
    hashtable *ht = hashtableCreate(&hashTableType);
    size_t size = hashSize(h);
    hashtableExpand(ht, expected > size ? expected : size + 1);
    struct hashIterator it;
    struct hashItem item;
    hashIterate(&it, h);
    while (hashNext(&it, &item)) {
        struct str field = item.field.s;
        hashtableAddUnchecked(ht, hashEntryNew(field, (struct hashInput){.text = item.value.s}),
                              hashBytes(field.ptr, field.len));
    }
    hashStop(&it);
    if (h->encoding != HASH_PACKED) hashDrop(h);
    h->ptr = ht;
    h->encoding = HASH_TABLE;
}

static void hashToTimed(struct hash *h) {
    if (h->encoding == HASH_SHAPED) hashShapedToListpack(h);
    struct timedHash *t = hashTimedNew(h->encoding == HASH_PACKED ? h->used : lpBytes(h->ptr));
    struct hashIterator it;
    struct hashItem item;
    hashIterate(&it, h);
    while (hashNext(&it, &item)) hashTimedAppend(t, item.field.s, item.value.s, HASH_NO_EXPIRE);
    hashStop(&it);
    if (h->encoding == HASH_LISTPACK) lpFree(h->ptr);
    h->ptr = t;
    h->encoding = HASH_TIMED;
}

static void hashToExpiring(struct hash *h) {
    if (h->encoding == HASH_EXPIRING) return;
    struct expiringHash *e = hashExpiringNew();
    e->fields = *(struct hashtable *)h->ptr;
    largeValueMoved(h->ptr, e);
    zfreeSized(h->ptr, sizeof(struct hashtable));
    h->ptr = e;
    h->encoding = HASH_EXPIRING;
}

/* Called when the last expiry is gone. */
static void hashToPlain(struct hash *h, struct db *db) {
    serverAssert(!hashHasExpiring(h));
    hashUntrack(&db->keyspace, hashTrackedOf(h));
    if (h->encoding == HASH_TIMED) {
        unsigned char *pairs = hashTimedPairs(h->ptr);
        hashTimedFree(h->ptr);
        h->ptr = pairs;
        h->encoding = HASH_LISTPACK;
        h->named = true;
        return;
    }
    struct expiringHash *e = hashExpiring(h);
    struct hashtable *ht = zmalloc(sizeof *ht);
    *ht = e->fields;
    largeValueMoved(e, ht);
    zfreeSized(e, sizeof *e);
    h->ptr = ht;
    h->encoding = HASH_TABLE;
}

/* ---- Life ---- */

void hashOpen(struct hash *h, const struct object *o) {
    debugAssert(o->type == OBJ_HASH);
    h->encoding = (uint8_t)o->encoding;
    h->shape_before = 0;
    h->named = false;
    h->expired_removed = 0;
    if (objectHasPtr(o)) {
        h->used = 0;
        h->ptr = objectPtr(o);
    } else {
        struct str bytes = objectEmbedded(o);
        h->used = (uint8_t)bytes.len;
        h->ptr = (char *)bytes.ptr;
    }
}

void hashNew(struct hash *h) {
    h->encoding = HASH_PACKED;
    h->used = 0;
    h->shape_before = 0;
    h->named = false;
    h->expired_removed = 0;
    h->ptr = h->room;
}

bool hashListpackStays(unsigned char *lp) {
    char text[LP_INTBUF_SIZE];
    size_t longest = 0, packed = 0;
    for (unsigned char *p = lpFirst(lp); p; p = lpNext(lp, p)) {
        size_t len = lpView(p, text).len;
        if (len > longest) longest = len;
        packed += 1 + len;
    }
    return packed > HASH_PACKED_MAX && longest <= (size_t)hash_max_listpack_value &&
           lpLength(lp) / 2 <= (size_t)hash_max_listpack_entries;
}

void hashExpect(struct hash *h, size_t pairs) {
    if (hashIsTable(h)) {
        if (!hashtableSize(h->ptr)) hashtableExpand(h->ptr, pairs);
    } else if (pairs > (size_t)hash_max_listpack_entries) {
        hashToTable(h, hashSize(h) + pairs);
    }
}

void hashDrop(struct hash *h) {
    switch (h->encoding) {
    case HASH_PACKED: break;
    case HASH_LISTPACK: lpFree(h->ptr); break;
    case HASH_TIMED: hashTimedFree(h->ptr); break;
    case HASH_SHAPED: hashShapedFree(h->ptr); break;
    case HASH_TABLE: hashtableRelease(h->ptr); break;
    default: hashExpiringFree(h->ptr);
    }
}

struct value hashValue(struct hash *h) {
    if (h->encoding == HASH_PACKED) return valueEmbed(OBJ_HASH, HASH_PACKED, strN(h->ptr, h->used));
    return valuePtr(OBJ_HASH, h->encoding, h->ptr);
}

/* Puts the struct into the object; the container that was there has been freed or has another owner. */
static void hashStore(struct hash *h, struct db *db, struct object *o) {
    if (objectHasPtr(o))
        objectSetPtr(o, h->encoding, h->ptr);
    else if (h->encoding != HASH_PACKED || h->ptr == h->room)
        dbReplaceValue(db, o, hashValue(h));
}

hashtable *hashTable(const struct hash *h) {
    return hashIsTable(h) ? h->ptr : NULL;
}

/* Stores a hash that has lost its last field. */
static void hashCommitEmpty(struct hash *h, struct db *db, struct str key, struct object *o) {
    if (!o) {
        hashDrop(h);
        return;
    }
    bool notified = serverEventWanted(SERVER_KEY); /* modules find a deleted key empty */
    if (objectHasPtr(o) || notified) hashStore(h, db, o);
    dbDeleteObject(db, notified ? dbFind(db, key) : o, lazyfree_lazy_server_del);
}

bool hashCommit(struct hash *h, struct db *db, struct str key, struct object *o) {
    bool empty = hashSize(h) == 0;
    if (h->encoding == HASH_EXPIRING) hashForgetBefore(h, db);
    if (hashEncodingExpires(h->encoding) && !hashHasExpiring(h)) hashToPlain(h, db);
    if (!empty && h->named) hashFindShape(h);
    if (empty) {
        hashCommitEmpty(h, db, key, o);
    } else if (!o) {
        dbAdd(db, key, hashValue(h));
    } else {
        hashStore(h, db, o);
        if (hashEncodingExpires(h->encoding)) hashTrack(&db->keyspace, key, h);
    }
    return !empty;
}

/* ---- Fields ---- */

size_t hashSize(const struct hash *h) {
    switch (h->encoding) {
    case HASH_PACKED: return hashPackedCount(h);
    case HASH_LISTPACK: return lpLength(h->ptr) / 2;
    case HASH_TIMED: return hashTimedSize(h->ptr);
    case HASH_SHAPED: return hashShapedShape(h->ptr)->count;
    default: return hashtableSize(h->ptr);
    }
}

size_t hashLive(const struct hash *h) {
    size_t size = hashSize(h);
    if (!hashEncodingExpires(h->encoding) || !hashHasDead(h)) return size;
    if (h->encoding == HASH_TIMED) return size - hashTimedCountExpiring(h->ptr, true);
    return size - hashHeapCountBefore(&hashExpiring(h)->due, &hashFieldHeap, cmd_time_ms, UINT32_MAX);
}

bool hashHasExpiring(const struct hash *h) {
    if (h->encoding == HASH_TIMED) return hashTimed(h)->first_ms != HASH_NEVER;
    return h->encoding == HASH_EXPIRING && hashExpiring(h)->due.used;
}

size_t hashCountExpiringFields(const struct hash *h) {
    if (h->encoding == HASH_TIMED) return hashTimedCountExpiring(h->ptr, false);
    return h->encoding == HASH_EXPIRING ? hashExpiring(h)->due.used : 0;
}

bool hashHasDead(const struct hash *h) {
    if (h->encoding == HASH_TIMED) return hashTimeIsDead(hashTimed(h)->first_ms);
    return hashHasExpiring(h) && hashIsDead(hashHeapFirst(&hashExpiring(h)->due));
}

static bool hashFoundText(struct hashText *out, struct str s) {
    if (out) out->s = s;
    return true;
}

/* Not inlined, so that reading other hashes stays short. */
static __attribute__((noinline)) bool hashTimedGet(const struct hash *h, struct str field,
                                                   struct hashText *value) {
    unsigned char *p = hashTimedFind(h->ptr, field);
    if (!p || hashTimeIsDead(hashTimedExpire(p))) return false;
    return !value || hashFoundText(value, hashTimedValue(p, value->text));
}

static bool hashShapedGet(const struct hash *h, struct str field, struct hashText *value) {
    int i = hashShapeFind(hashShapedShape(h->ptr), field);
    if (i < 0) return false;
    return !value || hashFoundText(value, lpView(hashShapedAt(h->ptr, (unsigned)i), value->text));
}

bool hashGet(const struct hash *h, struct str field, struct hashText *value) {
    if (h->encoding == HASH_PACKED) {
        const unsigned char *p = hashPackedFind(h, field);
        return p && hashFoundText(value, hashPackedText(hashPackedNext(p)));
    }
    if (h->encoding == HASH_LISTPACK) {
        unsigned char *p = hashListpackFind(h->ptr, field);
        return p && (!value || hashFoundText(value, lpView(lpNext(h->ptr, p), value->text)));
    }
    if (h->encoding == HASH_SHAPED) return hashShapedGet(h, field, value);
    if (h->encoding == HASH_TIMED) return hashTimedGet(h, field, value);
    struct hashEntry *e = hashTableFind(h, field);
    return e && !hashIsDead(e) && hashFoundText(value, hashEntryValue(e));
}

static bool hashFitsLimits(struct str field, struct str value) {
    size_t longest = field.len > value.len ? field.len : value.len;
    return longest <= (size_t)hash_max_listpack_value;
}

static bool hashTimedSetField(struct hash *h, struct str field, struct hashInput value, bool keep_expiry) {
    struct timedHash *t = hashTimed(h);
    unsigned char *p = hashTimedFind(t, field);
    if (hashTimedSize(t) + !p > (size_t)hash_max_listpack_entries) {
        hashToTable(h, 0);
        return hashTableSet(h, field, value, keep_expiry);
    }
    if (!p) {
        hashTimedAppend(t, field, value.text, HASH_NO_EXPIRE);
        return true;
    }
    bool dead = hashTimeIsDead(hashTimedExpire(p));
    if (dead) hashCountDead(h, field);
    hashTimedSet(t, p, value.text, keep_expiry && !dead);
    return dead;
}

static bool hashSmallSet(struct hash *h, struct str field, struct hashInput value) {
    bool packed = h->encoding == HASH_PACKED;
    unsigned char *p = packed ? hashPackedFind(h, field) : hashListpackFind(h->ptr, field);
    bool added = !p;
    if (hashSize(h) + added > (size_t)hash_max_listpack_entries) {
        hashToTable(h, 0);
        return hashTableSet(h, field, value, false);
    }
    if (packed && !hashPackedSet(h, p, field, value.text)) {
        hashToListpack(h);
        if (p) p = hashListpackFind(h->ptr, field);
        packed = false;
    }
    if (!packed) hashListpackSet(h, p, field, value.text);
    return added;
}

bool hashKeepsSds(const struct hash *h, size_t len) {
    return len > HASH_EMBED_MAX && (hashIsTable(h) || len > (size_t)hash_max_listpack_value);
}

/* Returns false when the hash has become a listpack, in which the field has yet to be set. */
static bool hashShapedSetField(struct hash *h, struct str field, struct hashInput value, bool *added) {
    bool room = hashSize(h) < (size_t)hash_max_listpack_entries ||
                (hashSize(h) == (size_t)hash_max_listpack_entries && hashShapedHas(h, field));
    if (room && !value.owned && hashFitsLimits(field, value.text) &&
        hashShapedSet(&h->ptr, field, value.text, added))
        return true;
    hashShapedToListpack(h);
    return false;
}

bool hashSet(struct hash *h, struct str field, struct hashInput value, bool keep_expiry) {
    bool added;
    if (h->encoding == HASH_SHAPED && hashShapedSetField(h, field, value, &added)) return added;
    if (!hashIsTable(h)) {
        bool safe = h->encoding == HASH_PACKED || lpSafeToAdd(hashListpackOf(h), field.len + value.text.len);
        if (!value.owned && safe && hashFitsLimits(field, value.text))
            return h->encoding == HASH_TIMED ? hashTimedSetField(h, field, value, keep_expiry)
                                             : hashSmallSet(h, field, value);
        hashToTable(h, 0);
    }
    return hashTableSet(h, field, value, keep_expiry);
}

bool hashSetAll(struct hash *h, const struct str *pairs, size_t count) {
    debugAssert(h->encoding == HASH_PACKED && h->used == 0);
    struct hashShape *s = hashShapeOfPairs(pairs, count);
    if (!s || count > (size_t)hash_max_listpack_entries) return false;
    size_t packed = 0;
    for (size_t i = 0; i < 2 * count; i += 2) {
        if (!hashFitsLimits(pairs[i], pairs[i + 1])) return false;
        packed += 2 + pairs[i].len + pairs[i + 1].len;
    }
    void *container = packed > HASH_PACKED_MAX ? hashShapedNewOfPairs(s, pairs) : NULL;
    if (!container) return false;
    h->ptr = container;
    h->encoding = HASH_SHAPED;
    return true;
}

bool hashIsElsewhere(const struct hash *h, struct str field) {
    struct hashEntry *e = hashIsTable(h) ? hashTableFind(h, field) : NULL;
    return e && !hashIsDead(e) && hashEntryIsElsewhere(e);
}

/* Removes the field if it exists and its being dead equals `dead`. */
static bool hashTimedRemoveField(struct hash *h, struct str field, bool dead) {
    unsigned char *p = hashTimedFind(h->ptr, field);
    if (!p || hashTimeIsDead(hashTimedExpire(p)) != dead) return false;
    hashTimedRemove(h->ptr, p);
    return true;
}

bool hashRemove(struct hash *h, struct str field) {
    if (hashIsTable(h)) return hashTableRemove(h, field, false);
    if (h->encoding == HASH_TIMED) return hashTimedRemoveField(h, field, false);
    if (h->encoding == HASH_SHAPED) {
        if (!hashShapedHas(h, field)) return false;
        hashShapedToListpack(h);
    }
    bool packed = h->encoding == HASH_PACKED;
    unsigned char *p = packed ? hashPackedFind(h, field) : hashListpackFind(h->ptr, field);
    if (!p) return false;
    if (packed)
        hashPackedRemove(h, p);
    else
        hashListpackRemove(h, p);
    return true;
}

bool hashRemoveDead(struct hash *h, struct str field) {
    bool removed = h->encoding == HASH_TIMED
                       ? hashTimedRemoveField(h, field, true)
                       : h->encoding == HASH_EXPIRING && hashTableRemove(h, field, true);
    if (removed) hashCountDead(h, field);
    return removed;
}

static int64_t hashTimedExpireOf(const struct timedHash *t, struct str field) {
    unsigned char *p = hashTimedFind(t, field);
    int64_t expire_ms = p ? hashTimedExpire(p) : HASH_NO_FIELD;
    return hashTimeIsDead(expire_ms) ? HASH_NO_FIELD : expire_ms;
}

int64_t hashExpire(const struct hash *h, struct str field) {
    if (h->encoding == HASH_TIMED) return hashTimedExpireOf(h->ptr, field);
    if (h->encoding != HASH_EXPIRING) return hashGet(h, field, NULL) ? HASH_NO_EXPIRE : HASH_NO_FIELD;
    struct hashEntry *e = hashTableFind(h, field);
    return !e || hashIsDead(e) ? HASH_NO_FIELD : hashEntryExpire(e);
}

/* Returns false when the listpack would become too large, or cannot hold the time. */
static bool hashSetTimedExpire(struct hash *h, struct str field, int64_t expire_ms) {
    if (expire_ms == HASH_NEVER) return false;
    if (h->encoding == HASH_SHAPED) hashShapedToListpack(h);
    if (h->encoding == HASH_LISTPACK && !lpSafeToAdd(h->ptr, lpLength(h->ptr))) return false;
    if (h->encoding != HASH_TIMED) hashToTimed(h);
    if (!lpSafeToAdd(hashTimed(h)->lp, lpIntBytes(INT64_MAX))) return false;
    unsigned char *p = hashTimedFind(h->ptr, field);
    serverAssert(p);
    hashTimedSetExpire(h->ptr, p, expire_ms);
    return true;
}

void hashSetExpire(struct hash *h, struct str field, int64_t expire_ms) {
    if (expire_ms == HASH_NO_EXPIRE && !hashEncodingExpires(h->encoding)) return;
    if (!hashIsTable(h)) {
        if (hashSetTimedExpire(h, field, expire_ms)) return;
        hashToTable(h, 0);
    }
    hashToExpiring(h);
    struct hashHeap *due = &hashExpiring(h)->due;
    uint64_t hash = dbHashMember(field);
    hashFieldWillChange(h->ptr, hash);
    struct hashtableRef *ref = hashtableFindRef(h->ptr, field, hash);
    serverAssert(ref);
    struct hashEntry *e = hashtableRefEntry(ref);
    bool had = hashEntryExpire(e) != HASH_NO_EXPIRE;
    if (expire_ms == HASH_NO_EXPIRE) {
        if (had) hashDropExpiry(h, ref);
        return;
    }
    e = hashEntrySetExpire(e, expire_ms);
    hashtableRefSet(ref, e);
    if (had)
        hashHeapAdjust(due, &hashFieldHeap, hashEntryHeapPos(e));
    else
        hashHeapAdd(due, &hashFieldHeap, e);
}

/* ---- Walking ---- */

void hashIterate(struct hashIterator *it, const struct hash *h) {
    it->h = h;
    it->index = 0;
    if (hashIsTable(h))
        hashtableInitIterator(&it->table, h->ptr, false);
    else if (h->encoding == HASH_SHAPED)
        it->next = hashShapedFirst(h->ptr);
    else
        it->next = h->encoding == HASH_PACKED ? h->ptr : lpFirst(hashListpackOf(h));
}

static const void *hashNextTimed(struct hashIterator *it) {
    unsigned char *p;
    while ((p = (unsigned char *)it->next)) {
        it->next = hashTimedNext(it->h->ptr, p);
        if (!hashTimeIsDead(hashTimedExpire(p))) return p;
    }
    return NULL;
}

static const void *hashNextShaped(struct hashIterator *it) {
    const unsigned char *p = it->next;
    unsigned i = it->index;
    if (i == hashShapedShape(it->h->ptr)->count) return NULL;
    it->next = hashShapedNext((unsigned char *)p);
    it->index = i + 1;
    return hashShapedPlace(p, i);
}

static const void *hashNextSmall(struct hashIterator *it) {
    const struct hash *h = it->h;
    const unsigned char *p = it->next;
    if (h->encoding == HASH_TIMED) return hashNextTimed(it);
    if (h->encoding == HASH_SHAPED) return hashNextShaped(it);
    if (h->encoding == HASH_PACKED) {
        if (p >= hashPackedEnd(h)) return NULL;
        it->next = hashPackedNext(hashPackedNext(p));
    } else if (p) {
        it->next = lpNext(h->ptr, lpNext(h->ptr, (unsigned char *)p));
    }
    return p;
}

const void *hashNextPlace(struct hashIterator *it) {
    if (!hashIsTable(it->h)) return hashNextSmall(it);
    void *entry;
    while (hashtableNext(&it->table, &entry)) {
        if (!hashIsDead(entry)) return entry;
    }
    return NULL;
}

bool hashNext(struct hashIterator *it, struct hashItem *item) {
    const void *place = hashNextPlace(it);
    if (place) hashRead(it->h, place, item);
    return place;
}

void hashStop(struct hashIterator *it) {
    if (hashIsTable(it->h)) hashtableStopIterator(&it->table);
}

void hashRead(const struct hash *h, const void *place, struct hashItem *item) {
    item->expire_ms = HASH_NO_EXPIRE;
    if (h->encoding == HASH_PACKED) {
        item->field.s = hashPackedText(place);
        item->value.s = hashPackedText(hashPackedNext(place));
    } else if (h->encoding == HASH_LISTPACK) {
        item->field.s = lpView((unsigned char *)place, item->field.text);
        item->value.s = lpView(lpNext(h->ptr, (unsigned char *)place), item->value.text);
    } else if (h->encoding == HASH_SHAPED) {
        item->field.s = hashShapeName(hashShapedShape(h->ptr), hashShapedPlaceIndex(place));
        item->value.s = lpView(hashShapedPlaceValue(place), item->value.text);
    } else if (h->encoding == HASH_TIMED) {
        item->field.s = lpView((unsigned char *)place, item->field.text);
        item->value.s = hashTimedValue((unsigned char *)place, item->value.text);
        item->expire_ms = hashTimedExpire((unsigned char *)place);
    } else {
        item->field.s = hashEntryField(place);
        item->value.s = hashEntryValue(place);
        item->expire_ms = hashEntryExpire(place);
    }
}

/* When almost all fields are dead, drawing finds none: then the live ones are counted off. */
static const void *hashRandomLive(const struct hash *h) {
    size_t live = hashLive(h), n = live ? randomBelow(live) : 0;
    struct hashIterator it;
    hashIterate(&it, h);
    const void *place = hashNextPlace(&it);
    while (place && n--) place = hashNextPlace(&it);
    hashStop(&it);
    return place;
}

const void *hashRandomPlace(const struct hash *h) {
    if (hashIsTable(h)) {
        for (int i = 0; i < RANDOM_TRIES && hashtableSize(h->ptr); i++) {
            void *entry = hashtableFairRandomEntry(h->ptr);
            if (!hashIsDead(entry)) return entry;
        }
        return hashRandomLive(h);
    }
    if (h->encoding == HASH_TIMED) return hashRandomLive(h);
    size_t size = hashSize(h);
    if (!size) return NULL;
    if (h->encoding == HASH_LISTPACK) return lpSeek(h->ptr, 2 * (long)randomBelow(size));
    if (h->encoding == HASH_SHAPED) {
        unsigned i = (unsigned)randomBelow(size);
        return hashShapedPlace(hashShapedAt(h->ptr, i), i);
    }
    const unsigned char *p = h->ptr;
    for (size_t n = randomBelow(size); n; n--) p = hashPackedNext(hashPackedNext(p));
    return p;
}

struct hashScanCall {
    void (*fn)(void *priv, const void *place);
    void *priv;
};
static void hashScanEntry(void *priv, void *entry) {
    struct hashScanCall *call = priv;
    if (!hashIsDead(entry)) call->fn(call->priv, entry);
}

uint64_t hashScan(const struct hash *h, uint64_t cursor, void (*fn)(void *priv, const void *place),
                  void *priv) {
    struct hashScanCall call = {fn, priv};
    if (hashIsTable(h)) return hashtableScan(h->ptr, cursor, hashScanEntry, &call);
    struct hashIterator it;
    const void *place;
    hashIterate(&it, h);
    while ((place = hashNextPlace(&it))) fn(priv, place);
    hashStop(&it);
    return 0;
}
