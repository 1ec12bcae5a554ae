/* SPDX-License-Identifier: BSD-3-Clause */
/* zbtree_map.c - finds the leaf of a member: a hash table whose entries are leaf numbers.
 *
 *     hash:   | home: the upper 45 bits, salted and scaled | .. | tag: 8 | part: 3 |      the lowest 8: fp
 *     part:   buckets of | 15 tags | 15 leaf numbers of 3 bytes | used | overflow |       64 bytes
 *     leaves: number -> leaf, so that moving a leaf changes one word and no entries
 *
 * As in hashtable.c, the home of a hash is its upper bits, salted, scaled to the number of buckets; an
 * entry whose home is full goes to the next bucket with space, and the buckets that it passed count it.
 *
 * An entry is only (tag, number), so two members of one leaf with the same tag are interchangeable
 * wherever their probes meet. Erasing or moving one may take the other's entry: the remaining entry is
 * right for the other member, and so are the counts. For the same reason an entry need not have the
 * whole number: in a tree of more than 2^24 leaves, all leaves whose lower bits are equal are searched.
 *
 * Resizing needs the hashes of all members, which are computed from the leaves: it walks over all
 * leaves, one or two with every change. The map has eight parts, one of which moves at a time, so that
 * there are never two copies of the whole. The fp of a leaf say which of its members are in a part;
 * leaf->table says whether they have moved. Entries of the old table whose leaf has moved are dead: they
 * are not removed but freed with the table. */
#include "base/random.h"
#include "ds/hashtable.h" /* for the policy */
#include "ds/scan_cursor.h"
#include "ds/zbtree_private.h"

/* Percentages of the slots. A part is resized when fuller than GROW_AT (then a bucket has been passed
 * with probability 0.4, and 7% of all entries have passed their home), or emptier than SHRINK_AT, to a
 * table that is filled to at most NEW_FILL. A table grows by three of the allocator's sizes; the
 * parts start STAGGER apart, so that the whole grows in small steps. At CROWDED, everything that has not
 * moved yet is moved at once. */
#define GROW_AT   87
#define NEW_FILL  55
#define STAGGER   20
#define SHRINK_AT 25
#define CROWDED   97
/* While there is a fork child (see the policy of ds/hashtable), parts grow only at this fill and do not
 * shrink; if moving is forbidden, too, entries stay where they are until the old table is this full. */
#define GROW_AT_AVOID  93
#define GROW_AT_FORBID 96

/* Each change moves the entries of leaves with this many members. Even if all parts have to move one
 * after the other, the tree becomes only an eighth larger meanwhile. */
#define MOVED_MEMBERS 64

#define LAST_ID       ((1u << 28) - 1) /* of a leaf */
#define MIN_BUCKETS   2
#define OVERFLOW_MAX  UINT16_MAX
#define ALL_SLOTS     ((1u << ZBT_BUCKET_SLOTS) - 1)
#define CHAIN_CHECKED 16 /* buckets of a chain that a scan searches for a repeated entry */

/* A position combines part and home, as in cursors of SCAN. */
#define HOME_BITS (64 - ZBT_MAP_UNUSED)
#define HOME_END  (1ull << HOME_BITS)
_Static_assert(HOME_BITS + ZBT_PART_BITS == POSITION_BITS, "a position fits a cursor");

typedef struct zbtBucket bucket;
typedef struct zbtPart part;

/* ---- Hash bits ---- */

static inline uint64_t zbtMapPositionOf(const struct zbtMap *m, uint64_t hash) {
    return (uint64_t)zbtPartIndex(hash) << HOME_BITS | hash * m->salt >> ZBT_MAP_UNUSED;
}
/* Returns the home bucket of a position within a part. */
static inline uint32_t zbtMapHomeAt(const part *p, uint64_t position) {
    return (uint32_t)((unsigned __int128)position * p->buckets >> HOME_BITS);
}
/* Returns the smallest position whose home is i. */
static inline uint64_t zbtMapStartOf(const part *p, uint64_t i) {
    return (uint64_t)(((unsigned __int128)i * HOME_END + p->buckets - 1) / p->buckets);
}

