/* SPDX-License-Identifier: BSD-3-Clause */
/* zbtree.c - the B+ tree as a whole; contract, layout and arithmetic are in zbtree.h.
 *
 *     zbtree_leaf.c    elements in a leaf        zbtree_inner.c   counts and separators above them
 *     zbtree_map.c     members to leaves         zbtree_walk.c    snapshots
 *     zbtree.c         which leaf changes its size, and when
 *
 * A tree has three forms. At first its only leaf is in the same allocation, so that a small set is one
 * allocation and its first element is two cache lines away. The first split gives leaves their own
 * allocations; the split to more than ZBT_MAP_LEAVES puts the map behind the tree instead. Both move the
 * tree; nothing in it points to it. */
#include "ds/hashtable.h" /* for the policy */
#include "ds/zbtree_private.h"

#define GUESSED_BYTES 12   /* bytes of an element, before any is known */
#define MAP_PRESIZE   4096 /* expected elements from which on there is a map from the start */
#define SPARE         2    /* a rebuilt leaf has space for this many more elements */
#define GARBAGE_KEPT  8u   /* a growing leaf keeps its garbage up to this part of its bytes */

/* ---- Leaves ---- */

/* Returns the bytes in front of a leaf in its allocation. */
static inline size_t zbtBytesBeforeLeaf(const zbtree *t) {
    return t->form == ZBT_ONE_LEAF ? sizeof *t : 0;
}

static struct zbtLeaf *zbtLeafNew(size_t need, struct zbtPacking p, unsigned least, unsigned each) {
    size_t size = zmallocGoodSize(need);
    struct zbtLeaf *l = zmalloc(size);
    zbtLeafInit(l, size, p, least, each);
    return l;
}

/* Makes a tree followed by an empty leaf. */
static zbtree *zbtTreeNew(size_t need, struct zbtPacking p, unsigned least, unsigned each) {
    size_t size = zmallocGoodSize(sizeof(zbtree) + need);
    zbtree *t = zmalloc(size);
    struct zbtLeaf *l = (struct zbtLeaf *)(t + 1);
    *t = (zbtree){.root = l, .first = l, .last = l, .leaves = 1, .form = ZBT_ONE_LEAF};
    zbtLeafInit(l, size - sizeof *t, p, least, each);
    return t;
}

static void zbtLeafFree(struct zbtLeaf *l) {
    zfreeSized(l, l->size);
}

static void zbtTreeFreeHeader(zbtree *t) {
    size_t behind = t->form == ZBT_ONE_LEAF ? t->first->size
                    : t->form == ZBT_MAPPED ? sizeof(struct zbtMap)
                                            : 0;
    zfreeSized(t, sizeof *t + behind);
}

/* Links a new leaf, whose elements count as passed: those that a walk has to pass were before it was made. */
static void zbtLinkBetween(zbtree *t, struct zbtLeaf *prev, struct zbtLeaf *l, struct zbtLeaf *next) {
    l->epoch = t->epoch;
    l->prev = prev;
    l->next = next;
    if (prev)
        prev->next = l;
    else
        t->first = l;
    if (next)
        next->prev = l;
    else
        t->last = l;
}

/* Replaces a leaf by `now`; the old one is not freed. */
static void zbtReplaceLeaf(zbtree *t, struct zbtLeaf *old, struct zbtLeaf *now) {
    now->id = old->id;
    now->table = old->table;
    now->parent = old->parent;
    zbtWalkLeave(t, old, now);
    zbtLinkBetween(t, old->prev, now, old->next);
    zbtReplaceChild(t, old->parent, old, now);
    if (t->form == ZBT_MAPPED) zbtMapOf(t)->leaves[now->id] = now;
}

/* Copies all elements; `whole`: with the garbage, unchanged. */
static void zbtCopyElements(struct zbtLeaf *now, const struct zbtLeaf *l, bool whole) {
    if (whole)
        zbtLeafTakeAll(now, l);
    else
        zbtLeafTake(now, l, 0, l->count);
}

/* Moves a leaf to an allocation of `need` bytes, with the tree if they share their allocation. */
static struct zbtLeaf *zbtRebuild(zbtree **tp, struct zbtLeaf *l, size_t need, struct zbtPacking p,
                                  unsigned least, unsigned each, bool whole) {
    zbtree *t = *tp;
    if (t->form != ZBT_ONE_LEAF) {
        struct zbtLeaf *now = zbtLeafNew(need, p, least, each);
        zbtCopyElements(now, l, whole);
        zbtReplaceLeaf(t, l, now);
        zbtLeafFree(l);
        return now;
    }
    zbtree *moved = zbtTreeNew(need, p, least, each);
    zbtCopyElements(moved->first, l, whole);
    moved->length = t->length;
    moved->bigs = t->bigs;
    moved->order = t->order;
    moved->rests = t->rests;
    zbtTreeFreeHeader(t);
    *tp = moved;
    return moved->first;
}

static inline unsigned zbtBytesEach(unsigned count, size_t bytes, unsigned width) {
    return 3 + width + (unsigned)((bytes + count - 1) / count);
}

/* Makes a leaf fit for one more element, or (new_score) for another score of one of its own: packs its scores
 * in another way, or moves it to a larger allocation; false when that is too large. For a new score it may
 * grow further, since splitting it would take much longer than that. A little garbage is kept where there is
 * space: the leaf is then copied in one go, and the garbage will be overwritten. */
