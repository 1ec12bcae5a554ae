/* SPDX-License-Identifier: BSD-3-Clause */
/* slab.c - small allocations in classes of 8 bytes; slab.h says which thread may do what.
 *
 *     one reservation   | struct slab 0, 1, 2 ...       | slab 0    | slab 1    | slab 2    | ...
 *                       usable so far ───────▶ : not yet  32 KiB of one class each
 *
 *     a slab            |#|#| |#| |#|#| |#|             |   carved a page at a time, as it is needed
 *                        ▲     └─┴─ free: the owner's list, through the allocations themselves
 *                        └ remote: a list of what other threads have freed; its head and its length are
 *                          one word, exchanged by compare-and-swap, and the owner takes it as a whole
 *
 *     a class           current: the one slab that is allocated from, until it has nothing left
 *                       bins:    the others with free allocations, by quarters of fullness; the next one is
 *                                of the fullest bin, so that sparse slabs run empty. Full ones are in no list
 *     the pool          slabs of no class: dirty (with their pages, newest first) and clean (without)
 *
 * The idea: no step of an allocation has to check for other threads, because only one thread allocates. Its
 * frees are plain stores, and it finds later what others have freed. The first other thread that frees in a
 * slab puts the slab into a list (remote_slabs): the bit QUEUED in `remote` says that it is there, or soon
 * will be. Such a slab is not given to the pool before the owner has found it in the list.
 *
 * A slab is only looked at (slabOnNotice) when its count has fallen so far that it belongs into another bin,
 * or into the pool. A full slab is not looked at before a 32nd of it is free, as otherwise a sequence of
 * frees and allocations would switch from slab to slab. */
#include "base/slab.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define BINS           4
#define LOOSE          0xff   /* in no bin */
#define NEVER          0xffff /* for `notice` */
#define CARVE_BYTES    4096
#define MAINTAIN_SLABS 4096
#define PURGE_SLABS    64 /* most slabs in one system call */
#define SHARE_NOTICE   32

/* `remote` holds the place of the first allocation of the list in units of 8 bytes, the number of
 * allocations, and the bit QUEUED. */
#define REMOTE_QUEUED    ((uint32_t)1 << 31)
#define REMOTE_SHIFT     12
#define REMOTE_ONE       ((uint32_t)1 << REMOTE_SHIFT)
#define REMOTE_AT(w)     ((size_t)((w) & (REMOTE_ONE - 1)) * 8)
#define REMOTE_LENGTH(w) (((w) & ~REMOTE_QUEUED) >> REMOTE_SHIFT)

_Static_assert(sizeof(struct slab) == 64, "one line of the cache");
_Static_assert(SLAB_BYTES / 8 <= REMOTE_ONE, "an allocation's place fits into `remote`");

enum poolState { IN_CLASS, DIRTY, PURGING, CLEAN };

static struct slab none; /* the empty slab that is current in a class without slabs */

struct slabHeap slab_heap;
__thread size_t slab_limit;
__thread uint64_t slab_remote_bytes;

/* Used by the owner only. */
static struct {
    struct slab *bins[BINS];
    uint32_t slabs; /* slabs of the class */
    /* allocations in these slabs; allocations freed by others that were taken in */
    uint64_t carved, taken_in;
} classes[SLAB_CLASSES];
static struct slab *draining; /* taken from remote_slabs, to be processed */

static _Alignas(64) struct slab *_Atomic remote_slabs;

static _Alignas(64) struct {
    pthread_mutex_t lock;
    struct slab *newest, *oldest; /* ends of the list of dirty slabs */
    struct slab *clean;
    size_t dirty, made; /* number of slabs in that list; number of usable ones in any state */
    size_t fresh;       /* number of these that have ever been used */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};
static _Atomic int64_t clock_ms;

static char *slabStartOf(const struct slab *s) {
    return (char *)slab_heap.base + ((size_t)(s - slab_heap.slabs) << SLAB_SHIFT);
}

