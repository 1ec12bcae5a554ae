/* SPDX-License-Identifier: BSD-3-Clause */
/* keyspace_info.c - INFO keyspace: the number of keys of each database that has any. */
#include "data/keyspace/keyspace_info.h"

#include "data/keyspace/db.h"
#include "registry/info.h"

static sds keyspaceInfoKeyspace(sds s) {
    for (int i = 0; i < dbCount(); i++) {
        const struct db *db = dbGet(i);
        if (keyspaceShownSize(&db->keyspace) == 0) continue;
        s = infoField(s, "db%d:keys=%zu,expires=%zu,avg_ttl=%lld,keys_with_volatile_items=%zu", i,
                      keyspaceShownSize(&db->keyspace), keyspaceShownExpires(&db->keyspace),
                      (long long)db->keyspace.avg_ttl_ms, keyspaceVolatileCount(&db->keyspace, false));
    }
    return s;
}

void keyspaceInfoInit(void) {
    infoRegister("keyspace", keyspaceInfoKeyspace);
}