static bool zbtMakeFit(zbtree **tp, struct zbtLeaf **l, unsigned slot, const struct zbtItem *it,
                       bool new_score) {
    struct zbtLeaf *old = *l;
    unsigned count = old->count + !new_score;
    struct zbtPacking p = zbtPack(old, 0, old->count, it, slot);
    if (!zbtLeafFits(old, it->score, it->rest) && zbtLeafRepack(old, p, new_score ? NULL : it)) return true;
    size_t bytes = (size_t)old->heap - old->garbage + (new_score ? 0 : zbtItemBytes(it));
    size_t need = zbtLeafNeed(count, bytes, p.width),
           most = (new_score ? ZBT_LEAF_MAX : zbtLeafMaxSize(count)) - zbtBytesBeforeLeaf(*tp);
    if (need > most || count > ZBT_LEAF_SLOTS) return false;
    bool whole = old->garbage * GARBAGE_KEPT <= old->heap && need + old->garbage <= most;
    if (whole) need += old->garbage;
    unsigned each = zbtBytesEach(count, bytes, p.width);
    size_t wanted = need + SPARE * each;
    *l = zbtRebuild(tp, *l, wanted < most ? wanted : most, p, count, each, whole);
    return true;
}

/* Moves the tree's only leaf to its own allocation. */
static void zbtSeparateLeaf(zbtree **tp) {
    zbtree *t = *tp, *apart = zmalloc(sizeof *t);
    struct zbtLeaf *old = t->first;
    size_t bytes = (size_t)old->heap - old->garbage;
    struct zbtPacking p = {old->base, old->width, old->scale};
    struct zbtLeaf *l = zbtLeafNew(zbtLeafNeed(old->count, bytes, p.width), p, old->count,
                                   zbtBytesEach(old->count, bytes, p.width));
    zbtLeafTake(l, old, 0, old->count);
    *apart = (zbtree){.root = l,
                      .first = l,
                      .last = l,
                      .length = t->length,
                      .bigs = t->bigs,
                      .order = t->order,
                      .leaves = 1,
                      .rests = t->rests,
                      .form = ZBT_PLAIN};
    zbtTreeFreeHeader(t);
    *tp = apart;
}

/* ---- Splitting ---- */

/* Returns the slot before which half of the bytes are. */
static unsigned zbtFindMiddle(const struct zbtLeaf *l) {
    unsigned half = zbtLeafBytes(l, 0, l->count) + l->count * (3u + l->width), sum = 0, i = 0;
    for (half /= 2; i + 1u < l->count && sum < half; i++) sum += zbtLeafBytes(l, i, i + 1) + 3u + l->width;
    return i ? i : 1;
}

/* Makes a leaf of the elements [from, to), with space for the element that goes there. */
static struct zbtLeaf *zbtCopyPart(const struct zbtLeaf *l, unsigned from, unsigned to,
                                   const struct zbtItem *more, unsigned slot) {
    struct zbtPacking p = zbtPack(l, from, to, more, slot);
    size_t bytes = zbtLeafBytes(l, from, to) + (more ? zbtItemBytes(more) : 0);
    unsigned count = to - from + (more != NULL), each = zbtBytesEach(count, bytes, p.width);
    size_t wanted = zbtLeafNeed(count, bytes, p.width) + SPARE * each;
    if (wanted >
        ZBT_LEAF_MAX) { /* the additional element needs wider scores: a later split makes space for it */
        p = zbtPack(l, from, to, NULL, 0);
        wanted = ZBT_LEAF_MAX;
        count = to - from;
        each = zbtBytesEach(count, bytes, p.width);
    }
    struct zbtLeaf *part = zbtLeafNew(wanted, p, count, each);
    zbtLeafTake(part, l, from, to);
    return part;
}

static void zbtSplitLeaf(zbtree *t, struct zbtLeaf *l, unsigned slot, const struct zbtItem *it) {
    unsigned middle = zbtFindMiddle(l);
    bool goes_left = slot <= middle;
    struct zbtLeaf *left = zbtCopyPart(l, 0, middle, goes_left ? it : NULL, slot);
    struct zbtLeaf *right = zbtCopyPart(l, middle, l->count, goes_left ? NULL : it, slot);
    zbtReplaceLeaf(t, l, left);
    zbtLinkBetween(t, left, right, left->next);
    zbtAttach(t, left->parent, left, left->count, right, right->count, zbtValue((struct zbtPos){right, 0}),
              1);
    t->leaves++;
    if (t->form == ZBT_MAPPED) {
        zbtMapAddLeaf(zbtMapOf(t), right, left);
        zbtMapMoveRun(zbtMapOf(t), right, 0, right->count, left);
    }
    zbtLeafFree(l);
}

/* Makes an empty leaf at an end of the set, for an element that belongs there. The full one stays full. */
static struct zbtLeaf *zbtBeginLeaf(zbtree *t, const struct zbtItem *it, bool at_end) {
    struct zbtLeaf *full = at_end ? t->last : t->first;
    struct zbtPacking p = zbtPack(full, 0, 0, it, 0);
    p = zbtPackLike(full, p, it->score, at_end);
    struct zbtLeaf *fresh = zbtLeafNew(ZBT_LEAF_USUAL, p, full->count, ZBT_LEAF_USUAL);
    if (at_end) {
        zbtLinkBetween(t, full, fresh, NULL);
        zbtAttach(t, full->parent, full, full->count, fresh, 0, it->score, 1);
    } else {
        fresh->parent = full->parent;
        zbtLinkBetween(t, NULL, fresh, full);
        zbtReplaceChild(t, full->parent, full, fresh);
        zbtAttach(t, fresh->parent, fresh, 0, full, full->count, zbtValue((struct zbtPos){full, 0}), 1);
    }
    t->leaves++;
    if (t->form == ZBT_MAPPED) zbtMapAddLeaf(zbtMapOf(t), fresh, NULL);
    return fresh;
}

/* ---- Creating and removing the map ---- */

