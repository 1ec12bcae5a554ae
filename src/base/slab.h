/* SPDX-License-Identifier: BSD-3-Clause */
/* slab.h - small allocations in classes of 8 bytes, for one thread that allocates and any threads that free.
 *
 * This layer is between zmalloc and jemalloc, whose small classes are 16 bytes and more
 * apart. Only zmalloc*.c use it.
 *
 *  - The OWNER is the thread that called slabStart; in a child it is the copy of the owner, if the owner
 *    forked. Only the owner allocates: slab_limit says up to which size, and is 0 in every other thread.
 *  - ANY thread frees. What a thread other than the owner frees can be used again when the owner takes it in:
 *    when a class has no free allocation left, and in slabMaintain.
 *  - An allocation of n bytes has n rounded up to 8, and lies at a multiple of that in its slab, which is
 *    itself at a multiple of SLAB_BYTES: if the rounded n is a multiple of 16 or 64, so is the address.
 *  - One subtraction says whether an address belongs to the slabs. Without a range of addresses none does.
 *  - Allocating and freeing are O(1), except for carving a page and taking in at most SLAB_DRAIN_MAX slabs.
 *
 * The free lists within slabs, and the one of what other threads free, are those of "Mimalloc: Free List
 * Sharding in Action" (Leijen, Zorn, de Moura 2019); slab.c describes the layout. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/assert.h"

/* Bytes of the largest class. Larger allocations are mostly sequences, which would move at every 8 bytes. */
#define SLAB_MAX       512
#define SLAB_SHIFT     15
#define SLAB_BYTES     ((size_t)1 << SLAB_SHIFT)
#define SLAB_CLASSES   (SLAB_MAX / 8)
#define SLAB_DRAIN_MAX 64

/* The descriptor of a slab. Descriptors are kept side by side, apart from the slabs, so that they do not all
 * fall into the same few cache sets, as the first bytes of every slab would. */
struct slab {
    void *free;      /* the owner's free list, in which each allocation points to the next */
    uint16_t used;   /* carved and not in that list; those freed by others count until they are taken in */
    uint16_t notice; /* when `used` falls to this, slabOnNotice is called */
    uint16_t carved; /* allocations that its first bytes have been cut into so far */
    uint16_t capacity;
    uint16_t bytes;          /* bytes of an allocation */
    uint8_t bin, state;      /* state belongs to the pool and its lock */
    _Atomic uint32_t remote; /* list of what others have freed; see slab.c */
    struct slabClass *class;
    struct slab *next, *prev; /* neighbours in a bin of its class, or in the pool */
    struct slab *next_remote; /* next slab in the list of those in which others have freed */
    int64_t freed_ms;         /* when it came into the pool */
} __attribute__((aligned(64)));

struct slabClass {
    struct slab *current;
    uint64_t used; /* allocations by the owner, minus those it has freed */
} __attribute__((aligned(16)));

struct slabHeap {
    uintptr_t base; /* start of the range of addresses */
    size_t size;    /* 0: there is none */
    struct slab *slabs;
    uint64_t bytes; /* bytes that the owner has allocated, minus those it has freed */
    struct slabClass classes[SLAB_CLASSES];
};

#define LOCAL __attribute__((tls_model("local-exec"))) /* used by programs only, never by a library */
extern struct slabHeap slab_heap;
/* largest size that this thread may request from slabAlloc; 0: not the owner */
extern __thread size_t slab_limit LOCAL;
extern __thread uint64_t slab_remote_bytes LOCAL; /* bytes freed by this thread, which is not the owner */

/* Called once, by the thread that will be the owner. Reserves `range` bytes of addresses (a power of two; no
 * memory). False: they are not available, and nothing has changed. */
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

/* Return the usable bytes of the allocations of a slab, and those that an allocation of `size` would have. */
static inline size_t slabBytesOf(const struct slab *s) {
    return s->bytes;
}
static inline size_t slabRound(size_t size) {
    return (size + 7) & ~(size_t)7;
}

/* Count one more allocation in use, or one less. Only the owner writes; other threads may read the bytes. */
static inline void slabCountUp(struct slab *s) {
    s->class->used++;
    __atomic_store_n(&slab_heap.bytes, slab_heap.bytes + s->bytes, __ATOMIC_RELAXED);
}
static inline void slabCountDown(struct slab *s) {
    s->class->used--;
    __atomic_store_n(&slab_heap.bytes, slab_heap.bytes - s->bytes, __ATOMIC_RELAXED);
}

/* For the owner: allocates 1 to SLAB_MAX bytes if the current slab of the class has a free allocation;
 * otherwise NULL. The next call will write to the next allocation, which is prefetched. */
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

/* For the owner: allocates `size` bytes. NULL: there is no more memory. */
static inline void *slabAlloc(size_t size) {
    void *p = slabTake(size);
    return __builtin_expect(p != NULL, 1) ? p : slabRefill(size);
}

/* Frees an allocation; any thread may call it. */
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

/* Returns the bytes that the owner has allocated; minus the slab_remote_bytes of all other threads these are
 * in use. Any thread may call it. */
static inline uint64_t slabOwnerBytes(void) {
    return __atomic_load_n(&slab_heap.bytes, __ATOMIC_RELAXED);
}

/* For the owner: returns whether this allocation should move to a fuller slab. O(1). */
bool slabShouldMove(const void *p);

/* For the owner, to be called regularly; `now_ms` is any clock that does not go back. Takes in what others
 * have freed, of some thousand slabs at most. Returns whether slabs have been free for SLAB_DECAY_MS, so that
 * slabPurge should be called. */
#define SLAB_DECAY_MS 5000
bool slabMaintain(int64_t now_ms);
/* Returns the pages of free slabs to the system: of all, or of those that the last slabMaintain found. Any
 * thread may call it. The lock is not held while the kernel works. */
void slabPurge(bool all);

struct slabStats {
    size_t used;     /* bytes of allocations that are in use or not taken in yet */
    size_t active;   /* bytes carved, used or not */
    size_t resident; /* active bytes, free slabs and descriptors */
};
void slabGetStats(struct slabStats *out); /* for the owner */
/* For the owner: writes a line for each class in use. */
void slabReport(void (*write)(void *priv, const char *text), void *priv);
/* For the owner, in tests: asserts that all lists and counts are consistent. O(all). */
void slabVerify(void);
