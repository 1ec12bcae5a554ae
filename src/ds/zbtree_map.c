/* zbtree_map.c - which leaf of a B+ tree has a member? A hash table whose entries are leaf numbers.
 *
 *     bucket: | 12 tags | used | overflow | 12 leaf numbers |     64 bytes
 *     leaves: number -> leaf, so that a leaf can be allocated anew without being looked up by all its members
 *
 * As in hashtable.c the home of a hash is its upper bits, salted, scaled to the number of buckets, what finds
 * its home full goes on to the next bucket with room, and buckets passed count it. The tag is the fp of the
 * leaf: a tag and a number that match say "search that leaf for this fp".
 *
 * The idea: an entry is nothing but (tag, number), so two members of one leaf with the same tag are
 * interchangeable wherever their probes meet. Erasing or moving one may take the other's entry: what remains
 * is right for the other, and so are the counts.
 *
 * Resizing needs the hashes of all members, and those only the leaves can tell. So it walks over leaves, one
 * with every so many changes: leaf->table says which of the two tables knows its members. Entries of the old
 * table whose leaf has moved are dead: nobody removes them, they go with the table. */
#include "base/random.h"
#include "ds/hashtable.h" /* the policy */
#include "ds/scan_cursor.h"
#include "ds/zbtree_private.h"

/* In percent of the slots: a table is left when fuller than GROW_AT (a bucket of 12 is full with probability
 * 0.8^12 = 7% then, and half of all buckets have been passed; with 88, nine of ten), or emptier than
 * SHRINK_AT, for one that is filled to NEW_FILL. At CROWDED, all that has not moved yet is moved at once. */
#define GROW_AT   80
#define NEW_FILL  54
#define SHRINK_AT 25
#define CROWDED   97
/* While a fork child lives (the policy of ds/hashtable): grow as late as this, do not shrink; and where
 * moving is forbidden, too, leave entries where they are until the old table is this full. */
#define GROW_AT_AVOID  93
#define GROW_AT_FORBID 96

/* All leaves have moved when an eighth of the room for changes is used up. Until then all that is added may
 * go to leaves that have not moved, and the old table must not become crowded. */
#define MOVED_AFTER 8

#define MIN_BUCKETS   16
#define OVERFLOW_MAX  UINT16_MAX
#define ALL_SLOTS     ((1u << ZBT_BUCKET_SLOTS) - 1)
#define CHAIN_CHECKED 16 /* buckets of a chain in which a scan looks for an entry that is there twice */

typedef struct zbtBucket bucket;

/* ---- Hash bits ---- */

static inline uint64_t zbtMapPositionOf(const struct zbtMap *m, uint64_t hash) {
    return hash * m->salt >> (64 - POSITION_BITS);
}
static inline uint32_t homeAt(const struct zbtMap *m, int table, uint64_t position) {
    return (uint32_t)((unsigned __int128)position * m->buckets[table] >> POSITION_BITS);
}
/* The smallest position whose home is i. */
static inline uint64_t startOf(uint32_t i, uint32_t n) {
    return (uint64_t)((((unsigned __int128)i << POSITION_BITS) + n - 1) / n);
}

static inline uint64_t slotsOf(const struct zbtMap *m, int table) {
    return (uint64_t)m->buckets[table] * ZBT_BUCKET_SLOTS;
}

/* ---- Entries ---- */

static void addEntry(struct zbtMap *m, int table, uint32_t id, uint64_t hash) {
    bucket *b;
    uint32_t i = zbtMapHome(m, table, hash);
    for (; (b = &m->table[table][i])->used == ALL_SLOTS; i = zbtMapNext(m, table, i))
        if (b->overflow < OVERFLOW_MAX) b->overflow++;
    unsigned slot = (unsigned)__builtin_ctz(~(uint32_t)b->used);
    b->used = (uint16_t)(b->used | 1u << slot);
    b->tag[slot] = zbtFp(hash);
    b->id[slot] = id;
    m->used[table]++;
}

/* Where (tag, id) is; *passed: how many buckets behind its home. */
static bucket *locate(const struct zbtMap *m, int table, uint32_t id, uint64_t hash, unsigned *slot,
                      uint32_t *passed) {
    uint32_t i = zbtMapHome(m, table, hash);
    for (*passed = 0;; ++*passed, i = zbtMapNext(m, table, i)) {
        bucket *b = &m->table[table][i];
        for (uint32_t mask = zbtMatchTag(b, zbtFp(hash)); mask; mask &= mask - 1) {
            *slot = (unsigned)__builtin_ctz(mask);
            if (b->id[*slot] == id) return b;
        }
        serverAssert(b->overflow);
    }
}

