/* SPDX-License-Identifier: BSD-3-Clause */
/* hash_entry.h - a field and its value in one small allocation: what the tables of big hashes point to. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sds.h"
#include "base/str.h"

#define HASH_NO_EXPIRE (-1) /* a field that stays */
#define HASH_EMBED_MAX 254  /* longest value inside an entry; a longer one is an sds of its own */

struct hashEntry; /* opaque bytes */

/* A value to be stored: text to copy, or, when `owned` is set, an sds of more than HASH_EMBED_MAX bytes to
 * take over (then text is ignored); or, when that is HASH_ELSEWHERE, text that somebody else keeps for as
 * long as the entry has it, and may change under it. */
struct hashInput {
    struct str text;
    sds owned;
};
#define HASH_ELSEWHERE ((sds)1)

struct str hashEntryField(const struct hashEntry *e);
struct str hashEntryValue(const struct hashEntry *e);
bool hashEntryIsElsewhere(const struct hashEntry *e);
int64_t hashEntryExpire(const struct hashEntry *e); /* ms, or HASH_NO_EXPIRE */
size_t hashEntryMemory(const struct hashEntry *e);  /* usable bytes, with those of a value outside */

/* The last word in `now_ms`: is the field's time over? */
static inline bool hashTimeHasExpired(int64_t expire_ms, int64_t now_ms) {
    return expire_ms != HASH_NO_EXPIRE && expire_ms < now_ms;
}

struct hashEntry *hashEntryNew(struct str field, struct hashInput value);
struct hashEntry *hashEntryCopy(const struct hashEntry *e); /* nothing of which is elsewhere */
void hashEntryFree(struct hashEntry *e);
/* These may move the entry: use the result, and mend what points to it. */
struct hashEntry *hashEntrySetValue(struct hashEntry *e, struct hashInput value);
struct hashEntry *hashEntrySetExpire(struct hashEntry *e, int64_t expire_ms);

/* Entry, and a value outside of it, may move: where the entry is then. */
struct hashEntry *hashEntryMove(struct hashEntry *e, zmoveFn *move, void *priv);

/* The place of an entry with an expiry in the heap of its hash. */
uint32_t hashEntryHeapPos(const struct hashEntry *e);
void hashEntrySetHeapPos(struct hashEntry *e, uint32_t pos);