static inline uint64_t zbtMapSlotsOf(const part *p) {
    return (uint64_t)p->buckets * ZBT_BUCKET_SLOTS;
}

static inline bool zbtMapIsFuller(const part *p, unsigned percent) {
    return (uint64_t)p->used * 100 > zbtMapSlotsOf(p) * percent;
}

/* ---- Entries ---- */

static uint32_t id_mask = (1u << (8 * ZBT_ID_BYTES)) - 1;

void zbtMapUseIdBits(unsigned bits) {
    id_mask = (1u << bits) - 1;
}

static inline void zbtMapPutId(bucket *b, unsigned slot, uint32_t id) {
    for (unsigned i = 0; i < ZBT_ID_BYTES; i++) b->id[slot * ZBT_ID_BYTES + i] = (uint8_t)(id >> (8 * i));
}

static inline __attribute__((always_inline)) void zbtMapPutEntry(part *p, uint32_t home, uint8_t tag,
                                                                 uint32_t id) {
    bucket *b;
    uint32_t i = home;
    for (; (b = &p->table[i])->used == ALL_SLOTS; i = zbtMapNext(p, i))
        if (b->overflow < OVERFLOW_MAX) b->overflow++;
    unsigned slot = (unsigned)__builtin_ctz(~(uint32_t)b->used);
    b->used = (uint16_t)(b->used | 1u << slot);
    b->tag[slot] = tag;
    zbtMapPutId(b, slot, id);
    p->used++;
}

static inline void zbtMapAddEntry(const struct zbtMap *m, part *p, uint32_t id, uint64_t hash) {
    zbtMapPutEntry(p, zbtMapHome(m, p, hash), zbtTag(hash), id & m->id_mask);
}

/* Finds the entry (tag, id); *passed becomes the number of buckets after its home. */
static bucket *zbtMapLocate(const struct zbtMap *m, const part *p, uint32_t id, uint64_t hash, unsigned *slot,
                            uint32_t *passed) {
    uint32_t i = zbtMapHome(m, p, hash);
    for (*passed = 0;; ++*passed, i = zbtMapNext(p, i)) {
        bucket *b = &p->table[i];
        for (uint32_t mask = zbtMatchTag(b, zbtTag(hash)); mask; mask &= mask - 1) {
            *slot = (unsigned)__builtin_ctz(mask);
            if (zbtIdAt(m, b, *slot) == (id & m->id_mask)) return b;
        }
        serverAssert(b->overflow);
    }
}

static void zbtMapRemoveEntry(const struct zbtMap *m, part *p, uint32_t id, uint64_t hash) {
    unsigned slot;
    uint32_t passed, i = zbtMapHome(m, p, hash);
    bucket *b = zbtMapLocate(m, p, id, hash, &slot, &passed);
    b->used = (uint16_t)(b->used & ~(1u << slot));
    for (; passed; passed--, i = zbtMapNext(p, i))
        if (p->table[i].overflow < OVERFLOW_MAX) p->table[i].overflow--;
    p->used--;
}

static void zbtMapRenameEntry(const struct zbtMap *m, const part *p, uint32_t was, uint32_t id,
                              uint64_t hash) {
    unsigned slot;
    uint32_t passed;
    bucket *b = zbtMapLocate(m, p, was, hash, &slot, &passed);
    zbtMapPutId(b, slot, id & m->id_mask);
}

/* Computes the hashes of elements [from, to), which the leaf was made of unless `items` is NULL, and
 * prefetches their buckets. */
static void zbtMapHashRun(const struct zbtMap *m, const struct zbtLeaf *in, const struct zbtLeaf *l,
                          unsigned from, unsigned to, const struct zsetItem *items, uint64_t *hashes) {
    for (unsigned i = from; i < to; i++) {
        struct zsetItem of = {.member = zbtMemberIn(l, zbtSlot(l, i)), .hash = items ? items[i].hash : 0};
        uint64_t hash = *hashes++ = zsetItemHash(&of);
        const part *p = zbtMapPart(m, in, hash);
        __builtin_prefetch(&p->table[zbtMapHome(m, p, hash)], 1);
    }
}

/* ---- Resizing ---- */