static zbtree *zbtMakeMap(zbtree *t, size_t entries, const struct zsetItem *items) {
    t = zrealloc(t, sizeof *t + sizeof(struct zbtMap));
    t->form = ZBT_MAPPED;
    zbtMapInit(zbtMapOf(t), t, entries, items);
    return t;
}

static zbtree *zbtDropMap(zbtree *t) {
    zbtMapFree(zbtMapOf(t));
    t->form = ZBT_PLAIN;
    return zrealloc(t, sizeof *t);
}

/* ---- Inserting ---- */

static inline bool zbtIsLastLeft(const zbtree *t, const struct zbtTarget *target) {
    const struct zbtLeaf *l = t->last;
    if (!l->count) return true;
    const uint8_t *slot = zbtSlot(l, l->count - 1u);
    return zbtIsLeft(zbtScoreIn(l, slot), l, slot, target);
}

/* Like zbtSeekInsert, but without a search when the element is appended. */
static struct zbtPos zbtSeekForInsert(zbtree *t, const struct zbtTarget *target) {
    if (!zbtIsLastLeft(t, target)) return zbtSeekInsert(t, target);
    zbtAddCounts(t->last, 1);
    return (struct zbtPos){t->last, t->last->count};
}

/* Splits a full leaf that cannot grow. Returns the leaf for the element; NULL: search again. */
static struct zbtLeaf *zbtMakeRoom(zbtree **tp, struct zbtLeaf *l, unsigned *slot, const struct zbtItem *it) {
    if ((*tp)->form == ZBT_ONE_LEAF) {
        zbtSeparateLeaf(tp);
        l = (*tp)->first;
    }
    zbtree *t = *tp;
    zbtAddCounts(l, -1);
    bool at_end = l == t->last && *slot == l->count;
    if (!at_end && (l != t->first || *slot)) {
        zbtSplitLeaf(t, l, *slot, it);
        return NULL;
    }
    l = zbtBeginLeaf(t, it, at_end);
    *slot = 0;
    zbtAddCounts(l, 1);
    return l;
}

/* Puts the element into the slot if l has space or can get it; NULL: search again. */
static inline struct zbtLeaf *zbtPutAt(zbtree **tp, struct zbtLeaf *l, unsigned slot,
                                       const struct zbtItem *it) {
    zbtWillChange(*tp, l);
    if (!zbtLeafHasRoom(l, it) && !zbtMakeFit(tp, &l, slot, it, false)) l = zbtMakeRoom(tp, l, &slot, it);
    if (likely(l)) zbtLeafPut(l, slot, it);
    return l;
}

static zbtree *zbtCountInserted(zbtree *t, const struct zbtLeaf *l, uint64_t hash) {
    t->length++;
    if (t->form == ZBT_MAPPED) {
        zbtMapAdd(zbtMapOf(t), l, hash);
        zbtMapGrew(t, hash);
    } else if (unlikely(t->leaves > ZBT_MAP_LEAVES)) {
        t = zbtMakeMap(t, 0, NULL);
    }
    return t;
}

static zbtree *zbtInsertItem(zbtree *t, const struct zbtItem *it, uint64_t hash) {
    struct zbtTarget target = {it->score, ZBT_TIES_BY_MEMBER, false, it->member, it->rest};
    struct zbtLeaf *l;
    do {
        struct zbtPos p = zbtSeekForInsert(t, &target);
        l = zbtPutAt(&t, p.leaf, p.slot, it);
    } while (unlikely(!l));
    return zbtCountInserted(t, l, hash);
}

static struct zbtItem zbtItemOf(zbtree *t, struct zscore score, struct str member, uint64_t hash) {
    struct zbtItem it = {score.value, member, NULL, zbtFp(hash), (int16_t)score.rest};
    if (unlikely(score.rest)) t->rests = true;
    if (member.len > ZBT_INLINE_MAX) {
        it.big = zmalloc(sizeof *it.big + member.len);
        it.big->len = member.len;
        memcpy(it.big->bytes, member.ptr, member.len);
        t->bigs++;
    }
    return it;
}

/* ---- Removing ---- */

static void zbtRemoveLeaf(zbtree *t, struct zbtLeaf *l) {
    zbtWalkLeave(t, l, l->prev);
    if (t->form == ZBT_MAPPED) zbtMapDropLeaf(zbtMapOf(t), l);
    if (l->prev)
        l->prev->next = l->next;
    else
        t->first = l->next;
    if (l->next)
        l->next->prev = l->prev;
    else
        t->last = l->prev;
    zbtDetach(t, l->parent, zbtChildIndex(l->parent, l));
    t->leaves--;
    zbtLeafFree(l);
}

static struct zbtPacking zbtPackBoth(const struct zbtLeaf *a, const struct zbtLeaf *b) {
    struct zbtPacking p = zbtPack(b, 0, b->count, NULL, 0), first = zbtPack(a, 0, a->count, NULL, 0);
    if (p.width == ZBT_WIDTH_EXACT || first.width == ZBT_WIDTH_EXACT) return zbtPackExact();
    unsigned scale = p.scale > first.scale ? p.scale : first.scale;
    if (p.width > 4 || first.width > 4) scale = ZBT_SCALES;
    return zbtPackScores(zbtValueAt(a, 0), zbtValueAt(b, b->count - 1u), scale);
}

