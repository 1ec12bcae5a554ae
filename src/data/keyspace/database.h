/* SPDX-License-Identifier: BSD-3-Clause */
/* database.h - the struct of a database, and what is counted over all databases. db.h has the functions. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/read_phase.h"
#include "data/keyspace/keyspace.h"

struct db {
    int id;
    struct keyspace keyspace;
};

struct dbStats {
    uint64_t hits, misses, expired, expired_fields, expired_time_cap;
    uint64_t expired_actively, expired_fields_actively; /* by the jobs; included in the two above */
    double expired_stale_perc;
    uint64_t expire_cycle_us;
    uint64_t dirty; /* changes since the start; data/notify.c adds to it */
};
extern struct dbStats dbstats;

/* Counts a look-up for reading. */
static inline void dbCountLookup(bool found) {
    uint64_t *count = found ? &dbstats.hits : &dbstats.misses;
    if (__builtin_expect(read_context.reads, 0)) count = found ? &read_context.hits : &read_context.misses;
    ++*count;
}
