/* SPDX-License-Identifier: BSD-3-Clause */
/* zset_bulk.c - adds many members to a new or small sorted set with one command.
 *
 *     items:  | elements of the set ..  | new members ..  |     in the order in which they came
 *     slots:  | - | hash, number | - | hash, number | ..        open addressing: finds an item by its member
 *
 * One by one, each member would search a listpack and move half of it. Instead everything is decided on the
 * items, in the order of the arguments and as zsetAdd decides it; then they are sorted once, and a set is
 * built of them.
 *
 * `small` says whether the set would still be a listpack: it becomes a large set with the same member, and a
 * score of -0 becomes 0, as if they were added one by one. */
#include "base/hash_function.h"
#include "base/zmalloc.h"
#include "types/zset/zset_commands.h"
#include "types/zset/zset_private.h"

/* Fewer members than this, or than this part of a set, are added one by one. */
#define BULK_MIN  4
#define BULK_PART 8

struct zsetBulkSlot {
    uint32_t hash, number; /* of the item, plus 1; 0: the slot is free */
};

struct zsetBulk {
    struct zsetItems items;
    struct zsetBulkSlot *slots;
    size_t mask, bytes; /* bytes: at most those of a listpack */
    bool small;
};

/* Returns the slot that has the member, or the free one for it. */
static struct zsetBulkSlot *zsetBulkFind(const struct zsetBulk *b, struct str member, uint64_t hash) {
    for (size_t i = hash & b->mask;; i = (i + 1) & b->mask) {
        struct zsetBulkSlot *s = &b->slots[i];
        if (!s->number || (s->hash == (uint32_t)hash && strEq(b->items.item[s->number - 1].member, member)))
            return s;
    }
}

static struct zscore zsetBulkStored(const struct zsetBulk *b, struct zscore score) {
    if (b->small) score.value += 0.0; /* a listpack has no -0 */
    return score;
}

static enum zsetAdded zsetBulkAdd(struct zsetBulk *b, struct str member, struct zscore score, int flags) {
    uint64_t hash = hashBytes(member.ptr, member.len);
    struct zsetBulkSlot *s = zsetBulkFind(b, member, hash);
    if (s->number) {
        struct zsetItem *item = &b->items.item[s->number - 1];
        enum zsetAdded done = zsetDecide(item->score, &score, flags);
        if (done == ZADD_UPDATED) item->score = zsetBulkStored(b, score);
        return done;
    }
    if (flags & ZADD_XX) return ZADD_NOP;
    b->bytes += member.len + ZSET_LISTPACK_SCORE;
    b->small =
        b->small && zsetFitsListpack(b->items.count + 1, member.len) && b->bytes <= LISTPACK_MAX_SAFETY_LIMIT;
    zsetItemsAdd(&b->items, member, zsetBulkStored(b, score), false)->hash = hash;
    *s = (struct zsetBulkSlot){(uint32_t)hash, (uint32_t)b->items.count};
    return ZADD_ADDED;
}

static void zsetBulkBegin(struct zsetBulk *b, struct zsetRef z, size_t count) {
    size_t most = count + (z.ptr ? zsetLength(z) : 0), slots = 16;
    while (slots < 2 * most) slots *= 2;
    *b = (struct zsetBulk){.slots = zcalloc(slots, sizeof *b->slots), .mask = slots - 1};
    b->small = z.index == &zsetListpack;
    zsetItemsInit(&b->items, most);
    if (!z.ptr) return;
    b->bytes = lpBytes(z.ptr);
    struct zsetIterator it = zsetIterate(z, 0);
    struct zsetElement e;
    while (zsetNext(&it, &e)) {
        struct zsetItem *item = zsetItemsAddElement(&b->items, &e);
        item->hash = hashBytes(item->member.ptr, item->member.len);
        *zsetBulkFind(b, item->member, item->hash) =
            (struct zsetBulkSlot){(uint32_t)item->hash, (uint32_t)b->items.count};
    }
}

/* Replaces the set by one of the items. */
static void zsetBulkBuild(struct zsetBulk *b, struct zsetRef *z) {
    void *old = z->ptr;
    if (!b->small && z->index == &zsetListpack) z->index = zsetIndexFor(SIZE_MAX, 0);
    zsetItemsSort(&b->items);
    z->ptr = z->index->build(b->items.item, b->items.count);
    if (old) zsetListpack.destroy(old);
}

bool zsetAddsInBulk(struct zsetRef z, size_t count) {
    if (count < BULK_MIN || (z.ptr && z.index != &zsetListpack)) return false;
    return !z.ptr || zsetLength(z) / BULK_PART <= count;
}

struct zsetAddedCounts zsetAddMany(struct zsetRef *z, const struct str *argv, const struct zscore *scores,
                                   size_t count, int flags) {
    struct zsetAddedCounts counts = {0};
    struct zsetBulk b;
    debugAssert(zsetAddsInBulk(*z, count) && !(flags & ZADD_INCR));
    zsetBulkBegin(&b, *z, count);
    for (size_t i = 0; i < count; i++) {
        enum zsetAdded done = zsetBulkAdd(&b, argv[2 * i], scores[i], flags);
        counts.added += done == ZADD_ADDED;
        counts.updated += done == ZADD_UPDATED;
    }
    if (counts.added + counts.updated) zsetBulkBuild(&b, z);
    zsetItemsFree(&b.items);
    zfree(b.slots);
    return counts;
}
