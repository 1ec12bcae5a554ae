/* SPDX-License-Identifier: BSD-3-Clause */
/* zset_private.h - what the files zset*.c share: decisions of zset.c, and large sorted sets saved in parts
 * while clients change them (data/forkless/large_value.h). */
#pragma once

#include "base/num.h"
#include "data/forkless/large_value.h"
#include "types/zset/zset.h"

/* Maximum of the bytes that a score and the headers take in a listpack. */
#define ZSET_LISTPACK_SCORE (LP_INTBUF_SIZE + DOUBLE_STR_SIZE)
bool zsetFitsListpack(size_t entries, size_t longest);
/* Returns the encoding for this many elements of at most this length. */
const struct zsetIndex *zsetIndexFor(size_t entries, size_t longest);
/* Returns what adding does to a member that has the score `present`; *score becomes its new one. */
enum zsetAdded zsetDecide(double present, double *score, int flags);

/* Returns how this value is saved in parts, or NULL: a listpack is saved as a whole. */
const struct valueParts *zsetParts(const struct object *o);
/* Called before an element of a skiplist with this hash is added, removed or changed: saves it. */
void zsetPartsSave(struct largeValue *v, uint64_t hash);
