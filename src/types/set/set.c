/* SPDX-License-Identifier: BSD-3-Clause */
/* set.c - the encodings of sets; see set.h. */
#include "types/set/set.h"

#include "base/assert.h"
#include "base/num.h"
#include "base/random.h"
#include "base/zmalloc.h"
#include "command/command.h"
#include "commands/cmd_set.h"
#include "data/digest.h"
#include "data/keyspace/db.h"
#include "data/type.h"
#include "ds/intset.h"
#include "registry/config.h"
#include "types/defrag_hooks.h"
#include "types/members_table.h"
#include "types/rdb_hooks.h"
#include "types/set/set_private.h"
#include "types/types.h"

#define LONG_MEMBER       255
#define INTSET_HARD_LIMIT (1 << 30)

static int64_t max_intset_entries, max_listpack_entries, max_listpack_value;

/* ---- Members of the hash table ---- */

struct str setMemberText(const void *entry) {
    const unsigned char *p = entry;
    if (*p < LONG_MEMBER) return strN((const char *)p + 1, *p);
    uint32_t len;
    memcpy(&len, p + 1, sizeof len);
    return strN((const char *)p + 1 + sizeof len, len);
}

static size_t setMemberBytes(struct str member) {
    return member.len + (member.len < LONG_MEMBER ? 1 : 1 + sizeof(uint32_t));
}

static void *setMemberNew(struct str member) {
    unsigned char *entry = zmalloc(setMemberBytes(member)), *p = entry;
    if (member.len < LONG_MEMBER) {
        *p++ = (unsigned char)member.len;
    } else {
        uint32_t len = (uint32_t)member.len;
        *p++ = LONG_MEMBER;
        memcpy(p, &len, sizeof len);
        p += sizeof len;
    }
    memcpy(p, member.ptr, member.len);
    return entry;
}

static void setMemberFree(void *entry) {
    zfreeSized(entry, setMemberBytes(setMemberText(entry)));
}

static const struct hashtableType members_type = {.entryKey = setMemberText, .entryFree = setMemberFree};

/* ---- Conversion ---- */

static bool setFitsListpack(size_t entries, size_t longest) {
    return entries <= (size_t)max_listpack_entries && longest <= (size_t)max_listpack_value;
}

static uint32_t setIntsetLimit(void) {
    return max_intset_entries > INTSET_HARD_LIMIT ? INTSET_HARD_LIMIT : (uint32_t)max_intset_entries;
}

static size_t setTextLength(int64_t v) {
    char text[LONG_STR_SIZE];
    return ll2string(text, v);
}

/* The longest of the integers is at one of the ends. */
static size_t setLongestInt(const unsigned char *is) {
    if (!intsetLength(is)) return 0;
    size_t low = setTextLength(intsetGet(is, 0)), high = setTextLength(intsetGet(is, intsetLength(is) - 1));
    return low > high ? low : high;
}

static struct setRef setToHashtable(struct setRef s, size_t expected) {
    hashtable *ht = hashtableCreate(&members_type);
    size_t size = setSize(s);
    hashtableExpand(ht, expected > size ? expected : size);
    struct setIterator it;
    struct setMember m;
    setIterate(&it, s);
    while (setNext(&it, &m)) hashtableAddUnchecked(ht, setMemberNew(m.s), hashBytes(m.s.ptr, m.s.len));
    setStop(&it);
    setFree(s);
    return (struct setRef){ht, SET_HASHTABLE};
}

static struct setRef setIntsetToListpack(struct setRef s) {
    unsigned char *lp = lpNew(intsetBytes(s.ptr));
    for (uint32_t i = 0; i < intsetLength(s.ptr); i++) lp = lpAppendInt(lp, intsetGet(s.ptr, i));
    setFree(s);
    return (struct setRef){lp, SET_LISTPACK};
}

void setCompact(struct setRef *s) {
    if (s->encoding == SET_INTSET || setSize(*s) > setIntsetLimit()) return;
    unsigned char *integers = intsetNew();
    struct setIterator it;
    struct setMember m;
    int64_t v;
    bool all = true, added;
    setIterate(&it, *s);
    while (all && setNext(&it, &m)) {
        all = string2ll(m.s, &v);
        if (all) integers = intsetAdd(integers, v, &added);
    }
    setStop(&it);
    if (all) {
        setFree(*s);
        *s = (struct setRef){integers, SET_INTSET};
    } else {
        intsetFree(integers);
    }
}

/* ---- Life ---- */

