/* SPDX-License-Identifier: BSD-3-Clause */
/* zmalloc.c - the allocator layer, and the accounting of every byte.
 *
 * The idea: no counter is shared. Every registered thread has two that only it writes, bytes allocated and
 * bytes deallocated since it started. The sum of the first minus the sum of the second, over all threads, is
 * the memory in use, whichever thread frees what another one allocated.
 *
 *     threads ring: [main: allocated*, deallocated*] <-> [io 1: ...] <-> [bio 1: ...]
 *     retired:      the counts of the threads that have ended
 *
 * With jemalloc (-DUSE_JEMALLOC) the pointers lead to counters that jemalloc keeps in any case; with libc
 * they lead to two thread-local ones that the functions here update.
 *
 * Above jemalloc there is a layer for the main thread's small allocations (slab.h) with its own counters: the
 * owner counts what it allocates and frees, every other thread what it frees. */
#include "base/zmalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#ifdef USE_JEMALLOC
#include <jemalloc/jemalloc.h>
#endif

#include "base/assert.h"
#include "base/clock.h"
#include "base/linked_list.h"
#include "base/log.h"
#include "base/slab.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZER_ALLOCATES
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZER_ALLOCATES
#endif
#endif

#define SLAB_RANGE_BITS     40 /* 1 TiB of addresses */
#define SLAB_RANGE_BITS_MIN 34

/* ---- Counters of the threads ---- */

struct threadCounters {
    struct listNode node;
    uint64_t *allocated, *deallocated, *slabs_freed;
};

static __thread struct threadCounters self;
static pthread_mutex_t threads_lock = PTHREAD_MUTEX_INITIALIZER;
static struct list threads = {{&threads.head, &threads.head}, 0};
static uint64_t retired_allocated, retired_deallocated, retired_slabs_freed;

static uint64_t zmallocCounterRead(const uint64_t *counter) {
    return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

#ifdef USE_JEMALLOC
static void zmallocCountersLocate(struct threadCounters *t) {
    size_t size = sizeof(uint64_t *);
    int failed = mallctl("thread.allocatedp", &t->allocated, &size, NULL, 0) ||
                 mallctl("thread.deallocatedp", &t->deallocated, &size, NULL, 0);
    serverAssert(!failed);
}
#else
static __thread uint64_t allocated_bytes, deallocated_bytes;

static void zmallocCountersLocate(struct threadCounters *t) {
    t->allocated = &allocated_bytes;
    t->deallocated = &deallocated_bytes;
}
/* This thread is the only writer, so a plain addition is enough; the store is atomic for the readers. */
static void zmallocCountAllocated(size_t bytes) {
    __atomic_store_n(&allocated_bytes, allocated_bytes + bytes, __ATOMIC_RELAXED);
}
static void zmallocCountDeallocated(size_t bytes) {
    __atomic_store_n(&deallocated_bytes, deallocated_bytes + bytes, __ATOMIC_RELAXED);
}
#endif

#ifdef USE_JEMALLOC
/* Addresses are no memory, so as many as possible are reserved. When they are limited (ulimit -v), the layer
 * is not used; when the processor has fewer, fewer are reserved. */
static void zmallocStartSlabs(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY) return;
    for (int bits = SLAB_RANGE_BITS; bits >= SLAB_RANGE_BITS_MIN && !slabStart((size_t)1 << bits);) bits--;
}
#else
static void zmallocStartSlabs(void) {}
#endif

static void zmallocTakeThreadsLock(void) {
    pthread_mutex_lock(&threads_lock);
}
static void zmallocReleaseThreadsLock(void) {
    pthread_mutex_unlock(&threads_lock);
}

/* The main thread counts from the start. A child must not inherit the lock held by another thread. */
__attribute__((constructor)) static void zmallocStart(void) {
    zmallocThreadStart();
    pthread_atfork(zmallocTakeThreadsLock, zmallocReleaseThreadsLock, zmallocReleaseThreadsLock);
    zmallocStartSlabs();
}

/* ---- Running out ---- */

static void zmallocOomAbort(size_t size) {
    serverLog(LL_WARNING, "No memory is left for an allocation of %zu bytes", size);
    abort();
}

