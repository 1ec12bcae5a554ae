/* SPDX-License-Identifier: BSD-3-Clause */
/* table_parts.h - saves the entries of one hash table in parts, while entries are added, removed and changed.
 * For values whose elements are in a table (large_value.h). On the main thread only; the snapshot's thread
 * may read the entries, but not the table.
 *
 * The positions of the table are divided into ranges of about one entry. They mean the same whatever size the
 * table takes meanwhile (hashtableVisit).
 *
 *     ranges    | saved | given to the thread | not visited ................................. |
 *                                             ^ frontier      x    x  x       x
 *                                                             x: saved before a change (a bit in `touched`)
 *
 * Invariant: in a range that is neither before the frontier nor touched, all entries are those of the start,
 * unchanged. The owner calls tablePartsBefore ahead of each change for that: it passes all entries of the
 * range, so an entry that is added to it is not passed later. Each entry of the start is passed exactly once,
 * or put into a batch for the thread, and no other one. The batch that has a range is taken back, or has been
 * read, before an entry of the range is changed (largeValueTakeBack).
 *
 * The bits are in chunks that are allocated when they are needed and freed when the frontier has passed them:
 * tablePartsBegin allocates 8 bytes for 32768 ranges. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "data/forkless/large_value.h"
#include "data/rdb/rio.h"
#include "ds/hashtable.h"

typedef size_t tablePartsBytesFn(const void *entry); /* returns how many bytes of data an entry has */
/* Whether a value of these entries is large. Looks at LARGE_VALUE_ELEMENTS entries at most. Reads only. */
bool tablePartsIsLarge(const struct hashtable *table, tablePartsBytesFn *entryBytes);

struct tableParts {
    const struct hashtable *table; /* changes with tablePartsMove */
    struct largeValue *value;      /* the owner of batches */
    unsigned level;                /* there are 2^level ranges */
    tablePartsBytesFn *entryBytes;
    unsigned step;     /* ranges that tablePartsNext visits, at most 64 */
    bool long_entries; /* a batch ends when its entries have enough bytes */
    uint64_t frontier; /* a range */
    uint64_t **touched;
};
/* Called with an entry that is saved now. It must not change the table. */
typedef void tablePartsFn(void *priv, void *entry);

/* Chooses the length of the value's first batches by the first few entries. */
void tablePartsBegin(struct tableParts *parts, const struct hashtable *table, struct largeValue *value,
                     tablePartsBytesFn *entryBytes);
void tablePartsEnd(struct tableParts *parts); /* frees the bits */
/* The table's struct is at another address now, with the same contents. */
static inline void tablePartsMove(struct tableParts *parts, const struct hashtable *table) {
    parts->table = table;
}
/* Passes the next entries to fn, prefetched: those of 64 ranges, or of as few that they have 16 KB at most,
 * or those of one range; fewer where entries were saved before a change or have left. False: those were the
 * last ones. Takes 1 to 3 us without fn. */
bool tablePartsNext(struct tableParts *parts, tablePartsFn *fn, void *priv);
/* Calls tablePartsNext until `w` has some 4 KB more, or the work of a slice is done. Returns what
 * tablePartsNext does. */
bool tablePartsSlice(struct tableParts *parts, const struct rioWriter *w, tablePartsFn *fn, void *priv);
/* Instead of tablePartsNext: puts the next entries into the batch, without reading them unless they are long.
 * What does not fit is passed to fn. Returns what tablePartsNext does. Takes 1 to 3 us. */
bool tablePartsGive(struct tableParts *parts, struct queueEntries *batch, tablePartsFn *fn, void *priv);
/* Called before an element with this hash is added, removed or changed. Passes the entries of its range
 * unless they have been passed or given; takes them back if they have been given. O(1). */
void tablePartsBefore(struct tableParts *parts, uint64_t hash, tablePartsFn *fn, void *priv);