struct setRef setNewTable(size_t expected) {
    hashtable *ht = hashtableCreate(&members_type);
    if (expected > 1) hashtableExpand(ht, expected);
    return (struct setRef){ht, SET_HASHTABLE};
}

struct setRef setNew(struct str first, size_t expected) {
    int64_t v;
    if (string2ll(first, &v) && expected <= setIntsetLimit()) return (struct setRef){intsetNew(), SET_INTSET};
    return setNewStrings(first, expected);
}

struct setRef setNewStrings(struct str first, size_t expected) {
    if (setFitsListpack(expected, first.len)) return (struct setRef){lpNew(0), SET_LISTPACK};
    return setNewTable(expected);
}

bool setFits(struct setRef s) {
    if (s.encoding == SET_INTSET) return intsetLength(s.ptr) <= setIntsetLimit();
    if (s.encoding == SET_HASHTABLE) return true;
    size_t longest = 0;
    char text[LP_INTBUF_SIZE];
    for (unsigned char *p = lpFirst(s.ptr); p; p = lpNext(s.ptr, p)) {
        size_t len = lpView(p, text).len;
        if (len > longest) longest = len;
    }
    return setFitsListpack(lpLength(s.ptr), longest);
}

void setFree(struct setRef s) {
    switch (s.encoding) {
    case SET_INTSET: intsetFree(s.ptr); break;
    case SET_LISTPACK: lpFree(s.ptr); break;
    default: hashtableRelease(s.ptr);
    }
}

struct value setValue(struct setRef s) {
    debugAssert(setSize(s) > 0);
    return valuePtr(OBJ_SET, s.encoding, s.ptr);
}

/* ---- Members ---- */

size_t setSize(struct setRef s) {
    switch (s.encoding) {
    case SET_INTSET: return intsetLength(s.ptr);
    case SET_LISTPACK: return lpLength(s.ptr);
    default: return hashtableSize(s.ptr);
    }
}

static unsigned char *setListpackFind(unsigned char *lp, struct str member) {
    unsigned char *p = lpFirst(lp);
    return p ? lpFind(lp, p, member, 0) : NULL;
}

bool setContains(struct setRef s, struct str member) {
    int64_t v;
    switch (s.encoding) {
    case SET_INTSET: return string2ll(member, &v) && intsetFind(s.ptr, v);
    case SET_LISTPACK: return setListpackFind(s.ptr, member);
    default: return hashtableFindHashed(s.ptr, member, dbHashMember(member));
    }
}

static inline __attribute__((always_inline)) bool setHashtableAddMember(struct setRef *s, struct str member) {
    uint64_t hash = dbHashMember(member);
    if (hashtableFindHashed(s->ptr, member, hash)) return false;
    setMemberWillChange(s->ptr, hash);
    hashtableAddUnchecked(s->ptr, setMemberNew(member), hash);
    return true;
}

static bool setListpackAddMember(struct setRef *s, struct str member) {
    if (setListpackFind(s->ptr, member)) return false;
    if (setFitsListpack(lpLength(s->ptr) + 1, member.len) && lpSafeToAdd(s->ptr, member.len)) {
        s->ptr = lpAppend(s->ptr, member);
        return true;
    }
    *s = setToHashtable(*s, 0);
    return setHashtableAddMember(s, member);
}

static bool setIntsetAddMember(struct setRef *s, struct str member) {
    int64_t v;
    if (string2ll(member, &v)) {
        bool added;
        s->ptr = intsetAdd(s->ptr, v, &added);
        if (added && intsetLength(s->ptr) > setIntsetLimit()) *s = setToHashtable(*s, 0);
        return added;
    }
    size_t longest = setLongestInt(s->ptr);
    bool fits = setFitsListpack(intsetLength(s->ptr) + 1, longest > member.len ? longest : member.len);
    *s = fits ? setIntsetToListpack(*s) : setToHashtable(*s, 0);
    return setAdd(s, member);
}

void setExpand(struct setRef *s, size_t expected) {
    if (s->encoding == SET_HASHTABLE) hashtableExpand(s->ptr, expected);
}

void setPrefetch(struct setRef s, uint64_t hash) {
    if (s.ptr && s.encoding == SET_HASHTABLE) hashtablePrefetchBucket(s.ptr, hash);
}

static bool setHashtableRemoveMember(hashtable *ht, struct str member) {
    uint64_t hash = dbHashMember(member);
    setMemberWillChange(ht, hash);
    void *entry = hashtablePopHashed(ht, member, hash);
    if (entry) setMemberFree(entry);
    return entry;
}