static void (*oom_handler)(size_t size) = zmallocOomAbort;

__attribute__((noinline, cold, noreturn)) static void zmallocOutOfMemory(size_t size) {
    oom_handler(size);
    abort();
}

/* ---- Public API: allocation ---- */

#ifdef USE_JEMALLOC

/* Options that jemalloc reads at its start; the environment's MALLOC_CONF comes later and overrides them. A
 * slab has a descriptor of 128 bytes, which is 3% of a slab of one page: the classes with slabs of one page
 * get as many regions in a slab as their neighbours have, up to 512. Free pages return to the system within 5
 * seconds instead of 10. This includes those of 8 MiB and more, which jemalloc would return at once, so that
 * the next value of that size would fault in every page again. Until then they serve requests down to 1/4096
 * of their size instead of 1/64: old values of a snapshot in pieces of 56 KB are freed side by side, in some
 * MB, and the next ones would take fresh pages beside those. One thread returns pages, as more of them, with
 * their stacks and arenas, are 300 KB of an empty server. */
const char *malloc_conf = "dirty_decay_ms:5000,oversize_threshold:0,max_background_threads:1,"
                          "lg_extent_max_active_fit:12,"
                          "slab_sizes:16-16:2|32-32:2|64-64:4|128-128:4";

/* The first arena exists before jemalloc reads that option. */
__attribute__((constructor)) static void zmallocKeepLargePages(void) {
    size_t none = SIZE_MAX / 2;
    mallctl("arena.0.oversize_threshold", NULL, NULL, &none, sizeof none);
}

/* Returns whether the slab layer handles this size; size 0 it does not. */
static bool zmallocIsSmall(size_t size) {
    return size - 1 < slab_limit;
}

void *ztrymalloc(size_t size) {
    if (zmallocIsSmall(size)) {
        void *ptr = slabAlloc(size);
        if (__builtin_expect(ptr != NULL, 1)) return ptr;
    }
    return malloc(size);
}

static void *zmallocTryCalloc(size_t count, size_t size) {
    size_t total;
    if (!__builtin_mul_overflow(count, size, &total) && zmallocIsSmall(total)) {
        void *ptr = slabAlloc(total);
        if (ptr) return memset(ptr, 0, total);
    }
    return calloc(count, size);
}

static void *zmallocTryAligned(size_t align, size_t size) {
    if (!size) size = 1;
    if (align <= SLAB_MAX) {
        size_t total = (size + align - 1) & -align; /* a size that is a multiple of it is aligned to it */
        void *ptr = zmallocIsSmall(total) ? slabAlloc(total) : NULL;
        if (ptr) return ptr;
    }
    return mallocx(size, MALLOCX_ALIGN(align));
}

/* Moves an allocation from one allocator to the other, or to another class of the slab layer. */
static void *zmallocMoveTo(void *ptr, size_t was, size_t size) {
    void *now = ztrymalloc(size);
    if (!now) return NULL;
    memcpy(now, ptr, was < size ? was : size);
    zfree(ptr);
    return now;
}

/* Size 0 would free. What becomes small moves to the slab layer unless jemalloc would leave it in place. */
void *ztryrealloc(void *ptr, size_t size) {
    if (!size) size = 1;
    if (slabHas(ptr)) {
        size_t was = slabBytesOf(slabOf(ptr));
        return slabRound(size) == was ? ptr : zmallocMoveTo(ptr, was, size);
    }
    if (!zmallocIsSmall(size)) return realloc(ptr, size);
    if (!ptr) return ztrymalloc(size);
    size_t was = sallocx(ptr, 0);
    return was == nallocx(size, 0) ? ptr : zmallocMoveTo(ptr, was, size);
}

void zfree(void *ptr) {
    if (slabHas(ptr))
        slabFree(ptr);
    else
        free(ptr);
}

void zfreeSized(void *ptr, size_t size) {
    if (slabHas(ptr)) {
        debugAssert(slabBytesOf(slabOf(ptr)) == slabRound(size));
        slabFree(ptr);
        return;
    }
    if (!ptr) return;
    if (size == 0) size = 1;
    debugAssert(sallocx(ptr, 0) == nallocx(size, 0));
    sdallocx(ptr, size, 0);
}