/* Allocates empty buckets. Fresh pages of zcalloc need no clearing, which matters: clearing half a
 * gigabyte would stop the server. Allocators other than jemalloc may not align the result. */
static bucket *zbtMapNewBuckets(uint64_t n) {
    bucket *b = zcalloc(n, sizeof(bucket));
    if (likely(((uintptr_t)b & (sizeof(bucket) - 1)) == 0)) return b;
    zfreeSized(b, n * sizeof(bucket));
    b = zmallocAligned(sizeof(bucket), n * sizeof(bucket));
    memset(b, 0, n * sizeof(bucket));
    return b;
}

static part zbtMapNewPart(uint64_t entries) {
    uint64_t n = (entries * 100 + NEW_FILL * ZBT_BUCKET_SLOTS - 1) / (NEW_FILL * ZBT_BUCKET_SLOTS);
    if (n < MIN_BUCKETS) n = MIN_BUCKETS;
    n = zmallocGoodSize(n * sizeof(bucket)) / sizeof(bucket);
    serverAssert(n * ZBT_BUCKET_SLOTS < UINT32_MAX);
    return (part){.table = zbtMapNewBuckets(n), .buckets = (uint32_t)n};
}

static void zbtMapFreePart(part *p) {
    if (p->table) zfreeSized(p->table, p->buckets * sizeof(bucket));
    *p = (part){0};
}

/* Returns a bit for each of 16 fingerprints whose bits in `mask` are `wanted`. */
static inline uint32_t zbtMapMatchSixteen(const uint8_t *fp, uint8_t mask, uint8_t wanted) {
#ifdef __SSE2__
    __m128i x = _mm_loadu_si128((const __m128i *)(const void *)fp);
    x = _mm_and_si128(x, _mm_set1_epi8((char)mask));
    return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_set1_epi8((char)wanted)));
#else
    uint32_t found = 0;
    for (unsigned i = 0; i < 16; i++) found |= (uint32_t)((fp[i] & mask) == wanted) << i;
    return found;
#endif
}

/* Adds the leaf's members of the moving part. Buckets are prefetched while further members are hashed. */
static unsigned zbtMapAddMoving(struct zbtMap *m, const struct zbtLeaf *l) {
    uint32_t homes[ZBT_LEAF_SLOTS], id = l->id & m->id_mask;
    uint8_t tags[ZBT_LEAF_SLOTS];
    part next = m->next;
    unsigned n = 0;
    for (unsigned at = 0; at < l->count; at += 16) {
        for (uint32_t bits = zbtMapMatchSixteen(l->fp + at, ZBT_PARTS - 1, m->which); bits;
             bits &= bits - 1) {
            unsigned i = at + (unsigned)__builtin_ctz(bits);
            if (i >= l->count) break;
            struct str member = zbtMemberIn(l, zbtSlot(l, i));
            uint64_t hash = hashBytes(member.ptr, member.len);
            homes[n] = zbtMapHome(m, &next, hash);
            tags[n] = zbtTag(hash);
            __builtin_prefetch(&next.table[homes[n++]], 1);
        }
    }
    for (unsigned i = 0; i < n; i++) zbtMapPutEntry(&next, homes[i], tags[i], id);
    m->next.used = next.used;
    return n;
}

static void zbtMapFinishMoving(struct zbtMap *m) {
    zbtMapFreePart(&m->part[m->which]);
    m->part[m->which] = m->next;
    m->next = (part){0};
    m->now = !m->now;
    m->dead = 0;
}

static void zbtMapMoveLeaf(struct zbtMap *m) {
    struct zbtLeaf *l = m->leaves[m->moving];
    if (l->table == m->now) {
        l->table = !m->now;
        m->dead += zbtMapAddMoving(m, l);
    }
    m->moving = l->next ? l->next->id : 0;
    if (!m->moving) zbtMapFinishMoving(m);
}

/* Returns whether moving can wait: the old table has space, and the new one has some for everything so
 * far. */