bool setAdd(struct setRef *s, struct str member) {
    switch (s->encoding) {
    case SET_INTSET: return setIntsetAddMember(s, member);
    case SET_LISTPACK: return setListpackAddMember(s, member);
    default: return setHashtableAddMember(s, member);
    }
}

bool setRemove(struct setRef *s, struct str member) {
    int64_t v;
    bool removed = false;
    unsigned char *p;
    switch (s->encoding) {
    case SET_INTSET:
        if (string2ll(member, &v)) s->ptr = intsetRemove(s->ptr, v, &removed);
        return removed;
    case SET_LISTPACK:
        p = setListpackFind(s->ptr, member);
        if (p) s->ptr = lpDelete(s->ptr, p, NULL);
        return p;
    default: return setHashtableRemoveMember(s->ptr, member);
    }
}

static void setReadInt(int64_t v, struct setMember *m) {
    m->s = strN(m->text, ll2string(m->text, v));
}

void setRandom(struct setRef s, struct setMember *m) {
    debugAssert(setSize(s) > 0);
    switch (s.encoding) {
    case SET_INTSET: setReadInt(intsetGet(s.ptr, (uint32_t)randomBelow(intsetLength(s.ptr))), m); break;
    case SET_LISTPACK: m->s = lpView(lpSeek(s.ptr, (long)randomBelow(lpLength(s.ptr))), m->text); break;
    default: m->s = setMemberText(hashtableFairRandomEntry(s.ptr));
    }
}

/* Removes a random member and returns its entry. */
static void *setHashtableDraw(hashtable *ht) {
    if (__builtin_expect(!largeValueFind(ht), 1)) return hashtablePopFairRandom(ht);
    void *entry = hashtableFairRandomEntry(ht);
    uint64_t hash = hashtableHash(ht, setMemberText(entry));
    setMemberWillChange(ht, hash);
    hashtableRemoveEntry(ht, entry, hash);
    return entry;
}

void setDraw(struct setRef s, struct setDrawn *d) {
    debugAssert(setSize(s) > 0);
    switch (s.encoding) {
    case SET_INTSET:
        d->number = intsetGet(s.ptr, (uint32_t)randomBelow(intsetLength(s.ptr)));
        setReadInt(d->number, &d->m);
        break;
    case SET_LISTPACK:
        d->p = lpSeek(s.ptr, (long)randomBelow(lpLength(s.ptr)));
        d->m.s = lpView(d->p, d->m.text);
        break;
    default: d->entry = setHashtableDraw(s.ptr); d->m.s = setMemberText(d->entry);
    }
}

void setDrop(struct setRef *s, struct setDrawn *d) {
    bool removed;
    switch (s->encoding) {
    case SET_INTSET: s->ptr = intsetRemove(s->ptr, d->number, &removed); break;
    case SET_LISTPACK: s->ptr = lpDelete(s->ptr, d->p, NULL); break;
    default: setMemberFree(d->entry);
    }
}

/* ---- Walking ---- */

void setIterate(struct setIterator *it, struct setRef s) {
    it->set = s;
    it->index = 0;
    it->p = s.encoding == SET_LISTPACK ? lpFirst(s.ptr) : NULL;
    if (s.encoding == SET_HASHTABLE) hashtableInitIterator(&it->table, s.ptr, false);
}

bool setNext(struct setIterator *it, struct setMember *m) {
    void *entry;
    switch (it->set.encoding) {
    case SET_INTSET:
        if (it->index == intsetLength(it->set.ptr)) return false;
        setReadInt(intsetGet(it->set.ptr, it->index++), m);
        return true;
    case SET_LISTPACK:
        if (!it->p) return false;
        m->s = lpView(it->p, m->text);
        it->p = lpNext(it->set.ptr, it->p);
        return true;
    default:
        if (!hashtableNext(&it->table, &entry)) return false;
        m->s = setMemberText(entry);
        return true;
    }
}

void setStop(struct setIterator *it) {
    if (it->set.encoding == SET_HASHTABLE) hashtableStopIterator(&it->table);
}

/* ---- Type hooks ---- */

static const char *setHookEncodingName(const struct object *o) {
    static const char *names[] = {"intset", "listpack", "hashtable"};
    return names[o->encoding];
}

static void setHookFree(struct value v) {
    setFree((struct setRef){v.ptr, v.encoding});
}