static size_t slabPageBytes(void) {
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* ---- The pool ---- */

static void slabPoolLock(void) {
    pthread_mutex_lock(&pool.lock);
}
static void slabPoolUnlock(void) {
    pthread_mutex_unlock(&pool.lock);
}

/* Makes as many slabs usable as a page has descriptors. */
static bool slabPoolGrow(void) {
    size_t count = slabPageBytes() / sizeof(struct slab), made = pool.made;
    if ((made + count) << SLAB_SHIFT > slab_heap.size) return false;
    if (mprotect(&slab_heap.slabs[made], count * sizeof(struct slab), PROT_READ | PROT_WRITE) != 0 ||
        mprotect((char *)slab_heap.base + (made << SLAB_SHIFT), count << SLAB_SHIFT, PROT_READ | PROT_WRITE))
        return false;
    pool.made += count;
    return true;
}

static void slabRemoveDirty(struct slab *s) {
    *(s->prev ? &s->prev->next : &pool.newest) = s->next;
    *(s->next ? &s->next->prev : &pool.oldest) = s->prev;
    pool.dirty--;
}

/* Prefers a slab that still has its pages. */
static struct slab *slabPoolTake(void) {
    struct slab *s = NULL;
    slabPoolLock();
    if (pool.newest) {
        s = pool.newest;
        slabRemoveDirty(s);
    } else if (pool.clean) {
        s = pool.clean;
        pool.clean = s->next;
    } else if (pool.fresh < pool.made || slabPoolGrow()) {
        s = &slab_heap.slabs[pool.fresh++];
    }
    if (s) s->state = IN_CLASS;
    slabPoolUnlock();
    return s;
}

static void slabPoolGive(struct slab *s) {
    slabPoolLock();
    s->state = DIRTY;
    s->freed_ms = atomic_load_explicit(&clock_ms, memory_order_relaxed);
    s->prev = NULL;
    s->next = pool.newest;
    *(pool.newest ? &pool.newest->prev : &pool.oldest) = s;
    pool.newest = s;
    pool.dirty++;
    slabPoolUnlock();
}

static bool slabIsDue(const struct slab *s, int64_t by_ms) {
    return s->state == DIRTY && s->freed_ms <= by_ms;
}

/* Takes the oldest due slab and its due neighbours in memory. Returns how many there are from `*first` on. */
static size_t slabPoolTakeDue(int64_t by_ms, struct slab **first) {
    struct slab *from = pool.oldest;
    if (!from || !slabIsDue(from, by_ms)) return 0;
    struct slab *to = from + 1, *start = slab_heap.slabs, *end = start + pool.fresh;
    while (from > start && to - from < PURGE_SLABS && slabIsDue(from - 1, by_ms)) from--;
    while (to < end && to - from < PURGE_SLABS && slabIsDue(to, by_ms)) to++;
    for (struct slab *s = from; s < to; s++) {
        slabRemoveDirty(s);
        s->state = PURGING;
    }
    *first = from;
    return (size_t)(to - from);
}

void slabPurge(bool all) {
    int64_t by_ms = all ? INT64_MAX : atomic_load_explicit(&clock_ms, memory_order_relaxed) - SLAB_DECAY_MS;
    struct slab *first;
    size_t count;
    slabPoolLock();
    while ((count = slabPoolTakeDue(by_ms, &first)) > 0) {
        slabPoolUnlock();
        madvise(slabStartOf(first), count << SLAB_SHIFT, MADV_DONTNEED);
        slabPoolLock();
        for (size_t i = count; i-- > 0;) { /* so that the first of them is used first */
            first[i].state = CLEAN;
            first[i].next = pool.clean;
            pool.clean = &first[i];
        }
    }
    slabPoolUnlock();
}

/* ---- Bins (the owner's) ---- */

static unsigned slabIndexOf(const struct slab *s) {
    return (unsigned)(s->class - slab_heap.classes);
}

static void slabLeaveBin(struct slab *s) {
    if (s->bin == LOOSE) return;
    *(s->prev ? &s->prev->next : &classes[slabIndexOf(s)].bins[s->bin]) = s->next;
    if (s->next) s->next->prev = s->prev;
    s->bin = LOOSE;
}

static void slabEnterBin(struct slab *s, unsigned bin) {
    struct slab **head = &classes[slabIndexOf(s)].bins[bin];
    s->bin = (uint8_t)bin;
    s->prev = NULL;
    s->next = *head;
    if (*head) (*head)->prev = s;
    *head = s;
    s->notice = (uint16_t)(s->capacity * bin / BINS);
}

static void slabRelease(struct slab *s) {
    slabLeaveBin(s);
    classes[slabIndexOf(s)].slabs--;
    classes[slabIndexOf(s)].carved -= s->carved;
    slabPoolGive(s);
}

/* Puts a slab, which is not current and not full, into the bin where it belongs. While it is queued, it stays
 * in the last bin even if it is empty. */
void slabOnNotice(struct slab *s) {
    if (s->used > 0) {
        slabLeaveBin(s);
        slabEnterBin(s, (s->used * BINS - 1u) / s->capacity);
    } else if (atomic_load_explicit(&s->remote, memory_order_relaxed) == 0) {
        slabRelease(s);
    } else {
        slabLeaveBin(s);
        slabEnterBin(s, 0);
        s->notice = NEVER;
    }
}

/* ---- What others have freed ---- */

static void **slabLastOf(void *list) {
    void **p = list;
    while (*p) p = *p;
    return p;
}

/* Joins the list in `word` to the owner's, walking the shorter one to its end: usually one is empty. */
static void slabTakeIn(struct slab *s, uint32_t word) {
    uint32_t count = REMOTE_LENGTH(word);
    void *list = slabStartOf(s) + REMOTE_AT(word);
    if (!count) return;
    if (s->free) {
        bool own_is_shorter = (uint32_t)(s->carved - s->used) < count;
        void *shorter = own_is_shorter ? s->free : list, *longer = own_is_shorter ? list : s->free;
        *slabLastOf(shorter) = longer;
        list = shorter;
    }
    s->free = list;
    s->used = (uint16_t)(s->used - count);
    classes[slabIndexOf(s)].taken_in += count;
}

/* Takes in what others have freed in this slab, which stays in the list of slabs. */
static bool slabTakeRemote(struct slab *s) {
    if (!REMOTE_LENGTH(atomic_load_explicit(&s->remote, memory_order_relaxed))) return false;
    slabTakeIn(s, atomic_fetch_and_explicit(&s->remote, REMOTE_QUEUED, memory_order_acquire));
    return true;
}

/* Takes in what others have freed, in up to `slabs` slabs. */
static void slabDrain(size_t slabs) {
    if (!draining) {
        if (!atomic_load_explicit(&remote_slabs, memory_order_relaxed)) return;
        draining = atomic_exchange_explicit(&remote_slabs, NULL, memory_order_acquire);
    }
    while (draining && slabs-- > 0) {
        struct slab *s = draining;
        draining = s->next_remote; /* before others may queue it again */
        if (draining) __builtin_prefetch(draining);
        slabTakeIn(s, atomic_exchange_explicit(&s->remote, 0, memory_order_acq_rel));
        if (s == s->class->current) continue;
        if (s->used == 0 || s->used <= s->notice) slabOnNotice(s);
    }
}

static void slabQueueRemote(struct slab *s) {
    struct slab *head = atomic_load_explicit(&remote_slabs, memory_order_relaxed);
    do {
        s->next_remote = head;
    } while (!atomic_compare_exchange_weak_explicit(&remote_slabs, &head, s, memory_order_release,
                                                    memory_order_relaxed));
}

__attribute__((noinline)) void slabFreeRemote(struct slab *s, void *p) {
    uint32_t at = (uint32_t)((char *)p - slabStartOf(s)) / 8;
    uint32_t word = atomic_load_explicit(&s->remote, memory_order_relaxed), now;
    do {
        *(void **)p = REMOTE_LENGTH(word) ? slabStartOf(s) + REMOTE_AT(word) : NULL;
        now = REMOTE_QUEUED | (REMOTE_LENGTH(word) + 1) << REMOTE_SHIFT | at;
    } while (!atomic_compare_exchange_weak_explicit(&s->remote, &word, now, memory_order_acq_rel,
                                                    memory_order_relaxed));
    uint64_t freed = slab_remote_bytes + slabBytesOf(s);
    __atomic_store_n(&slab_remote_bytes, freed, __ATOMIC_RELAXED);
    if (!(word & REMOTE_QUEUED)) slabQueueRemote(s);
}

/* ---- Allocating ---- */

/* Cuts the next page of the slab, or the rest of this one, into allocations. */
static bool slabCarve(struct slab *s) {
    size_t bytes = slabBytesOf(s), left = (size_t)(s->capacity - s->carved);
    if (left == 0) return false;
    size_t n = left < CARVE_BYTES / bytes ? left : CARVE_BYTES / bytes;
    char *first = slabStartOf(s) + s->carved * bytes, *last = first + (n - 1) * bytes;
    for (char *p = first; p < last; p += bytes) *(void **)p = p + bytes;
    *(void **)last = NULL;
    s->free = first;
    s->carved = (uint16_t)(s->carved + n);
    classes[slabIndexOf(s)].carved += n;
    return true;
}

static struct slab *slabNew(unsigned class) {
    struct slab *s = slabPoolTake();
    if (!s) return NULL;
    s->class = &slab_heap.classes[class];
    s->bytes = (uint16_t)((class + 1) * 8);
    s->bin = LOOSE;
    s->capacity = (uint16_t)(SLAB_BYTES / slabBytesOf(s));
    s->used = s->carved = 0;
    s->free = NULL;
    classes[class].slabs++;
    slabCarve(s);
    return s;
}

/* Replaces the current slab, which is full. */
static struct slab *slabNext(unsigned class) {
    struct slab *s = NULL, *full = slab_heap.classes[class].current;
    for (int bin = BINS - 1; bin >= 0 && !s; bin--) s = classes[class].bins[bin];
    if (s)
        slabLeaveBin(s);
    else if (!(s = slabNew(class)))
        return NULL;
    unsigned share = full->capacity / SHARE_NOTICE;
    full->notice = (uint16_t)(full->capacity - (share ? share : 1));
    s->notice = NEVER;
    return slab_heap.classes[class].current = s;
}

__attribute__((noinline)) void *slabRefill(size_t size) {
    unsigned class = (unsigned)((size - 1) / 8);
    struct slab *s = slab_heap.classes[class].current;
    if (!slabTakeRemote(s) && !slabCarve(s)) {
        slabDrain(SLAB_DRAIN_MAX);
        if (!s->free && !slabNext(class)) return NULL;
    }
    return slabTake(size);
}

/* ---- Moving ---- */

/* The rule is jemalloc's: an allocation moves if its slab is no fuller than the average and the
 * holes of the class make up a slab. The current slab is where the others move to: its holes count,
 * but not for the average. */
bool slabShouldMove(const void *p) {
    const struct slab *s = slabOf(p), *current = s->class->current;
    if (s == current || s->used == s->capacity) return false;
    uint64_t slabs = classes[slabIndexOf(s)].slabs, used = s->class->used - classes[slabIndexOf(s)].taken_in;
    if (slabs * s->capacity - used <= s->capacity) return false;
    return s->used * (slabs - (current != &none)) <= used - current->used;
}

/* ---- Start, maintenance, statistics ---- */

bool slabStart(size_t range) {
    serverAssert(slab_heap.size == 0);
    size_t about = (range >> SLAB_SHIFT) * sizeof(struct slab), align = (size_t)2 << 20;
    void *p =
        mmap(NULL, about + range + align, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return false;
    slab_heap.slabs = p;
    slab_heap.base = ((uintptr_t)p + about + align - 1) & ~(align - 1);
    slab_heap.size = range;
    for (unsigned i = 0; i < SLAB_CLASSES; i++) slab_heap.classes[i].current = &none;
    pthread_atfork(slabPoolLock, slabPoolUnlock, slabPoolUnlock);
    slab_limit = SLAB_MAX;
    return true;
}

/* A current slab may be empty, but should not stay so for long. */
static void slabReleaseEmpty(struct slabClass *c) {
    struct slab *s = c->current;
    if (s == &none || s->used || atomic_load_explicit(&s->remote, memory_order_relaxed)) return;
    c->current = &none;
    slabRelease(s);
}

bool slabMaintain(int64_t now_ms) {
    atomic_store_explicit(&clock_ms, now_ms, memory_order_relaxed);
    slabDrain(MAINTAIN_SLABS);
    for (unsigned i = 0; i < SLAB_CLASSES; i++) slabReleaseEmpty(&slab_heap.classes[i]);
    slabPoolLock();
    bool due = pool.oldest && slabIsDue(pool.oldest, now_ms - SLAB_DECAY_MS);
    slabPoolUnlock();
    return due;
}

void slabGetStats(struct slabStats *out) {
    *out = (struct slabStats){0};
    for (unsigned i = 0; i < SLAB_CLASSES; i++) {
        size_t bytes = ((size_t)i + 1) * 8;
        out->used += (slab_heap.classes[i].used - classes[i].taken_in) * bytes;
        out->active += classes[i].carved * bytes;
    }
    slabPoolLock();
    out->resident = out->active + (pool.dirty << SLAB_SHIFT) + pool.made * sizeof(struct slab);
    slabPoolUnlock();
}

void slabReport(void (*write)(void *priv, const char *text), void *priv) {
    char line[160];
    struct slabStats stats;
    slabGetStats(&stats);
    snprintf(line, sizeof line,
             "Slabs of %zu KiB for up to %d bytes: %zu bytes used, %zu active, %zu resident\n"
             "bytes   slabs     carved       used\n",
             SLAB_BYTES / 1024, SLAB_MAX, stats.used, stats.active, stats.resident);
    write(priv, line);
    for (unsigned i = 0; i < SLAB_CLASSES; i++) {
        if (!classes[i].slabs) continue;
        snprintf(line, sizeof line, "%5u %7" PRIu32 " %10" PRIu64 " %10" PRIu64 "\n", (i + 1) * 8,
                 classes[i].slabs, classes[i].carved, slab_heap.classes[i].used - classes[i].taken_in);
        write(priv, line);
    }
}

/* ---- Checks ---- */

static bool slabIsIn(const void *list, const void *p) {
    for (; list; list = *(void *const *)list)
        if (list == p) return true;
    return false;
}

/* Asserts that p was returned by slabAlloc and has not been freed. */
void slabCheckFree(const struct slab *s, const void *p) {
    size_t at = (size_t)((const char *)p - slabStartOf(s));
    serverAssert(at % slabBytesOf(s) == 0 && at / slabBytesOf(s) < s->carved);
    serverAssert(!slabIsIn(s->free, p));
}

static size_t slabVerifyList(const struct slab *s, const void *list) {
    size_t n = 0;
    for (; list; list = *(void *const *)list, n++) {
        size_t at = (size_t)((const char *)list - slabStartOf(s));
        serverAssert(at % slabBytesOf(s) == 0 && at / slabBytesOf(s) < s->carved && n < s->carved);
    }
    return n;
}

static void slabVerifyOne(const struct slab *s) {
    uint32_t word = atomic_load_explicit(&s->remote, memory_order_acquire);
    bool current = s == s->class->current;
    serverAssert(slabVerifyList(s, s->free) == (size_t)(s->carved - s->used));
    serverAssert(!REMOTE_LENGTH(word) ||
                 (slabVerifyList(s, slabStartOf(s) + REMOTE_AT(word)) == REMOTE_LENGTH(word) &&
                  REMOTE_LENGTH(word) <= s->used && (word & REMOTE_QUEUED)));
    serverAssert(s->carved <= s->capacity && (s->used > 0 || current || (word & REMOTE_QUEUED)));
    serverAssert(!current || (s->bin == LOOSE && s->notice == NEVER));
    serverAssert(s->bin == LOOSE || (s->free && s->carved == s->capacity));
    serverAssert(s->bin != LOOSE || current || s->used > s->notice);
}

void slabVerify(void) {
    size_t slabs[SLAB_CLASSES] = {0}, used[SLAB_CLASSES] = {0}, dirty = 0;
    slabPoolLock();
    for (size_t i = 0; i < pool.fresh; i++) {
        const struct slab *s = &slab_heap.slabs[i];
        if (s->state == DIRTY) dirty++;
        if (s->state != IN_CLASS) continue;
        slabVerifyOne(s);
        slabs[slabIndexOf(s)]++;
        used[slabIndexOf(s)] += s->used;
    }
    serverAssert(dirty == pool.dirty);
    slabPoolUnlock();
    uint64_t bytes = 0;
    for (unsigned i = 0; i < SLAB_CLASSES; i++) {
        serverAssert(slabs[i] == classes[i].slabs &&
                     used[i] == slab_heap.classes[i].used - classes[i].taken_in);
        bytes += slab_heap.classes[i].used * (i + 1) * 8;
    }
    serverAssert(bytes == slab_heap.bytes);
}