/* Joins a and b = a->next to one leaf, which replaces a and, in the map, the larger one. */
static void zbtJoinLeaves(zbtree *t, struct zbtLeaf *a, struct zbtLeaf *b, struct zbtLeaf *both) {
    struct zbtLeaf *keep = a->count >= b->count ? a : b, *gone = keep == a ? b : a;
    unsigned seam = a->count;
    zbtWalkLeave(t, a, both);
    zbtWalkLeave(t, b, both);
    zbtLeafTake(both, a, 0, a->count);
    zbtLeafTake(both, b, 0, b->count);
    both->id = keep->id;
    both->table = keep->table;
    both->parent = a->parent;
    unsigned at = zbtChildIndex(a->parent, a);
    zbtChildren(a->parent)[at] = both;
    a->parent->counts[at] += b->count;
    a->parent->counts[at + 1] = 0;
    zbtLinkBetween(t, a->prev, both, b->next);
    if (t->form == ZBT_MAPPED) {
        struct zbtMap *m = zbtMapOf(t);
        m->leaves[both->id] = both;
        zbtMapMoveRun(m, both, gone == a ? 0 : seam, gone == a ? seam : both->count, gone);
        gone->count = 0;
        gone->next = gone == a ? both : both->next;
        zbtMapDropLeaf(m, gone);
    }
    zbtDetach(t, a->parent, at + 1);
    t->leaves--;
    zbtLeafFree(a);
    zbtLeafFree(b);
}

static bool zbtMergeLeaves(zbtree *t, struct zbtLeaf *a, struct zbtLeaf *b) {
    if (!a || !b || a->parent != b->parent) return false;
    if (t->form == ZBT_MAPPED && a->table != b->table)
        return false; /* entries would go back to an old table */
    unsigned count = (unsigned)a->count + b->count;
    if (count > ZBT_LEAF_SLOTS || zbtLeafLive(a) + zbtLeafLive(b) > zbtLeafMaxSize(count)) return false;
    size_t bytes = (size_t)a->heap - a->garbage + b->heap - b->garbage;
    struct zbtPacking p = zbtPackBoth(a, b);
    size_t need = zbtLeafNeed(count, bytes, p.width);
    if (need > zbtLeafMaxSize(count) * 3 / 4) return false;
    zbtWillChange(t, a);
    zbtWillChange(t, b);
    zbtJoinLeaves(t, a, b, zbtLeafNew(need, p, count, zbtBytesEach(count, bytes, p.width)));
    return true;
}

/* Moves the leaf to a smaller allocation if that is worth the copying. */
static void zbtShrinkLeaf(zbtree **tp, struct zbtLeaf *l) {
    struct zbtPacking p = zbtPack(l, 0, l->count, NULL, 0);
    size_t bytes = (size_t)l->heap - l->garbage, front = zbtBytesBeforeLeaf(*tp), size = front + l->size;
    unsigned each = zbtBytesEach(l->count, bytes, p.width);
    size_t need = zbtLeafNeed(l->count, bytes, p.width) + SPARE * each;
    if (zmallocGoodSize(front + need) * 4 <= size * 3) zbtRebuild(tp, l, need, p, l->count, each, false);
}

/* Joins or shrinks a leaf after elements were removed. Leaves at the ends stay, since they will soon be
 * emptied or filled. */
static zbtree *zbtShrinkOrJoin(zbtree *t, struct zbtLeaf *l) {
    if (!l->count) {
        if (t->leaves > 1) zbtRemoveLeaf(t, l);
    } else if (unlikely(zbtLeafLive(l) * 8 < (size_t)l->size * 5)) {
        bool is_end = t->leaves > 2 && (!l->prev || !l->next);
        if (!is_end && !zbtMergeLeaves(t, l, l->next) && !zbtMergeLeaves(t, l->prev, l)) zbtShrinkLeaf(&t, l);
    }
    if (t->form != ZBT_MAPPED) return t;
    if (t->leaves == 1 && !t->walked) return zbtDropMap(t);
    zbtMapShrank(t);
    return t;
}

/* Removes the elements [from, to) of a leaf, which are no longer in the map. */
static zbtree *zbtRemoveRun(zbtree *t, struct zbtLeaf *l, unsigned from, unsigned to) {
    zbtLeafDrop(l, from, to);
    zbtAddCounts(l, -(int64_t)(to - from));
    t->length -= to - from;
    return zbtShrinkOrJoin(t, l);
}

static struct zbtBig *zbtBigAt(const struct zbtLeaf *l, unsigned slot) {
    const uint8_t *bytes = zbtBytes(l, zbtSlot(l, slot));
    return *bytes > ZBT_INLINE_MAX ? zbtBigOf(bytes) : NULL;
}

static void zbtFreeBigs(zbtree *t, const struct zbtLeaf *l, unsigned from, unsigned to) {
    for (; t->bigs && from < to; from++) {
        struct zbtBig *big = zbtBigAt(l, from);
        if (!big) continue;
        zfreeSized(big, sizeof *big + big->len);
        t->bigs--;
    }
}

/* ---- Creating ---- */

zbtree *zbtCreate(size_t entries) {
    struct zbtPacking none = {0, 1, 0};
    unsigned most = (ZBT_LEAF_USUAL - (unsigned)sizeof(zbtree)) / GUESSED_BYTES / 16 * 16;
    unsigned n = entries < 1 ? 1 : entries < most ? (unsigned)entries : most;
    if (entries < MAP_PRESIZE) {
        size_t need = zbtLeafNeed(n, n * (GUESSED_BYTES - 3u), 1), room = ZBT_LEAF_USUAL - sizeof(zbtree);
        return zbtTreeNew(need < room ? need : room, none, n, GUESSED_BYTES);
    }
    zbtree *t = zmalloc(sizeof *t);
    struct zbtLeaf *l = zbtLeafNew(ZBT_LEAF_USUAL, none, most, GUESSED_BYTES);
    *t = (zbtree){.root = l, .first = l, .last = l, .leaves = 1, .form = ZBT_PLAIN};
    return zbtMakeMap(t, entries, NULL);
}

