/* SPDX-License-Identifier: BSD-3-Clause */
/* zmalloc_move.c - moves allocations together, for defragmentation (part of zmalloc.h).
 *
 * jemalloc cuts slabs, which are runs of pages, into regions of one size class. A slab returns to
 * the system when all of its regions are free. After many scattered deletions few slabs are
 * empty, and many are nearly so.
 *
 *     bin of 32 bytes    |#.......|   |########|   |#..#....|   |...#....|        # in use
 *
 * The idea: an allocation in a slab that is no fuller than the average of its bin is copied to a region that
 * the allocator chooses, which is one of the oldest slab with free regions. So old slabs fill up and stay as
 * they are from then on, and young ones run empty. Both the allocation and the free bypass the thread's
 * cache, which would return the region that has just been freed.
 *
 * The slabs of slab.h decide by the same rule themselves and have no cache to bypass.
 *
 * Whether an allocation should move is found out through "experimental.utilization.query", which takes about
 * 50 ns. Every stock jemalloc from 5.2 on has it. */
#include <stdint.h>
#include <string.h>

#ifdef USE_JEMALLOC
#include <jemalloc/jemalloc.h>
#endif

#include "base/assert.h"
#include "base/slab.h"
#include "base/zmalloc.h"

#define LINE 64

static bool move_all;

void zmallocMoveAll(bool all) {
    move_all = all;
}

/* For tests. Keeps the alignment that the caller may have requested, which jemalloc's class implies. */
static void *zmallocMoveAnyway(void *ptr) {
    size_t size = zmallocSize(ptr);
#ifdef USE_JEMALLOC
    void *now = zmalloc(size);
#else
    void *now = (uintptr_t)ptr % LINE ? zmalloc(size) : zmallocAligned(LINE, size);
#endif
    memcpy(now, ptr, size);
    zfree(ptr);
    return now;
}

#ifdef USE_JEMALLOC

#define TEXT_OF(x)    #x
#define TEXT(x)       TEXT_OF(x)
#define ARENAS_ALL    TEXT(MALLCTL_ARENAS_ALL)
#define MIB_MAX       8
#define QUERY         "experimental.utilization.query"
#define STATS_OF_BINS "stats.arenas." ARENAS_ALL ".bins.0."
#define STATS_BIN     4 /* position of the bin's number in the path of a statistic */

struct path {
    size_t mib[MIB_MAX], length;
};

/* jemalloc's answer about an allocation. "free" and "regions" are those of its slab; 1 region: the allocation
 * is large and has pages of its own. */
struct utilization {
    const char *filling; /* the slab from which the bin allocates */
    size_t free, regions, bytes, bin_free, bin_regions;
};

static bool zmallocMovePathFind(struct path *path, const char *name) {
    path->length = MIB_MAX;
    return mallctlnametomib(name, path->mib, &path->length) == 0;
}

static struct path *zmallocMoveQueryPath(void) {
    static struct path path;
    static int found = -1;
    if (found < 0) found = zmallocMovePathFind(&path, QUERY);
    return found ? &path : NULL;
}

/* Returns whether the query gives the expected answer. */
bool zmallocCanMove(void) {
    static int can = -1;
    if (can >= 0) return can;
    struct path *path = zmallocMoveQueryPath();
    struct utilization u = {0};
    size_t size = sizeof u;
    void *probe = mallocx(1, 0);
    can = probe && path && mallctlbymib(path->mib, path->length, &u, &size, &probe, sizeof probe) == 0 &&
          u.regions > 1 && u.bin_regions >= u.regions;
    zfree(probe);
    return can;
}

/* Nothing is gained in a bin whose holes do not make up a slab. */
static bool zmallocMoveShouldMove(const char *ptr) {
    struct path *path = zmallocMoveQueryPath();
    struct utilization u;
    size_t size = sizeof u;
    if (mallctlbymib(path->mib, path->length, &u, &size, &ptr, sizeof ptr) != 0) return false;
    if (u.free == 0 || u.regions <= 1 || u.bin_free <= u.regions) return false;
    if (u.filling && ptr >= u.filling && ptr < u.filling + u.bytes) return false;
    return (u.regions - u.free) * u.bin_regions <= (u.bin_regions - u.bin_free) * u.regions;
}

/* Moving within the same slab is useless: the fullest with free space may be the allocation's own. */
static void *zmallocMoveSmall(void *ptr) {
    if (!slab_limit || !slabShouldMove(ptr)) return NULL;
    size_t size = slabBytesOf(slabOf(ptr));
    void *now = slabAlloc(size);
    if (!now) return NULL;
    if (slabOf(now) == slabOf(ptr)) {
        slabFree(now);
        return NULL;
    }
    memcpy(now, ptr, size);
    slabFree(ptr);
    return now;
}

void *zmallocMove(void *priv, void *ptr) {
    (void)priv;
    if (__builtin_expect(move_all, 0)) return zmallocMoveAnyway(ptr);
    if (slabHas(ptr)) return zmallocMoveSmall(ptr);
    if (!zmallocCanMove() || !zmallocMoveShouldMove(ptr)) return NULL;
    size_t size = sallocx(ptr, 0);
    void *now = mallocx(size, MALLOCX_TCACHE_NONE);
    if (!now) return NULL;
    memcpy(now, ptr, size);
    sdallocx(ptr, size, MALLOCX_TCACHE_NONE);
    return now;
}

static size_t zmallocMoveReadSize(struct path *path) {
    size_t value = 0, size = sizeof value;
    return mallctlbymib(path->mib, path->length, &value, &size, NULL, 0) == 0 ? value : 0;
}

size_t zmallocHoles(void) {
    static struct path regions, slabs;
    static struct bin {
        size_t bytes;
        uint32_t regions;
    } bins[256];
    static unsigned count;
    size_t size = sizeof count, holes = 0;
    if (!count) {
        bool found = zmallocMovePathFind(&regions, STATS_OF_BINS "curregs") &&
                     zmallocMovePathFind(&slabs, STATS_OF_BINS "curslabs");
        struct path bytes, each;
        found = found && zmallocMovePathFind(&bytes, "arenas.bin.0.size") &&
                zmallocMovePathFind(&each, "arenas.bin.0.nregs") &&
                mallctl("arenas.nbins", &count, &size, NULL, 0) == 0;
        serverAssert(found && count <= sizeof bins / sizeof *bins);
        for (unsigned i = 0; i < count; i++) {
            bytes.mib[2] = each.mib[2] = i;
            bins[i].bytes = zmallocMoveReadSize(&bytes);
            size = sizeof bins[i].regions;
            mallctlbymib(each.mib, each.length, &bins[i].regions, &size, NULL, 0);
        }
    }
    for (unsigned i = 0; i < count; i++) {
        regions.mib[STATS_BIN] = slabs.mib[STATS_BIN] = i;
        size_t room = zmallocMoveReadSize(&slabs) * bins[i].regions, used = zmallocMoveReadSize(&regions);
        if (room > used) holes += (room - used) * bins[i].bytes;
    }
    struct slabStats small;
    slabGetStats(&small);
    return holes + small.active - small.used;
}

#else

bool zmallocCanMove(void) {
    return false;
}

void *zmallocMove(void *priv, void *ptr) {
    (void)priv;
    return move_all ? zmallocMoveAnyway(ptr) : NULL;
}

size_t zmallocHoles(void) {
    return 0;
}

#endif
