/* SPDX-License-Identifier: BSD-3-Clause */
/* hash_defrag.c - part of hash.h: defragmentation of hashes, of large ones bucket by bucket.
 *
 * An entry with an expiry is in the hash's heap, too, and a hash with such entries is in its database's heap.
 * Both know their positions there. */
#include "types/defrag_hooks.h"
#include "types/hash/hash_private.h"
#include "types/types.h"

static void hashDefragMoveEntry(void *priv, void *entry) {
    const struct hash *h = priv;
    struct hashEntry *now = hashEntryMove(entry, defragMove, NULL);
    if (now == entry) return;
    hashtableReplaceEntry(h->ptr, entry, now, hashtableHash(h->ptr, hashEntryField(now)));
    if (hashEntryExpire(now) == HASH_NO_EXPIRE) return;
    hashHeapReplace(&hashExpiring(h)->due, hashEntryHeapPos(now), now);
}

uint64_t hashDefragFields(struct hash *h, uint64_t cursor) {
    return hashtableScan(h->ptr, cursor, hashDefragMoveEntry, h);
}

void hashDefragContainer(struct hash *h) {
    defragPointer(&h->ptr);
    if (h->encoding >= HASH_TABLE) hashtableMoveArrays(h->ptr, defragMove, NULL);
}

/* Updates what points to the container, which has moved. */
static void hashDefragTracked(struct db *db, struct hashTracked *t) {
    if (!t->key) return;
    sds key = sdsMove(t->key, defragMove, NULL);
    if (key) t->key = key;
    hashHeapReplace(db->keyspace.kept[OBJ_HASH], t->pos, t);
}

static void hashDefragMoveContainer(struct db *db, struct object *o) {
    struct hash h;
    hashOpen(&h, o);
    hashDefragContainer(&h);
    objectSetPtr(o, h.encoding, h.ptr);
    if (h.encoding == HASH_TIMED) defragPointer(&hashTimed(&h)->lp);
    if (h.encoding == HASH_EXPIRING) defragPointer(&hashExpiring(&h)->due.slot);
    if (hashEncodingExpires(h.encoding)) hashDefragTracked(db, hashTrackedOf(&h));
}

bool hashDefrag(struct db *db, struct object *o, struct defragCursor *at) {
    if (at->at[0] == 0) hashDefragMoveContainer(db, o);
    if (o->encoding < HASH_TABLE) return false;
    struct hash h;
    hashOpen(&h, o);
    at->at[0] = hashDefragFields(&h, at->at[0]);
    return at->at[0] != 0;
}