/* ---- Building ---- */

struct zbtRun {
    struct zbtPacking p;
    size_t bytes, need; /* bytes of the members; of the leaf */
    unsigned count;
};

/* Measures how many items, from the first on, fit into one leaf. */
static struct zbtRun zbtMeasureRun(const struct zsetItem *items, size_t left) {
    struct zbtRun run = {0}, next = {0};
    unsigned scale = 0;
    bool rests = false;
    unsigned most = left < ZBT_LEAF_SLOTS ? (unsigned)left : ZBT_LEAF_SLOTS;
    while (run.count < most) {
        struct zscore score = items[next.count++].score;
        size_t len = items[run.count].member.len;
        __builtin_prefetch(items[run.count].member.ptr); /* they are copied next */
        next.bytes += len > ZBT_INLINE_MAX ? 1 + sizeof(struct zbtBig *) : 1 + len;
        if (!run.count || score.rest || !zbtPackingFits(next.p, score.value)) {
            scale = zbtScaleFor(score.value, scale);
            rests = rests || score.rest;
            next.p = rests ? zbtPackExact() : zbtPackScores(items[0].score.value, score.value, scale);
        }
        next.need = zbtLeafNeed(next.count, next.bytes, next.p.width);
        if (next.need > zbtLeafMaxSize(next.count) && next.need > zmallocGoodSize(run.need)) break;
        run = next;
    }
    return run;
}

static void zbtFillLeaf(zbtree *t, struct zbtLeaf *l, const struct zsetItem *items, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        struct str member = items[i].member;
        struct zbtItem it = zbtItemOf(t, items[i].score, member, zsetItemHash(&items[i]));
        zbtLeafPut(l, i, &it);
    }
    t->length += count;
}

/* Adds a leaf at the end. */
static void zbtAddFilledLeaf(zbtree *t, const struct zsetItem *items, const struct zbtRun *run) {
    struct zbtLeaf *before = t->last;
    struct zbtLeaf *l =
        zbtLeafNew(run->need, run->p, run->count, zbtBytesEach(run->count, run->bytes, run->p.width));
    zbtFillLeaf(t, l, items, run->count);
    zbtLinkBetween(t, before, l, NULL);
    if (before) {
        zbtAttach(t, before->parent, before, before->count, l, 0, items->score.value, 1);
        zbtAddCounts(l, l->count);
    } else {
        t->root = l;
    }
    t->leaves++;
}

zbtree *zbtBuild(const struct zsetItem *items, size_t count) {
    if (!count) return zbtCreate(0);
    struct zbtRun run = zbtMeasureRun(items, count);
    if (run.count == count && run.need + sizeof(zbtree) <= zbtLeafMaxSize(run.count)) {
        zbtree *t = zbtTreeNew(run.need, run.p, run.count, zbtBytesEach(run.count, run.bytes, run.p.width));
        zbtFillLeaf(t, t->first, items, run.count);
        return t;
    }
    zbtree *t = zmalloc(sizeof *t);
    *t = (zbtree){.form = ZBT_PLAIN};
    const struct zsetItem *all = items;
    for (; count; run = zbtMeasureRun(items, count)) {
        zbtAddFilledLeaf(t, items, &run);
        items += run.count;
        count -= run.count;
    }
    return t->leaves > ZBT_MAP_LEAVES ? zbtMakeMap(t, 0, all) : t;
}

/* ---- Copying, freeing ---- */

static void zbtFreeInner(void *node, int level) {
    struct zbtInner *n = node;
    if (level == 0) return;
    for (unsigned i = 0; i < n->count; i++) zbtFreeInner(zbtChildren(n)[i], level - 1);
    zfreeSized(n, zbtInnerSize(n->cap));
}

void zbtFree(zbtree *t) {
    zbtFreeInner(t->root, t->height);
    for (struct zbtLeaf *l = t->first, *next; l; l = next) {
        next = l->next;
        zbtFreeBigs(t, l, 0, l->count);
        if (t->form != ZBT_ONE_LEAF) zbtLeafFree(l);
    }
    if (t->form == ZBT_MAPPED) zbtMapFree(zbtMapOf(t));
    zbtTreeFreeHeader(t);
}

static void zbtCopyBigs(struct zbtLeaf *l) {
    for (unsigned i = 0; i < l->count; i++) {
        struct zbtBig *big = zbtBigAt(l, i), *copy;
        if (!big) continue;
        copy = zmalloc(sizeof *big + big->len);
        memcpy(copy, big, sizeof *big + big->len);
        memcpy(zbtBytes(l, zbtSlot(l, i)) + 1, &copy, sizeof copy);
    }
}

/* Copies the node and everything below it; leaves are linked to those copied before. */
static void *zbtCopyNode(zbtree *t, const void *node, int level, struct zbtInner *parent) {
    if (level == 0) {
        const struct zbtLeaf *l = node;
        struct zbtLeaf *copy = zmalloc(l->size);
        memcpy(copy, l, l->size);
        copy->parent = parent;
        zbtLinkBetween(t, t->last, copy, NULL);
        if (t->bigs) zbtCopyBigs(copy);
        if (t->form == ZBT_MAPPED) zbtMapOf(t)->leaves[copy->id] = copy;
        return copy;
    }
    const struct zbtInner *n = node;
    struct zbtInner *copy = zmalloc(zbtInnerSize(n->cap));
    memcpy(copy, n, zbtInnerSize(n->cap));
    copy->parent = parent;
    for (unsigned i = 0; i < n->count; i++)
        zbtChildren(copy)[i] = zbtCopyNode(t, zbtChildren(n)[i], level - 1, copy);
    return copy;
}

