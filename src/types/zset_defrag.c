/* SPDX-License-Identifier: BSD-3-Clause */
/* zset_defrag.c - part of zset.h: defragmentation of sorted sets, whatever their encoding. */
#include "types/defrag_hooks.h"
#include "types/zset.h"

bool zsetDefrag(struct db *db, struct object *o, struct defragCursor *at) {
    (void)db;
    struct zsetRef z = zsetOpen(o);
    z.ptr = z.index->defrag(z.ptr, &at->at[0], defragMove, NULL);
    zsetCommit(o, z);
    return at->at[0] != 0;
}
