/* SPDX-License-Identifier: BSD-3-Clause */
/* zmalloc.h - the allocator facade. All memory of the server comes through here.
 *
 * With MALLOC=jemalloc (default) the main thread's allocations of up to 512 bytes take their size rounded up
 * to 8 (slab.h), and everything else is jemalloc's: an address is a multiple of 16 only where its size is
 * one. The accounting costs nothing: jemalloc keeps exact per-thread counters of bytes allocated and
 * deallocated, the slabs keep theirs, and zmallocUsedMemory() adds them up over the registered threads. With
 * MALLOC=libc every thread keeps its own counter with malloc_usable_size(). No shared atomic is touched on
 * the hot path. Sizes are usable bytes (the size class), not requested bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* These never return NULL: on failure the out-of-memory handler runs (logs and aborts). Size 0 gives a valid
 * pointer to free. */
void *zmalloc(size_t size) __attribute__((malloc, alloc_size(1)));
void *zcalloc(size_t count, size_t size) __attribute__((malloc, alloc_size(1, 2)));
void *zrealloc(void *ptr, size_t size) __attribute__((alloc_size(2)));
/* `align` is a power of two. Free with zfree, or zfreeSized when size is a multiple of align;
 * never realloc. */
void *zmallocAligned(size_t align, size_t size);
char *zstrdup(const char *s);

/* These return NULL when the memory is refused; for sizes that come from outside. */
void *ztrymalloc(size_t size);
void *ztryrealloc(void *ptr, size_t size);

void zfree(void *ptr);
/* `size` is the size asked for at allocation (or any size of the same class).
 * Saves the allocator a lookup. */
void zfreeSized(void *ptr, size_t size);

/* Usable bytes behind `ptr`; and the usable bytes that zmalloc(size) would give. */
size_t zmallocSize(const void *ptr);
size_t zmallocGoodSize(size_t size);
/* May an allocation of `was` bytes be taken for one of `size`, there and when it is freed? */
bool zmallocSameRoom(const void *ptr, size_t was, size_t size);

/* Each thread that allocates calls this once at its start,
 * and zmallocThreadExit() at its end (thread-safe). */
void zmallocThreadStart(void);
void zmallocThreadExit(void);

size_t zmallocUsedMemory(void); /* bytes in use by the whole process */
size_t zmallocRss(void);        /* resident bytes from /proc, 0 when unknown */
const char *zmallocName(void);  /* as INFO mem_allocator prints it: "jemalloc-5.3.0", "libc" */

struct zmallocStats {
    size_t allocated, active, resident, muzzy;
    size_t holes; /* in pages in use, between allocations */
};
/* Whole-process figures of the allocator; with libc, active and resident are RSS, and muzzy is 0. */
void zmallocGetStats(struct zmallocStats *out);
/* In a fork child: gives the whole pages within these bytes back to the system. Their contents are lost, and
 * must not be used again; the memory stays allocated. */
void zmallocDismiss(const void *p, size_t len);
void zmallocPurge(void); /* give free pages back to the system */
/* The main thread calls this ten times a second or so: what other threads have freed is taken in. True: there
 * are pages that have been free for seconds, and zmallocGiveBack should be called, in whichever thread. */
bool zmallocTend(void);
void zmallocGiveBack(void);
/* This thread has little to do: what it holds back for its next allocations is free for all. */
void zmallocThreadRests(void);
/* The allocator's own report, piece by piece. False: it has none. */
bool zmallocReport(void (*write)(void *priv, const char *text), void *priv);
/* jemalloc's mallctl, by name: a number (and another in its place unless `fresh` is NULL), or a text of the
 * allocator's. 0, or an errno; on libc always ENOTSUP. */
int zmallocControl(const char *name, uint64_t *value, const int64_t *fresh);
int zmallocControlText(const char *name, const char **text);
void zmallocSetBackgroundThread(bool enable); /* jemalloc's purging thread; no-op on libc */
void zmallocSetOomHandler(void (*fn)(size_t size));

/* ---- Moving allocations together (zmalloc_move.c) ----
 *
 * What owns an allocation offers it: `move` copies it to a better place, frees it and returns the copy, whose
 * address must then be put wherever the old one was; or NULL: it stays. Containers take such a function and
 * hand it `priv`. */
typedef void *zmoveFn(void *priv, void *ptr);
bool zmallocCanMove(void);                /* does the allocator know where there are holes? */
void *zmallocMove(void *priv, void *ptr); /* a zmoveFn; about 50 ns when it stays */
void zmallocMoveAll(bool all);            /* for tests: every allocation moves, with any allocator */
size_t zmallocHoles(void); /* bytes, as of the last zmallocGetStats, which has it in its answer */