zbtree *zbtCopy(const zbtree *t) {
    if (t->form == ZBT_ONE_LEAF) {
        zbtree *copy = zmalloc(sizeof *t + t->first->size);
        memcpy(copy, t, sizeof *t + t->first->size);
        copy->root = copy->first = copy->last = (struct zbtLeaf *)(copy + 1);
        if (t->bigs) zbtCopyBigs(copy->first);
        return copy;
    }
    zbtree *copy = zmalloc(sizeof *t + (t->form == ZBT_MAPPED ? sizeof(struct zbtMap) : 0));
    *copy = *t;
    copy->walked = false;
    copy->stale = 0;
    copy->first = copy->last = NULL;
    if (t->form == ZBT_MAPPED) zbtMapCopy(zbtMapOf(copy), zbtMapOf(t));
    copy->root = zbtCopyNode(copy, t->root, t->height, NULL);
    return copy;
}

uint64_t zbtLength(const zbtree *t) {
    return t->length;
}

bool zbtHasRests(const zbtree *t) {
    return t->rests;
}

static size_t zbtInnerMemory(const void *node, int level) {
    const struct zbtInner *n = node;
    if (level == 0) return 0;
    size_t sum = zmallocSize(n);
    for (unsigned i = 0; i < n->count && level > 1; i++) sum += zbtInnerMemory(zbtChildren(n)[i], level - 1);
    return sum;
}

size_t zbtMemory(const zbtree *t, size_t samples) {
    size_t seen = 0, bytes = 0;
    if (samples == 0 || samples > t->leaves) samples = t->leaves;
    for (const struct zbtLeaf *l = t->first; l && seen < samples; l = l->next, seen++) {
        bytes += l->size;
        for (unsigned i = 0; t->bigs && i < l->count; i++)
            if (zbtBigAt(l, i)) bytes += zmallocSize(zbtBigAt(l, i));
    }
    bytes = (size_t)((double)bytes / (double)seen * (double)t->leaves);
    if (t->form == ZBT_ONE_LEAF) return sizeof *t + bytes;
    bytes += zmallocSize(t) + zbtInnerMemory(t->root, t->height);
    return t->form == ZBT_MAPPED ? bytes + zbtMapMemory(zbtMapOf(t)) : bytes;
}

size_t zbtAllocations(const zbtree *t) {
    return 1 + t->bigs + (t->form == ZBT_ONE_LEAF ? 0 : t->leaves + t->leaves / (ZBT_INNER_MAX / 2) + 2);
}

/* ---- Searching ---- */

bool zbtAtRank(const zbtree *t, uint64_t rank, struct zbtPos *p) {
    if (rank >= t->length) return false;
    if (rank == 0) {
        *p = (struct zbtPos){t->first, 0};
        return true;
    }
    if (rank + 1 == t->length) {
        *p = (struct zbtPos){t->last, t->last->count - 1u};
        return true;
    }
    const void *node = t->root;
    for (int level = t->height; level > 0; level--) {
        const struct zbtInner *n = node;
        unsigned i = 0;
        for (; rank >= n->counts[i]; i++) rank -= n->counts[i];
        node = zbtChildren(n)[i];
    }
    *p = (struct zbtPos){(struct zbtLeaf *)node, (unsigned)rank};
    return true;
}

uint64_t zbtRank(const zbtree *t, struct zbtPos p) {
    (void)t;
    return zbtRankOfLeaf(p.leaf) + p.slot;
}

/* Finds the first element that is not left of the target, or the one before it. */
static inline bool zbtSeekPos(const zbtree *t, const struct zbtTarget *target, bool before, struct zbtPos *p,
                              uint64_t *rank) {
    if (!t->length) return false;
    *p = zbtSeek(t, target, rank);
    *rank += p->slot;
    if (before) {
        --*rank;
        return zbtStep(p, true);
    }
    if (p->slot < p->leaf->count) return true;
    *p = (struct zbtPos){p->leaf->next, 0};
    return p->leaf != NULL;
}

/* Returns the position of the first element in the range, or behind the last one. */
static struct zbtTarget zbtEndOfRange(const struct zscoreRange *r, bool last) {
    if (last) return (struct zbtTarget){r->max, ZBT_TIES_BY_MEMBER, false, STR(""), r->maxrest + !r->maxex};
    return (struct zbtTarget){r->min, ZBT_TIES_BY_MEMBER, false, STR(""), r->minrest + r->minex};
}

/* As zbtSeekScore, when scores or bounds have rests. */
static __attribute__((noinline)) bool zbtSeekExactScore(const zbtree *t, const struct zscoreRange *r,
                                                        bool last, struct zbtPos *p, uint64_t *rank) {
    struct zbtTarget target = zbtEndOfRange(r, last);
    if (!zbtSeekPos(t, &target, last, p, rank)) return false;
    return last ? zscoreGteMin(zbtScore(*p), r) : zscoreLteMax(zbtScore(*p), r);
}

bool zbtSeekScore(const zbtree *t, const struct zscoreRange *r, bool last, struct zbtPos *p, uint64_t *rank) {
    if (zscoreRangeEmpty(r) || !t->length) return false;
    if (unlikely(t->rests) || zscoreRangeHasRests(r)) return zbtSeekExactScore(t, r, last, p, rank);
    struct zbtPos at =
        last ? zbtSeekScoreEnd(t, r->max, !r->maxex, rank) : zbtSeekScoreEnd(t, r->min, r->minex, rank);
    *rank += at.slot;
    *rank -= last;
    if (last) {
        if (unlikely(at.slot == 0)) {
            at.leaf = at.leaf->prev;
            at.slot = at.leaf ? at.leaf->count : 0;
        }
        at.slot--;
    } else if (unlikely(at.slot == at.leaf->count)) {
        at = (struct zbtPos){at.leaf->next, 0};
    }
    *p = at;
    return at.leaf && (last ? zscoreGteMin(zbtScore(at), r) : zscoreLteMax(zbtScore(at), r));
}

