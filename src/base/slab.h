/* SPDX-License-Identifier: BSD-3-Clause */
/* slab.h - small allocations in classes of 8 bytes, for one thread that allocates and any that free.
 *
 * The layer between zmalloc and jemalloc, whose small classes are 16 bytes apart and more. Whoever is not
 * zmalloc.c has no business here.
 *
 *  - The OWNER is the thread that called slabStart; in a child it is the owner's copy, if that one forked.
 *    Only the owner allocates: slab_limit says how large, and is 0 in every other thread.
 *  - ANY thread frees. What another one than the owner frees comes back when the owner next looks: when a
 *    class has nothing left, and in slabMaintain.
 *  - An allocation of n bytes has n rounded up to 8, and lies at a multiple of that in its slab, which is
 *    itself at a multiple of SLAB_BYTES: where the rounded n is a multiple of 16 or 64, so is the address.
 *  - Whether an address is ours is one subtraction. When no range of addresses could be had, nothing is.
 *  - Allocating and freeing are O(1), but for the carving of a page and for at most SLAB_DRAIN_MAX slabs that
 *    are taken in on the way.
 *
 * The free lists within slabs, and the one of what others free, are those of "Mimalloc: Free List Sharding in
 * Action" (Leijen, Zorn, de Moura 2019); the layout stands in slab.c. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/assert.h"

/* Bytes of the largest class. What is larger is mostly a sequence that grows, and would be copied every 8
 * bytes. */
#define SLAB_MAX       512
#define SLAB_SHIFT     15
#define SLAB_BYTES     ((size_t)1 << SLAB_SHIFT)
#define SLAB_CLASSES   (SLAB_MAX / 8)
#define SLAB_DRAIN_MAX 64

/* What is known of a slab. Kept apart from it: side by side, they do not all fall into the same few sets of
 * the processor's caches, as what lies at the start of every slab would. */
struct slab {
    void *free;      /* the owner's list: each points to the next */
    uint16_t used;   /* carved and not in that list; what others have freed counts until it is taken in */
    uint16_t notice; /* when so many are used, slabOnNotice */
    uint16_t carved; /* allocations made of its first bytes so far */
    uint16_t capacity;
    uint16_t bytes;          /* of an allocation */
    uint8_t bin, state;      /* the latter is the pool's, under its lock */
    _Atomic uint32_t remote; /* freed by others: see slab.c */
    struct slabClass *class;
    struct slab *next, *prev; /* in a bin of its class, or in the pool */
    struct slab *next_remote; /* in the list of those that others have freed in */
    int64_t freed_ms;         /* in the pool: since when */
} __attribute__((aligned(64)));

struct slabClass {
    struct slab *current;
    uint64_t used; /* allocations by the owner, minus those it has freed */
} __attribute__((aligned(16)));

struct slabHeap {
    uintptr_t base; /* of the range of addresses */
    size_t size;    /* 0: there is none */
    struct slab *slabs;
    uint64_t bytes; /* of all that the owner has allocated, minus those it has freed */
    struct slabClass classes[SLAB_CLASSES];
};

#define LOCAL __attribute__((tls_model("local-exec"))) /* of a program, never of a library */
extern struct slabHeap slab_heap;
extern __thread size_t slab_limit LOCAL; /* bytes that this thread may ask slabAlloc for; 0: not the owner */
extern __thread uint64_t slab_remote_bytes LOCAL; /* freed by this thread, which is not the owner */

/* Once, by the thread that will be the owner. Reserves `range` bytes of addresses (a power of two; no
 * memory). False: they cannot be had, and all stays as it was. */
bool slabStart(size_t range);

void *slabRefill(size_t size);
void slabOnNotice(struct slab *s);
void slabFreeRemote(struct slab *s, void *p);
void slabCheckFree(const struct slab *s, const void *p);

static inline bool slabHas(const void *p) {
    return (uintptr_t)p - slab_heap.base < slab_heap.size;
}

static inline struct slab *slabOf(const void *p) {
    return &slab_heap.slabs[((uintptr_t)p - slab_heap.base) >> SLAB_SHIFT];
}

/* The usable bytes of an allocation of ours, and of one to come. */
static inline size_t slabBytesOf(const struct slab *s) {
    return s->bytes;
}
static inline size_t slabRound(size_t size) {
    return (size + 7) & ~(size_t)7;
}

/* One more in use, or one less. The only writer is the owner; others may read the bytes. */
static inline void slabCountUp(struct slab *s) {
    s->class->used++;
    __atomic_store_n(&slab_heap.bytes, slab_heap.bytes + s->bytes, __ATOMIC_RELAXED);
}
static inline void slabCountDown(struct slab *s) {
    s->class->used--;
    __atomic_store_n(&slab_heap.bytes, slab_heap.bytes - s->bytes, __ATOMIC_RELAXED);
}

/* By the owner, of 1 to SLAB_MAX bytes, if the current slab of its class has one: else NULL. Who comes next
 * will write to the next one: it is fetched meanwhile. */
static inline void *slabTake(size_t size) {
    struct slab *s = slab_heap.classes[(size - 1) / 8].current;
    void **p = s->free;
    if (__builtin_expect(!p, 0)) return NULL;
    __builtin_prefetch(*p, 1);
    s->free = *p;
    s->used++;
    slabCountUp(s);
    return p;
}

/* The same. NULL: no more memory. */
static inline void *slabAlloc(size_t size) {
    void *p = slabTake(size);
    return __builtin_expect(p != NULL, 1) ? p : slabRefill(size);
}

/* By any thread. */
static inline void slabFree(void *p) {
    struct slab *s = slabOf(p);
    if (__builtin_expect(!slab_limit, 0)) {
        slabFreeRemote(s, p);
        return;
    }
#ifdef DEBUG_ASSERTIONS
    slabCheckFree(s, p);
#endif
    serverAssert(s->free != p); /* freed twice in a row */
    *(void **)p = s->free;
    s->free = p;
    slabCountDown(s);
    if (__builtin_expect(--s->used == s->notice, 0)) slabOnNotice(s);
}

/* Less the slab_remote_bytes of all other threads, that is what is in use. By any thread. */
static inline uint64_t slabOwnerBytes(void) {
    return __atomic_load_n(&slab_heap.bytes, __ATOMIC_RELAXED);
}

/* By the owner: would this allocation be better off in a fuller slab? O(1). */
bool slabShouldMove(const void *p);

/* By the owner, now and then; `now_ms` is any clock that does not go back. Takes in what others have freed,
 * of some thousand slabs at most. True: slabs have been free for SLAB_DECAY_MS, and slabPurge should be
 * called. */
#define SLAB_DECAY_MS 5000
bool slabMaintain(int64_t now_ms);
/* By any thread: gives the pages of free slabs back to the system, of all or of those that the last slabMaintain
 * has found. The lock is not held while the kernel works. */
void slabPurge(bool all);

struct slabStats {
    size_t used;     /* bytes of allocations that have not been taken in again */
    size_t active;   /* bytes carved, used or not */
    size_t resident; /* and those of free slabs, and of what is known of slabs */
};
void slabGetStats(struct slabStats *out); /* by the owner */
/* By the owner: a line for each class in use. */
void slabReport(void (*write)(void *priv, const char *text), void *priv);
/* By the owner, for tests: asserts that all lists and counts are as they should be. O(all). */
void slabVerify(void);
