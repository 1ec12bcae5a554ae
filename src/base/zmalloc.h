/* SPDX-License-Identifier: BSD-3-Clause */
/* zmalloc.h - the allocator layer, through which the server gets all its memory.
 *
 * With MALLOC=jemalloc (default) the main thread's allocations of up to 512 bytes take their size rounded up
 * to 8 (slab.h); jemalloc handles all others. So an address is a multiple of 16 only when the size is. The
 * accounting is free: jemalloc keeps exact per-thread counters of allocated and deallocated bytes, the slabs
 * keep theirs, and zmallocUsedMemory() adds them up over the registered threads. With MALLOC=libc every
 * thread keeps its own counter with malloc_usable_size(). The hot path touches no shared atomic. Sizes are
 * usable bytes (the size class), not requested bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* These never return NULL: on failure the out-of-memory handler runs (logs and aborts). Size 0 gives a valid
 * pointer that has to be freed. */
void *zmalloc(size_t size) __attribute__((malloc, alloc_size(1)));
void *zcalloc(size_t count, size_t size) __attribute__((malloc, alloc_size(1, 2)));
void *zrealloc(void *ptr, size_t size) __attribute__((alloc_size(2)));
/* `align` is a power of two. Free the result with zfree, or with zfreeSized when size is a multiple of
 * align; never reallocate it. */
void *zmallocAligned(size_t align, size_t size);
char *zstrdup(const char *s);

/* These return NULL when there is no memory; for sizes that come from outside. */
void *ztrymalloc(size_t size);
void *ztryrealloc(void *ptr, size_t size);

void zfree(void *ptr);
/* `size` is the size requested at allocation, or one of the same class. Saves the allocator a look-up. */
void zfreeSized(void *ptr, size_t size);

/* Return the usable bytes of an allocation, and those that zmalloc(size) would give. */
size_t zmallocSize(const void *ptr);
size_t zmallocGoodSize(size_t size);
/* Returns whether an allocation of `was` bytes may be treated as one of `size` bytes from now
 * on, also when it is freed. */
bool zmallocSameRoom(const void *ptr, size_t was, size_t size);

/* Each thread that allocates calls zmallocThreadStart at its start and zmallocThreadExit at its end. */
void zmallocThreadStart(void);
void zmallocThreadExit(void);

size_t zmallocUsedMemory(void); /* bytes in use by the whole process */
size_t zmallocRss(void);        /* resident bytes from /proc, 0 when unknown */
const char *zmallocName(void);  /* as INFO mem_allocator prints it: "jemalloc-5.3.0", "libc" */

struct zmallocStats {
    size_t allocated, active, resident, muzzy;
    size_t holes; /* unused bytes between allocations in pages that are in use */
};
/* Gets the allocator's figures of the process; with libc, active and resident are RSS, and muzzy is 0. */
void zmallocGetStats(struct zmallocStats *out);
/* For fork children: returns the whole pages within these bytes to the system. Their contents are lost and
 * must not be used again; the memory stays allocated. */
void zmallocDismiss(const void *p, size_t len);
void zmallocPurge(void); /* returns free pages to the system */
/* The main thread calls this about ten times a second: takes in what other threads have freed. Returns
 * whether pages have been free for seconds, so that any thread should call zmallocGiveBack. */
bool zmallocTend(void);
void zmallocGiveBack(void);
/* To be called when this thread has little to do: releases what it holds back for its next allocations. */
void zmallocThreadRests(void);
/* Writes the allocator's own report, piece by piece. False: it has none. */
bool zmallocReport(void (*write)(void *priv, const char *text), void *priv);
/* Access jemalloc's mallctl by name: a number, which is replaced by *fresh unless that is NULL, or a text
 * owned by the allocator. Return 0 or an errno; with libc always ENOTSUP. */
int zmallocControl(const char *name, uint64_t *value, const int64_t *fresh);
int zmallocControlText(const char *name, const char **text);
void zmallocSetBackgroundThread(bool enable); /* jemalloc's purging thread; no-op on libc */
void zmallocSetOomHandler(void (*fn)(size_t size));

/* ---- Moving allocations together (zmalloc_move.c) ----
 *
 * The owner of an allocation offers it: `move` copies it to a better place, frees it and returns the copy,
 * whose address must then replace the old one everywhere. NULL: it was not moved. Containers take such a
 * function and pass `priv` to it. */
typedef void *zmoveFn(void *priv, void *ptr);
bool zmallocCanMove(void);                /* whether the allocator knows where there are holes */
void *zmallocMove(void *priv, void *ptr); /* a zmoveFn; takes about 50 ns when it does not move */
void zmallocMoveAll(bool all);            /* for tests: every allocation moves, with any allocator */
size_t zmallocHoles(void); /* bytes at the last zmallocGetStats, which includes them in its result */