bool zbtSeekScoreFrom(struct zbtPos *p, const struct zscoreRange *r, bool last) {
    const struct zbtLeaf *l = p->leaf;
    unsigned end = last ? l->count - 1u : 0;
    struct zscore edge = zbtScore((struct zbtPos){p->leaf, end});
    if (last ? zscoreLteMax(edge, r) : zscoreGteMin(edge, r)) {
        p->slot = end;
        return last ? !l->next : !l->prev;
    }
    if (unlikely(l->width == ZBT_WIDTH_EXACT) || zscoreRangeHasRests(r)) {
        struct zbtTarget target = zbtEndOfRange(r, last);
        p->slot = zbtLeafSearch(l, &target) - last;
        return true;
    }
    p->slot = last ? zbtLeafSearchScore(l, r->max, !r->maxex) - 1 : zbtLeafSearchScore(l, r->min, r->minex);
    return true;
}

bool zbtSeekLex(const zbtree *t, const struct zlexRange *r, bool last, struct zbtPos *p, uint64_t *rank) {
    const struct zlexBound *bound = last ? &r->max : &r->min;
    if (!t->length || zlexRangeEmpty(r)) return false;
    if (bound->kind == ZLEX_VALUE) {
        struct zbtTarget target = {0, ZBT_BY_MEMBER, last != bound->exclusive, bound->value, 0};
        if (!zbtSeekPos(t, &target, last, p, rank)) return false;
    } else {
        *rank = last ? t->length - 1 : 0;
        zbtAtRank(t, *rank, p);
    }
    return last ? zlexGteMin(zbtMember(*p), r) : zlexLteMax(zbtMember(*p), r);
}

/* ---- Changing ---- */

zbtree *zbtInsert(zbtree *t, struct zscore score, struct str member, uint64_t hash) {
    serverAssert(score.value == score.value); /* not NaN */
    struct zbtItem it = zbtItemOf(t, score, member, hash);
    return zbtInsertItem(t, &it, hash);
}

zbtree *zbtAppend(zbtree *t, struct zscore score, struct str member) {
    return zbtInsert(t, score, member, hashBytes(member.ptr, member.len));
}

zbtree *zbtPrepend(zbtree *t, struct zscore score, struct str member, uint64_t hash) {
    serverAssert(score.value == score.value); /* not NaN */
    struct zbtItem it = zbtItemOf(t, score, member, hash);
    zbtAddCounts(t->first, 1);
    struct zbtLeaf *l = zbtPutAt(&t, t->first, 0, &it);
    return l ? zbtCountInserted(t, l, hash) : zbtInsertItem(t, &it, hash);
}

/* Returns whether the element at `slot` is on the correct side of a score and member that will be before
 * it or (behind) after it. */
static inline bool zbtStaysBeside(const struct zbtLeaf *l, unsigned slot, struct zscore score,
                                  struct zbtPos p, bool behind) {
    double beside = zbtValueAt(l, slot);
    if (likely(beside != score.value)) return behind ? beside > score.value : beside < score.value;
    int rest = zbtRestIn(zbtSlot(l, slot), l->width);
    if (unlikely(rest != score.rest)) return behind ? rest > score.rest : rest < score.rest;
    int cmp = strCmp(zbtMember((struct zbtPos){p.leaf, slot}), zbtMember(p));
    return behind ? cmp > 0 : cmp < 0;
}

/* Sets a new score that keeps the element between its neighbours in the leaf. Only the neighbour in the
 * direction of the change can be passed. */
static inline bool zbtRescoreInSlot(struct zbtPos p, struct zscore score) {
    const struct zbtLeaf *l = p.leaf;
    if (!zbtLeafFits(l, score.value, score.rest)) return false;
    if (zscoreCompare(score, zbtScore(p)) >= 0) {
        if (p.slot + 1u < l->count ? !zbtStaysBeside(l, p.slot + 1, score, p, true) : l->next != NULL)
            return false;
    } else if (p.slot ? !zbtStaysBeside(l, p.slot - 1, score, p, false) : l->prev != NULL) {
        return false;
    }
    zbtLeafPutScore(p.leaf, p.slot, score);
    return true;
}

/* Sets a new score that keeps the element in its leaf. Returns false if it leaves the leaf, or if that
 * would need the neighbour leaf's elements, or a leaf that is too large. */
static bool zbtRescoreInLeaf(zbtree **tp, struct zbtPos p, const struct zbtItem *it) {
    struct zbtLeaf *l = p.leaf;
    if (l->prev && it->score <= zbtValueAt(l, 0)) return false;
    if (l->next && it->score >= zbtValueAt(l, l->count - 1u)) return false;
    bool fits = zbtLeafFits(l, it->score, it->rest);
    if (!fits && !zbtMakeFit(tp, &l, l->count, it, true)) return false;
    struct zbtTarget target = {it->score, ZBT_TIES_BY_MEMBER, false, zbtMember((struct zbtPos){l, p.slot}),
                               it->rest};
    unsigned to = zbtLeafSearch(l, &target);
    if (to > p.slot) to--;
    zbtLeafRescore(l, p.slot, to, (struct zscore){it->score, it->rest});
    return true;
}

/* Sets a new score that moves the element to another leaf, unless one leaf has to be split or the other one
 * joined or shrunk: then the map's entry only gets another number. */