static bool zbtMapMayWait(const struct zbtMap *m) {
    const part *old = &m->part[m->which];
    return hashtableResizePolicy() == HASHTABLE_RESIZE_FORBID && !zbtMapIsFuller(old, GROW_AT_FORBID) &&
           ((uint64_t)old->used + m->next.used - m->dead) * 100 < zbtMapSlotsOf(&m->next) * GROW_AT;
}

static void zbtMapMoveSome(struct zbtMap *m, bool crowded) {
    if (!crowded && unlikely(zbtMapMayWait(m))) return;
    crowded = crowded || zbtMapIsFuller(&m->part[m->which], CROWDED);
    unsigned asked = 0;
    do {
        asked += m->leaves[m->moving]->count;
        zbtMapMoveLeaf(m);
    } while (m->moving && (crowded || asked < MOVED_MEMBERS));
}

/* Starts moving a part to a table of suitable size. */
static void zbtMapStartMoving(const zbtree *t, struct zbtMap *m, unsigned which) {
    m->next = zbtMapNewPart(m->part[which].used);
    m->which = (uint8_t)which;
    m->moving = t->first->id;
}

static unsigned zbtMapGrowAt(void) {
    switch (hashtableResizePolicy()) {
    case HASHTABLE_RESIZE_AVOID: return GROW_AT_AVOID;
    case HASHTABLE_RESIZE_FORBID: return GROW_AT_FORBID;
    default: return GROW_AT;
    }
}

void zbtMapGrew(zbtree *t, uint64_t hash) {
    struct zbtMap *m = zbtMapOf(t);
    unsigned which = zbtPartIndex(hash);
    const part *p = &m->part[which];
    bool full = zbtMapIsFuller(p, GROW_AT), crowded = full && zbtMapIsFuller(p, CROWDED);
    if (unlikely(m->moving))
        zbtMapMoveSome(m, crowded);
    else if (unlikely(full) && zbtMapIsFuller(p, zbtMapGrowAt()))
        zbtMapStartMoving(t, m, which);
    if (likely(!crowded) || !zbtMapIsFuller(p, CROWDED)) return;
    /* Another part was moving, or this one began just now: the next entry might not find a slot. */
    if (!m->moving) zbtMapStartMoving(t, m, which);
    zbtMapMoveSome(m, true);
}

static bool zbtMapMustShrink(const part *p) {
    return p->buckets > 2 * MIN_BUCKETS && !zbtMapIsFuller(p, SHRINK_AT) &&
           hashtableResizePolicy() == HASHTABLE_RESIZE_ALLOW;
}

/* Checks one part per call, in turn, whether it should shrink. */
void zbtMapShrank(zbtree *t) {
    struct zbtMap *m = zbtMapOf(t);
    unsigned which = zbtPartIndex(t->length);
    if (unlikely(m->moving))
        zbtMapMoveSome(m, false);
    else if (unlikely(zbtMapMustShrink(&m->part[which])))
        zbtMapStartMoving(t, m, which);
}

/* ---- Leaf numbers ---- */

static void zbtMapGiveNumber(struct zbtMap *m, struct zbtLeaf *l) {
    if (m->ids_free) {
        l->id = m->ids_free & LAST_ID;
        m->ids_free = (uint32_t)((uintptr_t)m->leaves[l->id] >> 1);
    } else {
        if (m->ids >= m->ids_cap) {
            size_t size = zmallocGoodSize((m->ids_cap + m->ids_cap / 4 + 16) * sizeof *m->leaves);
            m->ids_cap = (uint32_t)(size / sizeof *m->leaves);
            m->leaves = zrealloc(m->leaves, size);
            m->leaves[0] = (struct zbtLeaf *)1; /* 0 is the number of no leaf */
        }
        serverAssert(m->ids <= LAST_ID);
        l->id = m->ids++ & LAST_ID;
    }
    m->leaves[l->id] = l;
}

void zbtMapAddLeaf(struct zbtMap *m, struct zbtLeaf *l, const struct zbtLeaf *like) {
    zbtMapGiveNumber(m, l);
    l->table = like ? like->table : m->moving ? !m->now : m->now;
}

void zbtMapDropLeaf(struct zbtMap *m, struct zbtLeaf *l) {
    if (m->moving == l->id) zbtMapMoveLeaf(m);
    m->leaves[l->id] = (struct zbtLeaf *)(((uintptr_t)m->ids_free << 1) | 1);
    m->ids_free = l->id;
}