static void removeEntry(struct zbtMap *m, int table, uint32_t id, uint64_t hash) {
    unsigned slot;
    uint32_t passed, i = zbtMapHome(m, table, hash);
    bucket *b = locate(m, table, id, hash, &slot, &passed);
    b->used = (uint16_t)(b->used & ~(1u << slot));
    for (; passed; passed--, i = zbtMapNext(m, table, i))
        if (m->table[table][i].overflow < OVERFLOW_MAX) m->table[table][i].overflow--;
    m->used[table]--;
}

static void renameEntry(struct zbtMap *m, int table, uint32_t was, uint32_t id, uint64_t hash) {
    unsigned slot;
    uint32_t passed;
    locate(m, table, was, hash, &slot, &passed)->id[slot] = id;
}

/* Hashes of elements [from, to), and their buckets on the way. */
static void hashRun(const struct zbtMap *m, int table, const struct zbtLeaf *l, unsigned from, unsigned to,
                    uint64_t *hashes) {
    for (unsigned i = from; i < to; i++) {
        struct str member = zbtMemberIn(l, zbtSlot(l, i));
        uint64_t hash = *hashes++ = hashBytes(member.ptr, member.len);
        __builtin_prefetch(&m->table[table][zbtMapHome(m, table, hash)], 1);
    }
}

static void addRun(struct zbtMap *m, const struct zbtLeaf *l, unsigned from, unsigned to) {
    uint64_t hashes[ZBT_LEAF_SLOTS];
    hashRun(m, l->table, l, from, to, hashes);
    for (unsigned i = 0; i < to - from; i++) addEntry(m, l->table, l->id, hashes[i]);
}

/* ---- Resizing ---- */

/* Fresh pages from zcalloc need no writing: clearing half a gigabyte must not stop the server. Other
 * allocators than jemalloc may not align it. */
static bucket *newBuckets(uint64_t n) {
    bucket *b = zcalloc(n, sizeof(bucket));
    if (likely(((uintptr_t)b & (sizeof(bucket) - 1)) == 0)) return b;
    zfreeSized(b, n * sizeof(bucket));
    b = zmallocAligned(sizeof(bucket), n * sizeof(bucket));
    memset(b, 0, n * sizeof(bucket));
    return b;
}

static void makeTable(struct zbtMap *m, int table, uint64_t entries) {
    uint64_t n = entries * 100 / (NEW_FILL * ZBT_BUCKET_SLOTS) + 1;
    if (n < MIN_BUCKETS) n = MIN_BUCKETS;
    n = zmallocGoodSize(n * sizeof(bucket)) / sizeof(bucket);
    serverAssert(n < UINT32_MAX);
    m->buckets[table] = (uint32_t)n;
    m->used[table] = 0;
    m->enough[table] = slotsOf(m, table) * GROW_AT / 100;
    m->table[table] = newBuckets(n);
}

static void freeTable(struct zbtMap *m, int table) {
    if (m->table[table]) zfreeSized(m->table[table], m->buckets[table] * sizeof(bucket));
    m->table[table] = NULL;
    m->buckets[table] = 0;
    m->used[table] = 0;
}

static void moveLeaf(struct zbtMap *m) {
    struct zbtLeaf *l = m->leaves[m->moving];
    if (l->table == m->now) {
        l->table = !m->now;
        addRun(m, l, 0, l->count);
    }
    m->moving = l->next ? l->next->id : 0;
    if (m->moving) return;
    freeTable(m, m->now);
    m->now = !m->now;
}

static bool isFuller(const struct zbtMap *m, int table, unsigned percent) {
    return m->used[table] * 100 > slotsOf(m, table) * percent;
}

/* Moving can wait while the old table has room and the new one has some for all that there is by now. */
static bool canWait(const zbtree *t, const struct zbtMap *m) {
    return hashtableResizePolicy() == HASHTABLE_RESIZE_FORBID && !isFuller(m, m->now, GROW_AT_FORBID) &&
           t->length * 100 < slotsOf(m, !m->now) * GROW_AT;
}

static void moveSome(const zbtree *t, struct zbtMap *m) {
    if (unlikely(canWait(t, m))) return;
    bool crowded = isFuller(m, m->now, CROWDED);
    if (likely(m->wait && !crowded)) {
        m->wait--;
        return;
    }
    m->wait = m->pace;
    do moveLeaf(m);
    while (m->moving && crowded);
}