static bool zbtMoveToLeaf(zbtree *t, struct zbtPos p, const struct zbtItem *it, uint64_t hash) {
    struct zbtTarget target = {it->score, ZBT_TIES_BY_MEMBER, false, it->member, it->rest};
    struct zbtLeaf *from = p.leaf;
    uint64_t before;
    if (from->count < 2 || zbtLeafLive(from) * 8 < (size_t)from->size * 5) return false;
    struct zbtPos place = zbtSeek(t, &target, &before);
    struct zbtLeaf *to = place.leaf;
    if (to == from || to->table != from->table) return false;
    zbtWillChange(t, to);
    if (!zbtLeafHasRoom(to, it) && !zbtMakeFit(&t, &to, place.slot, it, false)) return false;
    zbtLeafPut(to, place.slot, it);
    zbtLeafDrop(from, p.slot, p.slot + 1);
    zbtMoveCount(from, to);
    if (t->form == ZBT_MAPPED) {
        zbtMapRename(zbtMapOf(t), from, to, hash);
        zbtMapGrew(t, hash);
    }
    return true;
}

static __attribute__((noinline)) zbtree *zbtMoveElement(zbtree *t, struct zbtPos p, struct zscore score,
                                                        uint64_t hash) {
    char bytes[ZBT_INLINE_MAX];
    struct zbtItem it = {score.value, zbtMember(p), zbtBigAt(p.leaf, p.slot), zbtFp(hash),
                         (int16_t)score.rest};
    if (zbtRescoreInLeaf(&t, p, &it) || zbtMoveToLeaf(t, p, &it, hash)) return t;
    if (!it.big) {
        if (it.member.len) memcpy(bytes, it.member.ptr, it.member.len);
        it.member.ptr = bytes;
    }
    if (t->form == ZBT_MAPPED) zbtMapRemove(zbtMapOf(t), p.leaf, hash);
    return zbtInsertItem(zbtRemoveRun(t, p.leaf, p.slot, p.slot + 1), &it, hash);
}

zbtree *zbtUpdate(zbtree *t, struct zbtPos p, struct zscore score, uint64_t hash) {
    debugAssert(p.slot < p.leaf->count);
    serverAssert(score.value == score.value); /* not NaN */
    if (unlikely(score.rest)) t->rests = true;
    zbtWillChange(t, p.leaf);
    return zbtRescoreInSlot(p, score) ? t : zbtMoveElement(t, p, score, hash);
}

zbtree *zbtErase(zbtree *t, struct zbtPos p, uint64_t hash) {
    debugAssert(p.slot < p.leaf->count);
    zbtWillChange(t, p.leaf);
    if (t->form == ZBT_MAPPED) zbtMapRemove(zbtMapOf(t), p.leaf, hash);
    zbtFreeBigs(t, p.leaf, p.slot, p.slot + 1);
    return zbtRemoveRun(t, p.leaf, p.slot, p.slot + 1);
}

/* Whether to make a new map of what remains instead of removing entries from the present one. */
static bool zbtWantsNewMap(const zbtree *t, uint64_t count) {
    return t->form == ZBT_MAPPED && count > t->length / 2 && !t->walked &&
           hashtableResizePolicy() == HASHTABLE_RESIZE_ALLOW;
}

zbtree *zbtEraseRange(zbtree *t, uint64_t rank, uint64_t count) {
    struct zbtPos p;
    bool new_map = zbtWantsNewMap(t, count);
    if (new_map) t = zbtDropMap(t);
    while (count && zbtAtRank(t, rank, &p)) {
        unsigned n = p.leaf->count - p.slot;
        if (n > count) n = (unsigned)count;
        zbtWillChange(t, p.leaf);
        if (t->form == ZBT_MAPPED) zbtMapRemoveRun(zbtMapOf(t), p.leaf, p.slot, p.slot + n);
        zbtFreeBigs(t, p.leaf, p.slot, p.slot + n);
        t = zbtRemoveRun(t, p.leaf, p.slot, p.slot + n);
        count -= n;
    }
    return new_map && t->leaves > 1 ? zbtMakeMap(t, 0, NULL) : t;
}

uint64_t zbtScan(const zbtree *t, uint64_t cursor, zbtScanFn fn, void *priv) {
    if (t->form == ZBT_MAPPED) return zbtMapScan(zbtMapOf(t), cursor, fn, priv);
    struct zbtPos p;
    for (bool more = zbtAtRank(t, 0, &p); more; more = zbtStep(&p, false))
        fn(priv, zbtMember(p), zbtScore(p));
    return 0;
}

/* ---- Prefetching ---- */

/* Prefetches the first element; the last one is found after the header has been fetched. */
bool zbtPrefetchEnd(const zbtree *t, bool tail, int step) {
    const struct zbtLeaf *l = tail ? t->last : t->first;
    if (step == 1) {
        zbtPrefetchHeader(l);
        zbtPrefetchLine((const char *)l + ZBT_LEAF_USUAL - (t->form == ZBT_ONE_LEAF ? sizeof *t : 0) - 16);
        return tail;
    }
    zbtPrefetchLine(zbtSlot(l, l->count ? l->count - 1u : 0));
    zbtPrefetchLine((const char *)l + l->size - l->heap);
    return false;
}

bool zbtPrefetchLeaf(const zbtree *t, uint64_t hash, int step, const void **at) {
    const struct zbtLeaf *l = t->first;
    if (likely(t->form == ZBT_MAPPED)) {
        if (step == 1) {
            zbtMapPrefetch(zbtMapOf(t), hash);
            return true;
        }
        l = zbtMapPeek(zbtMapOf(t), hash);
        if (!l) return false;
    }
    zbtPrefetchHeader(l);
    *at = l;
    return true;
}