/* ---- Creating, copying, freeing ---- */

/* Returns the salt for the tree's maps, which all have the same one: a cursor of SCAN stays valid when the
 * map is dropped and made again. */
static uint64_t zbtMapSalt(zbtree *t) {
    while (!t->order) t->order = randomU64();
    uint64_t salt = t->order * 0x9e3779b97f4a7c15ull;
    return (salt ^ salt >> 32) * 0xd6e8feb86659fd93ull | 1;
}

void zbtMapInit(struct zbtMap *m, zbtree *t, size_t entries, const struct zsetItem *items) {
    uint64_t expected = entries / ZBT_PARTS, counts[ZBT_PARTS] = {0}, hashes[ZBT_LEAF_SLOTS];
    *m = (struct zbtMap){.ids = 1, .id_mask = id_mask, .salt = zbtMapSalt(t)};
    for (const struct zbtLeaf *l = t->first; l; l = l->next)
        for (unsigned i = 0; i < l->count; i++) counts[zbtPartIndex(l->fp[i])]++;
    for (unsigned i = 0; i < ZBT_PARTS; i++) {
        uint64_t most = counts[i] > expected ? counts[i] : expected;
        m->part[i] = zbtMapNewPart(most * (100 + i % 3 * STAGGER) / 100);
    }
    for (struct zbtLeaf *l = t->first; l; l = l->next) {
        zbtMapGiveNumber(m, l);
        l->table = m->now;
        zbtMapHashRun(m, l, l, 0, l->count, items, hashes);
        if (items) items += l->count;
        for (unsigned i = 0; i < l->count; i++) zbtMapAdd(m, l, hashes[i]);
    }
}

void zbtMapFree(struct zbtMap *m) {
    for (unsigned i = 0; i < ZBT_PARTS; i++) zbtMapFreePart(&m->part[i]);
    zbtMapFreePart(&m->next);
    zfree(m->leaves);
}

static void zbtMapCopyPart(part *p) {
    const bucket *table = p->table;
    size_t size = p->buckets * sizeof(bucket);
    if (!table) return;
    p->table = zmallocAligned(sizeof(bucket), size);
    memcpy(p->table, table, size);
}

void zbtMapCopy(struct zbtMap *dst, const struct zbtMap *src) {
    *dst = *src;
    for (unsigned i = 0; i < ZBT_PARTS; i++) zbtMapCopyPart(&dst->part[i]);
    zbtMapCopyPart(&dst->next);
    dst->leaves = zmalloc(src->ids_cap * sizeof *src->leaves);
    memcpy(dst->leaves, src->leaves, src->ids * sizeof *src->leaves);
}

static uint64_t zbtMapBucketsOf(const struct zbtMap *m) {
    uint64_t n = m->next.buckets;
    for (unsigned i = 0; i < ZBT_PARTS; i++) n += m->part[i].buckets;
    return n;
}

uint64_t zbtMapSlots(const struct zbtMap *m) {
    return zbtMapBucketsOf(m) * ZBT_BUCKET_SLOTS;
}

size_t zbtMapMemory(const struct zbtMap *m) {
    return zbtMapBucketsOf(m) * sizeof(bucket) + m->ids_cap * sizeof *m->leaves;
}

/* ---- Members ---- */

void zbtMapAdd(struct zbtMap *m, const struct zbtLeaf *l, uint64_t hash) {
    zbtMapAddEntry(m, zbtMapPart(m, l, hash), l->id, hash);
}

void zbtMapRename(struct zbtMap *m, const struct zbtLeaf *from, const struct zbtLeaf *to, uint64_t hash) {
    zbtMapRenameEntry(m, zbtMapPart(m, from, hash), from->id, to->id, hash);
}

void zbtMapRemove(struct zbtMap *m, const struct zbtLeaf *l, uint64_t hash) {
    zbtMapRemoveEntry(m, zbtMapPart(m, l, hash), l->id, hash);
}

