/* SPDX-License-Identifier: BSD-3-Clause */
/* zset_commands.h - what the files of the sorted set commands share. */
#pragma once

#include <stdbool.h>

#include "client/client.h"
#include "data/keyspace/db.h"
#include "types/zset/zset.h"

/* ---- Arguments to ranges (zset_range.c). They set what the range is by, and reply errors. ---- */
bool zsetParseScoreRange(struct client *c, struct str min, struct str max, struct zsetRange *r);
bool zsetParseLexRange(struct client *c, struct str min, struct str max, struct zsetRange *r);
bool zsetParseRankRange(struct client *c, struct str start, struct str stop, struct zsetRange *r);

/* ---- After a change (zset_commands.c) ---- */
/* Removes a slice, reports that and counts it as a change. A set that becomes empty is deleted with its key,
 * at once when the slice is all of it. */
void zsetRemoveSlice(struct client *c, struct str key, struct object *o, const struct zsetSlice *s,
                     const char *event);
/* Puts the result of a STORE command at the key, in place of what was there, and replies its size. An empty
 * result deletes the key. Owns z. */
void zsetStoreResult(struct client *c, struct str key, struct zsetRef z, const char *event, uint64_t changes);

/* ---- Adding many members to a new or small set (zset_bulk.c) ---- */
/* Whether this many members suit it. z.ptr NULL: the set is new, and gets the encoding z.index. */
bool zsetAddsInBulk(struct zsetRef z, size_t count);
struct zsetAddedCounts {
    uint64_t added, updated;
};
/* Adds the members argv[0], argv[2] .. as zsetAdd would, one after the other. */
struct zsetAddedCounts zsetAddMany(struct zsetRef *z, const struct str *argv, const struct zscore *scores,
                                   size_t count, int flags);

/* ---- Collecting elements (zset_items.c) ----
 *
 *     items:  | member, score | member, score | ...     views into the sets read, or into copies made here
 *     text:   chunk -> chunk                             (integers of a listpack) */
struct zsetItems {
    struct zsetItem *item;
    size_t count, capacity;
    struct zsetChunk *chunks;
};
void zsetItemsInit(struct zsetItems *items, size_t capacity);
void zsetItemsFree(struct zsetItems *items);
/* Adds an element; copies the member's bytes if `copy`. */
struct zsetItem *zsetItemsAdd(struct zsetItems *items, struct str member, struct zscore score, bool copy);
struct zsetItem *zsetItemsAddElement(struct zsetItems *items, const struct zsetElement *e);
void zsetItemsSort(struct zsetItems *items); /* by score and member; O(n) for one or two runs in order */
static inline struct zsetRef zsetItemsToSet(const struct zsetItems *items) { /* they must be in order */
    return zsetBuild(items->item, items->count);
}
/* Replies an array of all items. */
void zsetItemsReply(struct client *c, const struct zsetItems *items, bool withscores);