/* Start moving to a fitting table. */
static void startMoving(const zbtree *t, struct zbtMap *m) {
    makeTable(m, !m->now, t->length);
    m->moving = t->first->id;
    uint64_t until_sparse = t->length - slotsOf(m, !m->now) * SHRINK_AT / 100;
    uint64_t until_full = m->enough[!m->now] - t->length;
    uint64_t changes = until_sparse < until_full ? until_sparse : until_full;
    uint64_t pace = changes / MOVED_AFTER / t->leaves;
    m->wait = m->pace = (uint8_t)(pace > UINT8_MAX ? UINT8_MAX : pace);
}

static unsigned growAt(void) {
    switch (hashtableResizePolicy()) {
    case HASHTABLE_RESIZE_AVOID: return GROW_AT_AVOID;
    case HASHTABLE_RESIZE_FORBID: return GROW_AT_FORBID;
    default: return GROW_AT;
    }
}

static bool mustShrink(const struct zbtMap *m) {
    return m->buckets[m->now] > 2 * MIN_BUCKETS && !isFuller(m, m->now, SHRINK_AT) &&
           hashtableResizePolicy() == HASHTABLE_RESIZE_ALLOW;
}

void zbtMapStep(zbtree *t, bool erased) {
    struct zbtMap *m = zbtMapOf(t);
    if (unlikely(m->moving)) {
        moveSome(t, m);
        return;
    }
    bool grow = unlikely(m->used[m->now] > m->enough[m->now]) && isFuller(m, m->now, growAt());
    if (likely(!grow && !(erased && unlikely(mustShrink(m))))) return;
    startMoving(t, m);
}

/* ---- Leaf numbers ---- */

static void giveNumber(struct zbtMap *m, struct zbtLeaf *l) {
    if (m->ids_free) {
        l->id = m->ids_free;
        m->ids_free = (uint32_t)((uintptr_t)m->leaves[l->id] >> 1);
    } else {
        if (m->ids >= m->ids_cap) {
            size_t size = zmallocGoodSize((m->ids_cap + m->ids_cap / 2 + 16) * sizeof *m->leaves);
            m->ids_cap = (uint32_t)(size / sizeof *m->leaves);
            m->leaves = zrealloc(m->leaves, size);
        }
        l->id = m->ids++;
    }
    m->leaves[l->id] = l;
}

void zbtMapAddLeaf(struct zbtMap *m, struct zbtLeaf *l, const struct zbtLeaf *like) {
    giveNumber(m, l);
    l->table = like ? like->table : m->moving ? !m->now : m->now;
}

void zbtMapDropLeaf(struct zbtMap *m, struct zbtLeaf *l) {
    if (m->moving == l->id) moveLeaf(m);
    m->leaves[l->id] = (struct zbtLeaf *)(((uintptr_t)m->ids_free << 1) | 1);
    m->ids_free = l->id;
}

/* ---- Life ---- */

void zbtMapInit(struct zbtMap *m, zbtree *t, size_t entries) {
    *m = (struct zbtMap){.ids = 1, .salt = randomU64() | 1};
    makeTable(m, 0, entries > t->length ? entries : t->length);
    for (struct zbtLeaf *l = t->first; l; l = l->next) {
        giveNumber(m, l);
        l->table = 0;
        addRun(m, l, 0, l->count);
    }
}

void zbtMapFree(struct zbtMap *m) {
    freeTable(m, 0);
    freeTable(m, 1);
    zfree(m->leaves);
}

void zbtMapCopy(struct zbtMap *dst, const struct zbtMap *src) {
    *dst = *src;
    for (int i = 0; i < 2; i++) {
        size_t size = src->buckets[i] * sizeof(bucket);
        if (!src->table[i]) continue;
        dst->table[i] = zmallocAligned(sizeof(bucket), size);
        memcpy(dst->table[i], src->table[i], size);
    }
    dst->leaves = zmalloc(src->ids_cap * sizeof *src->leaves);
    memcpy(dst->leaves, src->leaves, src->ids * sizeof *src->leaves);
}

size_t zbtMapMemory(const struct zbtMap *m) {
    return ((size_t)m->buckets[0] + m->buckets[1]) * sizeof(bucket) + m->ids_cap * sizeof *m->leaves;
}

/* ---- Members ---- */

void zbtMapAdd(struct zbtMap *m, const struct zbtLeaf *l, uint64_t hash) {
    addEntry(m, l->table, l->id, hash);
}

void zbtMapRename(struct zbtMap *m, const struct zbtLeaf *from, const struct zbtLeaf *to, uint64_t hash) {
    renameEntry(m, from->table, from->id, to->id, hash);
}