static size_t setHookFreeEffort(const struct object *o) {
    return o->encoding == SET_HASHTABLE ? hashtableSize(objectPtr(o)) : 1;
}

static size_t setTypeMemory(const struct object *o, size_t samples) {
    size_t bytes = zmallocSize(objectPtr(o));
    if (o->encoding != SET_HASHTABLE) return bytes;
    return bytes + hashtableMemory(objectPtr(o)) + membersTableMemory(objectPtr(o), samples, zmallocSize);
}

static struct value setHookCopy(const struct object *o) {
    struct setRef s = setOpen(o), copy = {NULL, s.encoding};
    if (s.encoding == SET_INTSET) {
        copy.ptr = intsetDup(s.ptr);
    } else if (s.encoding == SET_LISTPACK) {
        copy.ptr = lpDup(s.ptr);
    } else {
        struct setIterator it;
        struct setMember m;
        copy.ptr = hashtableCreate(&members_type);
        hashtableExpand(copy.ptr, setSize(s));
        setIterate(&it, s);
        while (setNext(&it, &m))
            hashtableAddUnchecked(copy.ptr, setMemberNew(m.s), hashBytes(m.s.ptr, m.s.len));
        setStop(&it);
    }
    return setValue(copy);
}

static void setHookDigest(const struct object *o, uint8_t digest[20]) {
    struct setIterator it;
    struct setMember m;
    setIterate(&it, setOpen(o));
    while (setNext(&it, &m)) digestXor(digest, m.s);
    setStop(&it);
}

static bool setHookPrefetch(const struct object *o, const struct prefetchRequests *wants, int step,
                            struct prefetchState *state) {
    (void)state;
    if (step == 0) {
        __builtin_prefetch(objectPtr(o));
        return o->encoding == SET_HASHTABLE && wants->member.ptr;
    }
    return membersTablePrefetch(objectPtr(o), wants->member_hash, step);
}

static void setHookIterate(const struct object *o, bool (*fn)(void *priv, struct str element), void *priv) {
    struct setIterator it;
    struct setMember m;
    setIterate(&it, setOpen(o));
    while (setNext(&it, &m) && fn(priv, m.s)) {
    }
    setStop(&it);
}

static struct hashtable *setHookTable(const struct object *o) {
    return o->encoding == SET_HASHTABLE ? objectPtr(o) : NULL;
}

/* A large set is moved bucket by bucket of its table. */
static void setMoveMember(void *priv, void *entry) {
    hashtable *ht = priv;
    void *now = defragMove(NULL, entry);
    if (now) hashtableReplaceEntry(ht, entry, now, hashtableHash(ht, ht->type->entryKey(now)));
}

static bool setDefrag(struct db *db, struct object *o, struct defragCursor *at) {
    (void)db;
    if (at->at[0] == 0) defragContainer(o);
    if (o->encoding != SET_HASHTABLE) return false;
    hashtable *ht = objectPtr(o);
    if (at->at[0] == 0) hashtableMoveArrays(ht, defragMove, NULL);
    at->at[0] = hashtableScan(ht, at->at[0], setMoveMember, ht);
    return at->at[0] != 0;
}

static size_t setHookLength(const struct object *o) {
    return setSize(setOpen(o));
}

static const struct objectType set_type = {
    .id = OBJ_SET,
    .name = "set",
    .encodingName = setHookEncodingName,
    .free = setHookFree,
    .freeEffort = setHookFreeEffort,
    .memoryUsage = setTypeMemory,
    .length = setHookLength,
    .plural = "sets",
    .copy = setHookCopy,
    .digest = setHookDigest,
    .prefetch = setHookPrefetch,
    .iterate = setHookIterate,
    .table = setHookTable,
    .defrag = setDefrag,
    .parts = setParts,
    RDB_HOOK_FIELDS(set, SET_RDB_TYPES),
};

void setInit(void) {
    static struct configDirective directives[] = {
        CONFIG_INT("set-max-intset-entries", NULL, CONFIG_MODIFIABLE, &max_intset_entries, 512, 0, INT64_MAX,
                   NULL),
        CONFIG_INT("set-max-listpack-entries", NULL, CONFIG_MODIFIABLE, &max_listpack_entries, 128, 0,
                   INT64_MAX, NULL),
        CONFIG_INT("set-max-listpack-value", NULL, CONFIG_MODIFIABLE, &max_listpack_value, 64, 0, INT64_MAX,
                   NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    objectTypeRegister(&set_type);
    commandRegister(commandsSet);
}