void zbtMapRemoveRun(struct zbtMap *m, const struct zbtLeaf *l, unsigned from, unsigned to) {
    uint64_t hashes[ZBT_LEAF_SLOTS];
    zbtMapHashRun(m, l, l, from, to, NULL, hashes);
    for (unsigned i = 0; i < to - from; i++) zbtMapRemove(m, l, hashes[i]);
}

void zbtMapMoveRun(struct zbtMap *m, const struct zbtLeaf *l, unsigned from, unsigned to,
                   const struct zbtLeaf *was) {
    uint64_t hashes[ZBT_LEAF_SLOTS];
    zbtMapHashRun(m, was, l, from, to, NULL, hashes);
    for (unsigned i = 0; i < to - from; i++) {
        part *old = zbtMapPart(m, was, hashes[i]), *now = zbtMapPart(m, l, hashes[i]);
        if (old == now) {
            zbtMapRenameEntry(m, now, was->id, l->id, hashes[i]);
        } else {
            zbtMapRemoveEntry(m, old, was->id, hashes[i]);
            zbtMapAddEntry(m, now, l->id, hashes[i]);
        }
    }
}

/* Returns the leaf that an entry means, or the first one of those with its number; NULL: there is none. */
static struct zbtLeaf *zbtMapLeafAt(const struct zbtMap *m, const bucket *b, unsigned slot) {
    struct zbtLeaf *l = m->leaves[zbtIdAt(m, b, slot)];
    return zbtMapIsFree(l) ? NULL : l;
}

/* ---- SCAN ---- */

struct zbtMapScan {
    const struct zbtMap *m;
    unsigned which;
    const part *p;
    uint32_t home;
    uint64_t from, to; /* range of positions */
    zbtScanFn fn;
    void *priv;
};

/* Returns the fingerprint of a member that has this tag: both are bits of its hash. */
static inline uint8_t zbtMapFpOf(const struct zbtMapScan *s, uint8_t tag) {
    return (uint8_t)(tag << ZBT_PART_BITS | s->which);
}

/* Returns whether the leaf's entries in this table are dead. */
static bool zbtMapIsDead(const struct zbtMapScan *s, const struct zbtLeaf *l) {
    return s->m->moving && s->which == s->m->which && (l->table != s->m->now) != (s->p == &s->m->next);
}

/* Passes an element that has this tag and belongs to the home and the range. */
static void zbtMapScanElement(struct zbtMapScan *s, struct zbtPos p, uint8_t tag) {
    struct str member = zbtMember(p);
    uint64_t hash = hashBytes(member.ptr, member.len);
    if (zbtTag(hash) != tag || zbtMapHome(s->m, s->p, hash) != s->home) return;
    uint64_t position = zbtMapPositionOf(s->m, hash);
    if (position >= s->from && position < s->to) s->fn(s->priv, member, zbtScore(p));
}

/* Passes those elements of a leaf. */
static void zbtMapScanLeaf(struct zbtMapScan *s, const struct zbtLeaf *l, uint8_t tag) {
    uint8_t fp = zbtMapFpOf(s, tag);
    for (unsigned at = 0; at < l->count; at += 16) {
        for (uint32_t bits = zbtMapMatchSixteen(l->fp + at, 0xff, fp); bits; bits &= bits - 1) {
            unsigned i = at + (unsigned)__builtin_ctz(bits);
            if (i < l->count) zbtMapScanElement(s, (struct zbtPos){(struct zbtLeaf *)l, i}, tag);
        }
    }
}

/* Returns whether an equal entry comes earlier in the chain from the home. Only CHAIN_CHECKED buckets
 * are searched, so in longer chains a member may be passed twice. */
static bool zbtMapIsRepeated(const struct zbtMapScan *s, const bucket *b, unsigned slot) {
    uint32_t i = s->home, id = zbtIdAt(s->m, b, slot);
    for (unsigned checked = 0; checked < CHAIN_CHECKED; checked++, i = zbtMapNext(s->p, i)) {
        const bucket *other = &s->p->table[i];
        for (uint32_t mask = zbtMatchTag(other, b->tag[slot]); mask; mask &= mask - 1) {
            unsigned k = (unsigned)__builtin_ctz(mask);
            if (other == b && k == slot) return false;
            if (zbtIdAt(s->m, other, k) == id) return true;
        }
    }
    return false;
}

