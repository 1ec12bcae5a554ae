/* SPDX-License-Identifier: BSD-3-Clause */
/* hash_commands.h - what the files of the hash commands share. */
#pragma once

#include "base/zmalloc.h"
#include "client/client.h"
#include "data/keyspace/db.h"
#include "data/notify.h"
#include "types/hash/hash.h"

/* A key that was looked up for a hash command: an open hash, or a new one to be filled when there was no
 * key. */
struct hashKey {
    struct client *c;
    struct str key;
    struct object *o; /* NULL: no such key */
    struct hash h;
};

/* Looks up the key in argv[1]. Returns false when it is no hash; the error has been replied. */
bool hashKeyRead(struct client *c, struct hashKey *k);
bool hashKeyWrite(struct client *c, struct hashKey *k);
/* Commits a change and reports it. `event` and `then` (either may be NULL) are events of the hash; "del" is
 * added when the hash became empty. `changes` are added to the dirty counter. */
void hashKeyChanged(struct hashKey *k, const char *event, const char *then, size_t changes);
/* Commits a change and sends `event`, but neither `then` nor "del". Returns false when the key is gone: the
 * caller then reports "del". */
bool hashKeyCommit(struct hashKey *k, const char *event, size_t changes);
/* Reports the fields that the event was about, every step-th of an array; after hashKeyChanged. */
static inline void hashReportFields(const struct hashKey *k, const char *event, const struct str *first,
                                    size_t count, size_t step) {
    if (__builtin_expect(notify_subkey_sink != NULL, 0))
        notify_subkey_sink(event, k->key, k->c->db->id, &(struct subkeys){first, count, step});
}
/* Removing up to `count` fields: room for their names when anybody wants them, else NULL; removing one, the
 * result is how many have been removed so far; reporting them, which frees the names. */
static inline struct str *hashRemovedFields(size_t count) {
    return notify_subkey_sink ? zmalloc(count * sizeof(struct str)) : NULL;
}
static inline size_t hashRemoveNamed(struct hashKey *k, struct str field, struct str *gone, size_t removed) {
    if (!hashRemove(&k->h, field)) return removed;
    if (gone) gone[removed] = field;
    return removed + 1;
}
void hashReportRemoved(struct hashKey *k, struct str *gone, size_t removed);
/* Replies a value, or null. */
void hashReplyField(struct client *c, const struct hash *h, struct str field);
/* Propagates the command `name key [middle...] fields...` in place of the running one. Does nothing when
 * count is 0. */
void hashPropagate(struct hashKey *k, struct str name, const struct str *middle, size_t middle_count,
                   const struct str *fields, size_t count);
