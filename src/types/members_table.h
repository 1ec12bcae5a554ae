/* SPDX-License-Identifier: BSD-3-Clause */
/* members_table.h - hooks of struct objectType that sets and hashes share: their values are hash
 * tables of members. */
#pragma once

#include "data/type.h"
#include "ds/hashtable.h"

/* Estimates the bytes of the entries from the mean of `samples` of them (0: all). */
static inline size_t membersTableMemory(hashtable *ht, size_t samples,
                                        size_t (*entryMemory)(const void *entry)) {
    size_t seen = 0, bytes = 0;
    struct hashtableIterator it;
    void *entry;
    hashtableInitIterator(&it, ht, true);
    while ((!samples || seen < samples) && hashtableNext(&it, &entry)) {
        bytes += entryMemory(entry);
        seen++;
    }
    hashtableStopIterator(&it);
    return seen ? (size_t)((double)bytes / (double)seen * (double)hashtableSize(ht)) : 0;
}

/* Does the steps of a prefetch after step 0, which has fetched the head of the table. */
static inline bool membersTablePrefetch(const hashtable *ht, uint64_t member_hash, int step) {
    if (step == 1) {
        hashtablePrefetchBucket(ht, member_hash);
        return true;
    }
    const void *entry = hashtablePeek(ht, member_hash);
    if (entry) __builtin_prefetch(entry);
    return false;
}
