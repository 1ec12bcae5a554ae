/* SPDX-License-Identifier: BSD-3-Clause */
/* members_ahead.c - see members_ahead.h. */
#include "types/members_ahead.h"

#include "base/hash.h"

#define ENTRIES_AHEAD 4

void membersAheadFetchNext(struct membersAhead *m, const hashtable *table) {
    for (; m->bucket < m->count && m->bucket < m->at + BUCKETS_AHEAD; m->bucket++) {
        struct str member = m->argv[m->bucket * m->step];
        uint64_t hash = hashBytes(member.ptr, member.len);
        hashtablePrefetchBucket(table, hash);
        m->hashes[m->bucket % BUCKETS_AHEAD] = hash;
    }
    if (m->at + ENTRIES_AHEAD < m->bucket)
        __builtin_prefetch(hashtablePeek(table, m->hashes[(m->at + ENTRIES_AHEAD) % BUCKETS_AHEAD]));
    m->at++;
}