void zbtMapRemove(struct zbtMap *m, const struct zbtLeaf *l, uint64_t hash) {
    removeEntry(m, l->table, l->id, hash);
}

void zbtMapRemoveRun(struct zbtMap *m, const struct zbtLeaf *l, unsigned from, unsigned to) {
    uint64_t hashes[ZBT_LEAF_SLOTS];
    hashRun(m, l->table, l, from, to, hashes);
    for (unsigned i = 0; i < to - from; i++) removeEntry(m, l->table, l->id, hashes[i]);
}

void zbtMapMoveRun(struct zbtMap *m, const struct zbtLeaf *l, unsigned from, unsigned to,
                   const struct zbtLeaf *was) {
    uint64_t hashes[ZBT_LEAF_SLOTS];
    hashRun(m, was->table, l, from, to, hashes);
    for (unsigned i = 0; i < to - from; i++) {
        if (l->table == was->table) {
            renameEntry(m, l->table, was->id, l->id, hashes[i]);
        } else {
            removeEntry(m, was->table, was->id, hashes[i]);
            addEntry(m, l->table, l->id, hashes[i]);
        }
    }
}

/* ---- SCAN ---- */

struct scan {
    const struct zbtMap *m;
    int table;
    uint32_t home;
    uint64_t from, to; /* positions */
    zbtScanFn fn;
    void *priv;
};

/* Members of a leaf with this fp that belong to the home and the range. */
static void scanLeaf(struct scan *s, const struct zbtLeaf *l, uint8_t fp) {
    for (unsigned i = 0; i < l->count; i++) {
        if (l->fp[i] != fp) continue;
        struct zbtPos p = {(struct zbtLeaf *)l, i};
        struct str member = zbtMember(p);
        uint64_t hash = hashBytes(member.ptr, member.len);
        if (zbtMapHome(s->m, s->table, hash) != s->home) continue;
        uint64_t position = zbtMapPositionOf(s->m, hash);
        if (position < s->from || position >= s->to) continue;
        s->fn(s->priv, member, zbtScore(p));
    }
}

/* Has the chain from the home on another entry like this one, in front of it? In a chain so long that the
 * look would take its time, a member may be passed twice. */
static bool isRepeated(const struct scan *s, const bucket *b, unsigned slot) {
    uint32_t i = s->home;
    for (unsigned checked = 0; checked < CHAIN_CHECKED; checked++, i = zbtMapNext(s->m, s->table, i)) {
        const bucket *other = &s->m->table[s->table][i];
        for (uint32_t mask = zbtMatchTag(other, b->tag[slot]); mask; mask &= mask - 1) {
            unsigned k = (unsigned)__builtin_ctz(mask);
            if (other == b && k == slot) return false;
            if (other->id[k] == b->id[slot]) return true;
        }
    }
    return false;
}

static void scanHome(struct scan *s) {
    uint32_t i = s->home;
    for (uint32_t left = s->m->buckets[s->table]; left; left--, i = zbtMapNext(s->m, s->table, i)) {
        const bucket *b = &s->m->table[s->table][i];
        for (uint32_t mask = b->used; mask; mask &= mask - 1) {
            unsigned slot = (unsigned)__builtin_ctz(mask);
            const struct zbtLeaf *l = s->m->leaves[b->id[slot]];
            if (zbtMapIsFree(l) || l->table != s->table || isRepeated(s, b, slot)) continue;
            scanLeaf(s, l, b->tag[slot]);
        }
        if (!b->overflow) return;
    }
}

/* The part of a stripe that is in one bucket of the smaller table, and what lies in the same range of the
 * larger one. */
uint64_t zbtMapScan(const struct zbtMap *m, uint64_t cursor, zbtScanFn fn, void *priv) {
    if (cursor >= SCAN_CURSOR_END) return 0;
    int small = m->moving && m->buckets[!m->now] < m->buckets[m->now] ? !m->now : m->now;
    struct scanCursor c = scanCursorRead(cursor, m->buckets[small]);
    struct scan s = {.m = m, .from = c.position, .to = scanStripeEnd(&c), .fn = fn, .priv = priv};
    uint64_t end = startOf(homeAt(m, small, s.from) + 1, m->buckets[small]);
    if (end < s.to) s.to = end;
    for (s.table = 0; s.table < 2; s.table++) {
        if (!m->table[s.table]) continue;
        uint32_t last = homeAt(m, s.table, s.to - 1);
        for (s.home = homeAt(m, s.table, s.from); s.home <= last; s.home++) scanHome(&s);
    }
    return scanCursorAdvance(&c, s.to) ? scanCursorNumber(&c) : 0;
}

