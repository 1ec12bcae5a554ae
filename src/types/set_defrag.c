/* SPDX-License-Identifier: BSD-3-Clause */
/* set_defrag.c - part of set.h: defragmentation of sets, a large one by homes of its table. */
#include "types/defrag_hooks.h"
#include "types/set.h"

static void moveMember(void *priv, void *entry) {
    hashtable *ht = priv;
    void *now = defragMove(NULL, entry);
    if (now) hashtableReplaceEntry(ht, entry, now, hashtableHash(ht, ht->type->entryKey(now)));
}

bool setDefrag(struct db *db, struct object *o, struct defragCursor *at) {
    (void)db;
    if (at->at[0] == 0) defragContainer(o);
    if (o->encoding != SET_HASHTABLE) return false;
    hashtable *ht = objectPtr(o);
    if (at->at[0] == 0) hashtableMoveArrays(ht, defragMove, NULL);
    at->at[0] = hashtableScan(ht, at->at[0], moveMember, ht);
    return at->at[0] != 0;
}
