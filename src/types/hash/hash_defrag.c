/* SPDX-License-Identifier: BSD-3-Clause */
/* hash_defrag.c - part of hash.h: defragmentation of hashes, of large ones bucket by bucket.
 *
 * An entry with an expiry is in the hash's heap, too, and a hash with such entries is in its database's heap.
 * Both know their positions there. */
#include "types/defrag_hooks.h"
#include "types/hash/hash_private.h"

static void hashDefragMoveEntry(void *priv, void *entry) {
    const struct object *o = priv;
    hashtable *ht = objectPtr(o);
    struct hashEntry *now = hashEntryMove(entry, defragMove, NULL);
    if (now == entry) return;
    hashtableReplaceEntry(ht, entry, now, hashtableHash(ht, hashEntryField(now)));
    if (hashEntryExpire(now) == HASH_NO_EXPIRE) return;
    struct expiringHash *e = objectPtr(o);
    hashHeapReplace(&e->due, hashEntryHeapPos(now), now);
}

/* Moves the container, and what belongs to it except entries. */
static void hashDefragMoveContainer(struct db *db, struct object *o) {
    defragContainer(o);
    if (o->encoding < HASH_TABLE) return;
    hashtableMoveArrays(objectPtr(o), defragMove, NULL);
    if (o->encoding != HASH_EXPIRING) return;
    struct expiringHash *e = objectPtr(o);
    defragPointer(&e->due.slot);
    if (!e->key) return;
    sds key = sdsMove(e->key, defragMove, NULL);
    if (key) e->key = key;
    hashHeapReplace(db->keyspace.inner, e->pos, e);
}

bool hashDefrag(struct db *db, struct object *o, struct defragCursor *at) {
    if (at->at[0] == 0) hashDefragMoveContainer(db, o);
    if (o->encoding < HASH_TABLE) return false;
    at->at[0] = hashtableScan(objectPtr(o), at->at[0], hashDefragMoveEntry, o);
    return at->at[0] != 0;
}