static void zbtMapScanEntry(struct zbtMapScan *s, const bucket *b, unsigned slot) {
    if (zbtMapIsRepeated(s, b, slot)) return;
    for (uint64_t id = zbtIdAt(s->m, b, slot); id < s->m->ids; id += (uint64_t)s->m->id_mask + 1) {
        const struct zbtLeaf *l = s->m->leaves[id];
        if (!zbtMapIsFree(l) && !zbtMapIsDead(s, l)) zbtMapScanLeaf(s, l, b->tag[slot]);
    }
}

/* Fetches for all entries at once what they need: their leaves, then their elements. */
static void zbtMapFetchBucket(const struct zbtMapScan *s, const bucket *b) {
    const struct zbtLeaf *leaves[ZBT_BUCKET_SLOTS];
    for (uint32_t mask = b->used; mask; mask &= mask - 1) {
        unsigned slot = (unsigned)__builtin_ctz(mask);
        leaves[slot] = zbtMapLeafAt(s->m, b, slot);
        if (leaves[slot]) zbtPrefetchHeader(leaves[slot]);
    }
    for (uint32_t mask = b->used; mask; mask &= mask - 1) {
        unsigned slot = (unsigned)__builtin_ctz(mask);
        if (leaves[slot]) zbtPrefetchElement(leaves[slot], zbtMapFpOf(s, b->tag[slot]));
    }
}

static void zbtMapScanHome(struct zbtMapScan *s) {
    uint32_t i = s->home;
    for (uint32_t left = s->p->buckets; left; left--, i = zbtMapNext(s->p, i)) {
        const bucket *b = &s->p->table[i];
        zbtMapFetchBucket(s, b);
        for (uint32_t mask = b->used; mask; mask &= mask - 1)
            zbtMapScanEntry(s, b, (unsigned)__builtin_ctz(mask));
        if (!b->overflow) return;
    }
}

/* Scans all homes of a table that are in the range of positions, which is within one part. */
static void zbtMapScanPart(struct zbtMapScan *s, const part *p) {
    s->p = p;
    uint32_t last = zbtMapHomeAt(p, (s->to - 1) & (HOME_END - 1));
    for (s->home = zbtMapHomeAt(p, s->from & (HOME_END - 1)); s->home <= last; s->home++) zbtMapScanHome(s);
}

/* Scans the part of a stripe that is in one bucket of the smaller table, and the same range of the
 * larger one. */
uint64_t zbtMapScan(const struct zbtMap *m, uint64_t cursor, zbtScanFn fn, void *priv) {
    if (cursor >= SCAN_CURSOR_END) return 0;
    struct scanCursor c = scanCursorRead(cursor, zbtMapBucketsOf(m));
    unsigned which = (unsigned)(c.position >> HOME_BITS);
    struct zbtMapScan s = {
        .m = m, .which = which, .from = c.position, .to = scanStripeEnd(&c), .fn = fn, .priv = priv};
    bool moves = m->moving && which == m->which;
    const part *small = &m->part[which];
    if (moves && m->next.buckets < small->buckets) small = &m->next;
    uint64_t start = (uint64_t)which << HOME_BITS;
    uint64_t end = start + zbtMapStartOf(small, (uint64_t)zbtMapHomeAt(small, s.from - start) + 1);
    if (end < s.to) s.to = end;
    zbtMapScanPart(&s, &m->part[which]);
    if (moves) zbtMapScanPart(&s, &m->next);
    return scanCursorAdvance(&c, s.to) ? scanCursorNumber(&c) : 0;
}

/* ---- Prefetching: only the table in use ---- */

static const bucket *zbtMapHomeBucket(const struct zbtMap *m, uint64_t hash) {
    const part *p = &m->part[zbtPartIndex(hash)];
    return &p->table[zbtMapHome(m, p, hash)];
}

void zbtMapPrefetch(const struct zbtMap *m, uint64_t hash) {
    zbtPrefetchLine(zbtMapHomeBucket(m, hash));
}