/* jemalloc's usable sizes for small requests, which a rewrite of an object needs twice. Each stands for 8
 * sizes; 0: not known yet. */
static uint16_t small_good_sizes[SLAB_MAX / 8 + 1];

__attribute__((constructor)) static void zmallocLearnGoodSizes(void) {
    for (size_t size = 8; size <= SLAB_MAX; size += 8)
        small_good_sizes[size / 8] = (uint16_t)nallocx(size, 0);
}

static size_t zmallocJemallocGoodSize(size_t size) {
    size_t known = size <= SLAB_MAX ? small_good_sizes[(size + 7) / 8] : 0;
    return known ? known : nallocx(size ? size : 1, 0);
}

size_t zmallocGoodSize(size_t size) {
    return zmallocIsSmall(size) ? slabRound(size) : zmallocJemallocGoodSize(size);
}

__attribute__((noinline)) static bool zmallocSameJemallocRoom(size_t was, size_t size) {
    return zmallocJemallocGoodSize(was) == zmallocJemallocGoodSize(size);
}

bool zmallocSameRoom(const void *ptr, size_t was, size_t size) {
    if (slabHas(ptr)) return slabRound(was) == slabRound(size);
    return zmallocSameJemallocRoom(was, size);
}

size_t zmallocSize(const void *ptr) {
    return slabHas(ptr) ? slabBytesOf(slabOf(ptr)) : malloc_usable_size((void *)ptr);
}

#else

static void *zmallocCounted(void *ptr) {
    if (ptr) zmallocCountAllocated(malloc_usable_size(ptr));
    return ptr;
}

/* libc may return NULL for size 0. */
void *ztrymalloc(size_t size) {
    return zmallocCounted(malloc(size ? size : 1));
}

static void *zmallocTryCalloc(size_t count, size_t size) {
    return zmallocCounted(count && size ? calloc(count, size) : calloc(1, 1));
}

static void *zmallocTryAligned(size_t align, size_t size) {
    void *ptr = NULL;
    if (align < sizeof(void *)) align = sizeof(void *);
    return zmallocCounted(posix_memalign(&ptr, align, size ? size : 1) == 0 ? ptr : NULL);
}

void *ztryrealloc(void *ptr, size_t size) {
    size_t old = ptr ? malloc_usable_size(ptr) : 0;
    void *moved = realloc(ptr, size ? size : 1);
    if (!moved) return NULL;
    zmallocCountDeallocated(old);
    return zmallocCounted(moved);
}

void zfree(void *ptr) {
    if (!ptr) return;
    zmallocCountDeallocated(malloc_usable_size(ptr));
    free(ptr);
}

void zfreeSized(void *ptr, size_t size) {
    (void)size;
    zfree(ptr);
}

/* glibc puts an 8-byte header before each block and rounds the sum up to 16, to 32 at least. Other
 * allocators, as those of sanitizers, are assumed to give the requested size. */
size_t zmallocGoodSize(size_t size) {
#if defined(__GLIBC__) && !defined(SANITIZER_ALLOCATES)
    if (size > PTRDIFF_MAX) return size;
    size_t block = (size + 8 + 15) & ~(size_t)15;
    return (block < 32 ? 32 : block) - 8;
#else
    return size ? size : 1;
#endif
}

/* The allocator may be another one than the library's, in valgrind or by LD_PRELOAD, so only
 * its own usable size counts. */
bool zmallocSameRoom(const void *ptr, size_t was, size_t size) {
    if (was == size) return true;
    return zmallocGoodSize(was) == zmallocGoodSize(size) && size <= malloc_usable_size((void *)ptr);
}

size_t zmallocSize(const void *ptr) {
    return malloc_usable_size((void *)ptr);
}

#endif

static void *zmallocAllocate(size_t size) {
    void *ptr = ztrymalloc(size);
    if (__builtin_expect(!ptr, 0)) zmallocOutOfMemory(size);
    return ptr;
}

#ifdef USE_JEMALLOC
/* Not inlined, so that the shortest path saves no registers on the stack. */
__attribute__((noinline)) static void *zmallocAllocateLonger(size_t size) {
    return zmallocAllocate(size);
}

