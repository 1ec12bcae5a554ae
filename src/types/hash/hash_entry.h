/* SPDX-License-Identifier: BSD-3-Clause */
/* hash_entry.h - a field and its value in one small allocation: the entries in the tables of large hashes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sds.h"
#include "base/str.h"

#define HASH_NO_EXPIRE (-1) /* a field that does not expire */
#define HASH_EMBED_MAX 254  /* longest value inside an entry; a longer one is an sds of its own */

struct hashEntry; /* opaque bytes */

/* A value to be stored: text to copy; or an sds `owned` of more than HASH_EMBED_MAX bytes to take over, with
 * text ignored; or, when `owned` is HASH_ELSEWHERE, text that belongs to somebody else, who keeps it as long
 * as the entry exists and may change it. */
struct hashInput {
    struct str text;
    sds owned;
};
#define HASH_ELSEWHERE ((sds)1)

struct str hashEntryField(const struct hashEntry *e);
struct str hashEntryValue(const struct hashEntry *e);
bool hashEntryIsElsewhere(const struct hashEntry *e);
int64_t hashEntryExpire(const struct hashEntry *e); /* ms, or HASH_NO_EXPIRE */
size_t hashEntryMemory(const struct hashEntry *e);  /* usable bytes, including those of a separate value */

/* The rule for the expiry of fields: whether this field is past its expiry. */
static inline bool hashTimeHasExpired(int64_t expire_ms, int64_t now_ms) {
    return expire_ms != HASH_NO_EXPIRE && expire_ms < now_ms;
}

struct hashEntry *hashEntryNew(struct str field, struct hashInput value);
struct hashEntry *hashEntryCopy(const struct hashEntry *e); /* the copy owns all its bytes */
void hashEntryFree(struct hashEntry *e);
/* These functions may move the entry: use the result, and update what points to it. */
struct hashEntry *hashEntrySetValue(struct hashEntry *e, struct hashInput value);
struct hashEntry *hashEntrySetExpire(struct hashEntry *e, int64_t expire_ms);

/* Offers the entry, and a separate value, to `move`. Returns the entry's address afterwards. */
struct hashEntry *hashEntryMove(struct hashEntry *e, zmoveFn *move, void *priv);

/* The position of an entry with an expiry in the heap of its hash. */
uint32_t hashEntryHeapPos(const struct hashEntry *e);
void hashEntrySetHeapPos(struct hashEntry *e, uint32_t pos);
