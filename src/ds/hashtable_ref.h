/* SPDX-License-Identifier: BSD-3-Clause */
/* hashtable_ref.h - a slot in a bucket of a hash table, returned by hashtableFindRef: its entry can be
 * read and replaced by another one with the same key. Part of hashtable.h.
 *
 *     48 bits:   | the entry's address, a multiple of 8: 45 | bits of its position: 3 |
 *
 * It is read together with the two bytes before it, which are in the bucket, too. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/assert.h"

#define HASHTABLE_BUCKET_SLOTS 9
struct hashtableRef {
    uint8_t word[6];
};
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "of a word, the low bytes come first");

/* Returns whether a slot can hold this address. */
static inline bool hashtableRefTakes(const void *entry) {
    return ((uintptr_t)entry & ~0xfffffffffff8ULL) == 0;
}
static inline uint64_t hashtableRefWord(const struct hashtableRef *ref) {
    uint64_t with_two;
    memcpy(&with_two, (const char *)ref - 2, sizeof(with_two));
    return with_two >> 16;
}
static inline void *hashtableRefEntry(const struct hashtableRef *ref) {
    return (void *)(uintptr_t)(hashtableRefWord(ref) & ~7ULL);
}
static inline void hashtableRefSetWord(struct hashtableRef *ref, uint64_t word) {
    memcpy(ref->word, &word, sizeof(ref->word));
#ifdef LEAK_CHECKED /* see hashtable_bucket.h */
    uint8_t *bucket = (uint8_t *)((uintptr_t)ref & ~(uintptr_t)63);
    size_t slot = (size_t)(ref->word - bucket - 10) / sizeof(*ref);
    ((void **)(bucket + 64))[slot] = (void *)(uintptr_t)(word & ~7ULL);
#endif
}
static inline void hashtableRefSet(struct hashtableRef *ref, void *entry) {
    serverAssert(hashtableRefTakes(entry));
    hashtableRefSetWord(ref, (hashtableRefWord(ref) & 7) | (uintptr_t)entry);
}
