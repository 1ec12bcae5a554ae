/* SPDX-License-Identifier: BSD-3-Clause */
/* zset_private.h - what the files zset*.c share: decisions of zset.c, and large sorted sets saved in parts
 * while clients change them (data/forkless/large_value.h). */
#pragma once

#include "base/num.h"
#include "data/forkless/large_value.h"
#include "data/rdb/rewrite.h"
#include "types/zset/zset.h"

/* Maximum of the bytes that a score and the headers take in a listpack. */
#define ZSET_LISTPACK_SCORE (LP_INTBUF_SIZE + DOUBLE_STR_SIZE)
bool zsetFitsListpack(size_t entries, size_t longest);
/* Returns the encoding for this many elements of at most this length. */
const struct zsetIndex *zsetIndexFor(size_t entries, size_t longest);
/* The encoding of sets that are no listpacks: ZSET_SKIPLIST or ZSET_BTREE. */
int zsetLargeEncoding(void);
/* Returns what adding does to a member that has the score `present`; *score becomes its new one. */
enum zsetAdded zsetDecide(struct zscore present, struct zscore *score, int flags);

/* The lowest bit of a cursor, a fraction of a position, says from which index it is. */
#define ZSET_CURSOR_TREE 1

/* Writes an element in the form of zset_rdb.c; as_text: for a set whose scores may have rests. The thread of
 * a snapshot calls it, too. */
void zsetRdbWriteElement(struct rioWriter *w, struct str member, struct zscore score, bool as_text);
void zsetRdbRewriteElement(struct rewriteItems *items, struct str member, struct zscore score);

/* Returns how this value is saved in parts, or NULL: a listpack is saved as a whole. */
const struct valueParts *zsetParts(const struct object *o);
/* Called before an element of a skiplist with this hash is added, removed or changed: saves it. */
void zsetPartsSave(struct largeValue *v, uint64_t hash);

/* ---- Another index for a large set (zset_converting.c) ---- */
/* Returns the set while it gets this index: all elements are in `from`, which it owns, and more and more in
 * the new one, too. O(1). */
struct zsetRef zsetConvertingBegin(struct zsetRef from, const struct zsetIndex *index);
/* Copies up to so many elements to the new index, and returns how many: if fewer, it has all. */
size_t zsetConvertingStep(struct zsetRef z, size_t count);
/* Ends it and returns the set with its old index or with the new one, which must have all elements then; the
 * other one is *dropped, and has to be freed. O(1). */
struct zsetRef zsetConvertingEnd(struct zsetRef z, bool keep_old, struct zsetRef *dropped);
struct zsetRef zsetConvertingOld(struct zsetRef z); /* the set itself when it is not being converted */

/* ---- Another index for all large sets (zset_conversion.c) ---- */
bool zsetConversionRequest(const char **err); /* called when zset-index has changed */
/* How a set that is being converted is saved in parts: the conversion of this set is given up. */
extern const struct valueParts zsetConvertingParts;
void zsetConversionInit(void); /* directive, INFO fields, cron */