/* ---- Prefetching: the table in use is enough ---- */

void zbtMapPrefetch(const struct zbtMap *m, uint64_t hash) {
    zbtFetch(&m->table[m->now][zbtMapHome(m, m->now, hash)]);
}

struct zbtLeaf *zbtMapPeek(const struct zbtMap *m, uint64_t hash) {
    const bucket *b = &m->table[m->now][zbtMapHome(m, m->now, hash)];
    uint32_t mask = zbtMatchTag(b, zbtFp(hash));
    if (!mask) return NULL;
    struct zbtLeaf *l = m->leaves[b->id[__builtin_ctz(mask)]];
    return zbtMapIsFree(l) ? NULL : l;
}

/* ---- Checking ---- */

/* Every entry that is not dead, and what passed over each bucket, is accounted for. */
static void verifyTable(const struct zbtMap *m, int table) {
    uint64_t used = 0;
    uint32_t n = m->buckets[table];
    for (uint32_t i = 0; i < n; i++) {
        const bucket *b = &m->table[table][i];
        serverAssert((b->used & ~ALL_SLOTS) == 0);
        used += (unsigned)__builtin_popcount(b->used);
        for (uint32_t mask = b->used; mask; mask &= mask - 1) {
            uint32_t id = b->id[__builtin_ctz(mask)];
            serverAssert(id && id < m->ids);
            if (!m->moving) serverAssert(!zbtMapIsFree(m->leaves[id]) && m->leaves[id]->table == table);
        }
    }
    serverAssert(used == m->used[table]);
    serverAssert(m->enough[table] == slotsOf(m, table) * GROW_AT / 100);
    serverAssert(used < slotsOf(m, table));
}

/* Give each member the first entry from its home on that is like it and not given yet: whose it really is
 * does not matter, all ways to share them out give the same counts. */
static void verifyOverflow(const zbtree *t, const struct zbtMap *m) {
    uint32_t n = m->buckets[m->now];
    uint16_t *taken = zcalloc(n, sizeof *taken), *passed = zcalloc(n, sizeof *passed);
    for (const struct zbtLeaf *l = t->first; l; l = l->next) {
        for (unsigned i = 0; i < l->count; i++) {
            struct str member = zbtMemberIn(l, zbtSlot(l, i));
            uint32_t at = zbtMapHome(m, m->now, hashBytes(member.ptr, member.len));
            for (uint32_t mask = 0;; at = zbtMapNext(m, m->now, at)) {
                const bucket *b = &m->table[m->now][at];
                mask = zbtMatchTag(b, l->fp[i]) & ~(uint32_t)taken[at];
                while (mask && b->id[__builtin_ctz(mask)] != l->id) mask &= mask - 1;
                taken[at] = (uint16_t)(taken[at] | (mask & -mask));
                if (mask) break;
                passed[at]++;
            }
        }
    }
    for (uint32_t i = 0; i < n; i++) serverAssert(m->table[m->now][i].overflow == passed[i]);
    zfree(taken);
    zfree(passed);
}

void zbtMapVerify(const zbtree *t) {
    const struct zbtMap *m = zbtMapOf(t);
    uint32_t numbered = 0;
    bool moved = m->moving != 0;
    for (int i = 0; i < 2; i++)
        if (m->table[i]) verifyTable(m, i);
    serverAssert((m->table[!m->now] != NULL) == (m->moving != 0));
    if (!m->moving) {
        serverAssert(m->used[m->now] == t->length);
        verifyOverflow(t, m);
    }
    for (const struct zbtLeaf *l = t->first; l; l = l->next) {
        serverAssert(l->id && l->id < m->ids && m->leaves[l->id] == l);
        if (l->id == m->moving) moved = false;
        serverAssert(l->table == (moved ? !m->now : l->table));
        serverAssert(m->table[l->table]);
        for (unsigned i = 0; i < l->count; i++) {
            struct str member = zbtMemberIn(l, zbtSlot(l, i));
            uint64_t hash = hashBytes(member.ptr, member.len);
            struct zbtPos p = zbtFind(t, member, hash);
            serverAssert(l->fp[i] == zbtFp(hash));
            serverAssert(p.leaf == l && p.slot == i);
        }
    }
    for (uint32_t i = m->ids_free; i; i = (uint32_t)((uintptr_t)m->leaves[i] >> 1)) numbered++;
    serverAssert(numbered + t->leaves + 1 == m->ids);
}
