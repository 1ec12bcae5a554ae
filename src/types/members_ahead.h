/* SPDX-License-Identifier: BSD-3-Clause */
/* members_ahead.h - for commands that name many members: their places in the table are fetched ahead.
 *
 * The round fetches what the first member of a command needs. Those behind it would each wait for a bucket,
 * and then for the entry in it. So the loop over them asks for those that it will come to:
 *
 *     argv:  | i | ... | i + 4: entry | ... | i + 8: bucket | ...        (times the step, for pairs)
 *
 * A prefetch is only a wish: nothing is wrong when members come twice, or the table is resized on the way. */
#pragma once

#include "ds/hashtable.h"

#define BUCKETS_AHEAD 8 /* a power of two */

struct membersAhead {
    const struct str *argv; /* the first member, then one each `step`, `count` in all */
    int step, count;
    int at, bucket;                 /* the member that is next to be worked on; to have its bucket fetched */
    uint64_t hashes[BUCKETS_AHEAD]; /* of those between the two */
};

static inline struct membersAhead membersAhead(const struct str *argv, int step, int count) {
    struct membersAhead m;
    m.argv = argv;
    m.step = step;
    m.count = count > 1 ? count : 0; /* one alone has been fetched by the round */
    m.at = m.bucket = 0;
    return m;
}

void membersAheadFetchNext(struct membersAhead *m, const hashtable *table);

/* Before each member is worked on. `table`: where they are looked for now; NULL: in none. */
static inline void membersAheadFetch(struct membersAhead *m, const hashtable *table) {
    if (m->count && table) membersAheadFetchNext(m, table);
}