void *zmalloc(size_t size) {
    if (zmallocIsSmall(size)) {
        void *ptr = slabTake(size);
        if (__builtin_expect(ptr != NULL, 1)) return ptr;
    }
    return zmallocAllocateLonger(size);
}
#else
void *zmalloc(size_t size) {
    return zmallocAllocate(size);
}
#endif

void *zcalloc(size_t count, size_t size) {
    void *ptr = zmallocTryCalloc(count, size);
    if (__builtin_expect(!ptr, 0))
        zmallocOutOfMemory(size && count > SIZE_MAX / size ? SIZE_MAX : count * size);
    return ptr;
}

void *zrealloc(void *ptr, size_t size) {
    ptr = ztryrealloc(ptr, size);
    if (__builtin_expect(!ptr, 0)) zmallocOutOfMemory(size);
    return ptr;
}

void *zmallocAligned(size_t align, size_t size) {
    serverAssert(align && !(align & (align - 1)));
    void *ptr = zmallocTryAligned(align, size);
    if (__builtin_expect(!ptr, 0)) zmallocOutOfMemory(size);
    return ptr;
}

char *zstrdup(const char *s) {
    size_t size = strlen(s) + 1;
    return memcpy(zmalloc(size), s, size);
}

void zmallocSetOomHandler(void (*fn)(size_t size)) {
    oom_handler = fn ? fn : zmallocOomAbort;
}

/* ---- Public API: accounting ---- */

/* Neighbours in the list come and go. */
static bool zmallocThreadIsKnown(void) {
    zmallocTakeThreadsLock();
    bool known = listLinked(&self.node);
    zmallocReleaseThreadsLock();
    return known;
}

/* May be called twice; once it is in the list, others read `self`. The allocator is asked without the lock,
 * as fork() takes its locks, too. */
void zmallocThreadStart(void) {
    if (zmallocThreadIsKnown()) return;
    zmallocCountersLocate(&self);
    self.slabs_freed = &slab_remote_bytes;
    zmallocTakeThreadsLock();
    listAddTail(&threads, &self.node);
    zmallocReleaseThreadsLock();
}

void zmallocThreadExit(void) {
    zmallocTakeThreadsLock();
    if (listLinked(&self.node)) {
        retired_allocated += zmallocCounterRead(self.allocated);
        retired_deallocated += zmallocCounterRead(self.deallocated);
        retired_slabs_freed += zmallocCounterRead(self.slabs_freed);
        listRemove(&threads, &self.node);
    }
    zmallocReleaseThreadsLock();
}

/* Deallocated bytes are summed up first: a block that is allocated and freed meanwhile on another thread may
 * then be counted as in use, but never as only freed. */
size_t zmallocUsedMemory(void) {
    zmallocTakeThreadsLock();
    uint64_t deallocated = retired_deallocated + retired_slabs_freed, allocated = retired_allocated;
    listForEach(&threads, it) {
        const struct threadCounters *t = listEntry(it, struct threadCounters, node);
        deallocated += zmallocCounterRead(t->deallocated) + zmallocCounterRead(t->slabs_freed);
    }
    listForEach(&threads, it) {
        allocated += zmallocCounterRead(listEntry(it, struct threadCounters, node)->allocated);
    }
    zmallocReleaseThreadsLock();
    allocated += slabOwnerBytes();
    return allocated > deallocated ? allocated - deallocated : 0;
}

/* /proc/self/statm has the pages of the address space, then the resident pages. */
size_t zmallocRss(void) {
    char text[128];
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (fd == -1) return 0;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (n <= 0) return 0;
    text[n] = '\0';
    unsigned long resident;
    if (sscanf(text, "%*u %lu", &resident) != 1) return 0;
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

void zmallocDismiss(const void *p, size_t len) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = ((uintptr_t)p + page - 1) & ~(page - 1), to = ((uintptr_t)p + len) & ~(page - 1);
    if (from < to) madvise((void *)from, to - from, MADV_DONTNEED);
}

#ifdef USE_JEMALLOC

#define TEXT_OF(x)  #x
#define TEXT(x)     TEXT_OF(x)
#define ARENAS_ALL  TEXT(MALLCTL_ARENAS_ALL)
#define STATS_COUNT 4

