/* SPDX-License-Identifier: BSD-3-Clause */
/* keyspace_info.c - INFO keyspace: how many keys each database has, of those that have any. */
#include "data/keyspace_info.h"

#include "data/db.h"
#include "registry/info.h"

static sds infoKeyspace(sds s) {
    for (int i = 0; i < dbCount(); i++) {
        const struct db *db = dbGet(i);
        if (dbSize(db) == 0) continue;
        s = infoField(s, "db%d:keys=%zu,expires=%zu,avg_ttl=%lld,keys_with_volatile_items=%zu", i, dbSize(db),
                      dbExpiresSize(db), (long long)dbAvgTtlMs(db), dbVolatileCount(db, false));
    }
    return s;
}

void keyspaceInfoInit(void) {
    infoRegister("keyspace", infoKeyspace);
}