struct zbtLeaf *zbtMapPeek(const struct zbtMap *m, uint64_t hash) {
    const bucket *b = zbtMapHomeBucket(m, hash);
    uint32_t mask = zbtMatchTag(b, zbtTag(hash));
    return mask ? zbtMapLeafAt(m, b, (unsigned)__builtin_ctz(mask)) : NULL;
}

/* ---- Checking ---- */

/* Returns whether there is a leaf with this number, or with one whose bits in entries are equal. */
static bool zbtMapIsKnown(const struct zbtMap *m, uint32_t id) {
    for (uint64_t i = id; i < m->ids; i += (uint64_t)m->id_mask + 1)
        if (!zbtMapIsFree(m->leaves[i])) return true;
    return false;
}

/* Asserts that every entry that is not dead belongs to a member. */
static void zbtMapVerifyTable(const struct zbtMap *m, const part *p) {
    uint64_t used = 0;
    for (uint32_t i = 0; i < p->buckets; i++) {
        const bucket *b = &p->table[i];
        serverAssert((b->used & ~ALL_SLOTS) == 0);
        used += (unsigned)__builtin_popcount(b->used);
        for (uint32_t mask = b->used; mask; mask &= mask - 1) {
            uint32_t id = zbtIdAt(m, b, (unsigned)__builtin_ctz(mask));
            if (!m->moving || p != &m->part[m->which]) serverAssert(zbtMapIsKnown(m, id));
        }
    }
    serverAssert(used == p->used);
    serverAssert(used < zbtMapSlotsOf(p));
}

/* Gives each member the first unassigned entry from its home on that matches it. Any assignment is fine:
 * all have the same counts of entries that passed each bucket. */
static void zbtMapVerifyOverflow(const zbtree *t, const struct zbtMap *m, unsigned which) {
    const part *p = &m->part[which];
    uint16_t *taken = zcalloc(p->buckets, sizeof *taken), *passed = zcalloc(p->buckets, sizeof *passed);
    for (const struct zbtLeaf *l = t->first; l; l = l->next) {
        for (unsigned i = 0; i < l->count; i++) {
            struct str member = zbtMemberIn(l, zbtSlot(l, i));
            uint64_t hash = hashBytes(member.ptr, member.len);
            if (zbtPartIndex(hash) != which) continue;
            uint32_t at = zbtMapHome(m, p, hash);
            for (uint32_t mask = 0;; at = zbtMapNext(p, at)) {
                const bucket *b = &p->table[at];
                mask = zbtMatchTag(b, zbtTag(hash)) & ~(uint32_t)taken[at];
                while (mask && zbtIdAt(m, b, (unsigned)__builtin_ctz(mask)) != (l->id & m->id_mask))
                    mask &= mask - 1;
                taken[at] = (uint16_t)(taken[at] | (mask & -mask));
                if (mask) break;
                passed[at]++;
            }
        }
    }
    for (uint32_t i = 0; i < p->buckets; i++) serverAssert(p->table[i].overflow == passed[i]);
    zfree(taken);
    zfree(passed);
}

static void zbtMapVerifyParts(const zbtree *t, const struct zbtMap *m) {
    uint64_t used = m->next.used;
    serverAssert((m->next.table != NULL) == (m->moving != 0));
    serverAssert(m->moving || !m->dead);
    if (m->moving) zbtMapVerifyTable(m, &m->next);
    for (unsigned i = 0; i < ZBT_PARTS; i++) {
        used += m->part[i].used;
        zbtMapVerifyTable(m, &m->part[i]);
        if (!m->moving || i != m->which) zbtMapVerifyOverflow(t, m, i);
    }
    serverAssert(used - m->dead == t->length);
}

void zbtMapVerify(const zbtree *t) {
    const struct zbtMap *m = zbtMapOf(t);
    uint32_t numbered = 0;
    bool moved = m->moving != 0;
    zbtMapVerifyParts(t, m);
    for (const struct zbtLeaf *l = t->first; l; l = l->next) {
        serverAssert(l->id && l->id < m->ids && m->leaves[l->id] == l);
        if (l->id == m->moving) moved = false;
        serverAssert(l->table == (moved ? !m->now : m->moving ? l->table : m->now));
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