const char *zmallocName(void) {
    return "jemalloc-" TEXT(JEMALLOC_VERSION_MAJOR) "." TEXT(JEMALLOC_VERSION_MINOR) "." TEXT(
        JEMALLOC_VERSION_BUGFIX);
}

/* jemalloc computes its statistics when the epoch advances. Names are looked up once, as INFO reads often. */
void zmallocGetStats(struct zmallocStats *out) {
    static const char *const names[STATS_COUNT] = {"stats.allocated", "stats.active", "stats.resident",
                                                   "stats.arenas." ARENAS_ALL ".pmuzzy"};
    static size_t mibs[STATS_COUNT][4], mibLengths[STATS_COUNT];
    size_t values[STATS_COUNT] = {0}, size = sizeof(size_t);
    uint64_t epoch = 1;

    mallctl("epoch", NULL, NULL, &epoch, sizeof(epoch));
    for (int i = 0; i < STATS_COUNT; i++) {
        if (mibLengths[i] == 0) {
            mibLengths[i] = 4;
            int failed = mallctlnametomib(names[i], mibs[i], &mibLengths[i]);
            serverAssert(!failed);
        }
        mallctlbymib(mibs[i], mibLengths[i], &values[i], &size, NULL, 0);
    }
    struct slabStats slabs;
    slabGetStats(&slabs);
    *out = (struct zmallocStats){.allocated = values[0] + slabs.used,
                                 .active = values[1] + slabs.active,
                                 .resident = values[2] + slabs.resident,
                                 .muzzy = values[3] * (size_t)sysconf(_SC_PAGESIZE),
                                 .holes = zmallocHoles()};
}

bool zmallocTend(void) {
    return slab_limit && slabMaintain(monotonicUs() / 1000);
}

void zmallocGiveBack(void) {
    slabPurge(false);
}

void zmallocPurge(void) {
    zmallocTend();
    slabPurge(true);
    mallctl("arena." ARENAS_ALL ".purge", NULL, NULL, NULL, 0);
}

void zmallocThreadRests(void) {
    mallctl("thread.tcache.flush", NULL, NULL, NULL, 0);
}

bool zmallocReport(void (*write)(void *priv, const char *text), void *priv) {
    if (slab_limit) slabReport(write, priv);
    malloc_stats_print(write, priv, NULL);
    return true;
}

/* Only the allocator knows how wide a number is. */
int zmallocControl(const char *name, uint64_t *value, const int64_t *fresh) {
    static const size_t widths[] = {sizeof(uint64_t), sizeof(uint32_t), sizeof(bool)};
    int code = EINVAL;
    for (size_t i = 0; i < sizeof widths / sizeof *widths && code == EINVAL; i++) {
        size_t width = widths[i];
        int64_t copy = fresh ? *fresh : 0; /* little-endian: the first bytes are the narrower number */
        *value = 0;
        code = mallctl(name, value, &width, fresh ? &copy : NULL, fresh ? widths[i] : 0);
    }
    return code;
}

int zmallocControlText(const char *name, const char **text) {
    size_t size = sizeof *text;
    return mallctl(name, text, &size, NULL, 0);
}

void zmallocSetBackgroundThread(bool enable) {
    mallctl("background_thread", NULL, NULL, &enable, sizeof(enable));
}

#else

const char *zmallocName(void) {
    return "libc";
}

void zmallocGetStats(struct zmallocStats *out) {
    size_t rss = zmallocRss();
    size_t used = zmallocUsedMemory();
    *out = (struct zmallocStats){
        .allocated = used, .active = rss, .resident = rss, .holes = rss > used ? rss - used : 0};
}

bool zmallocTend(void) {
    return false;
}

void zmallocGiveBack(void) {}

void zmallocPurge(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

void zmallocThreadRests(void) {}

bool zmallocReport(void (*write)(void *priv, const char *text), void *priv) {
    (void)write, (void)priv;
    return false;
}

int zmallocControl(const char *name, uint64_t *value, const int64_t *fresh) {
    (void)name, (void)value, (void)fresh;
    return ENOTSUP;
}

int zmallocControlText(const char *name, const char **text) {
    (void)name, (void)text;
    return ENOTSUP;
}

void zmallocSetBackgroundThread(bool enable) {
    (void)enable;
}

#endif
