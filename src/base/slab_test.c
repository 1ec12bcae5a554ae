/* SPDX-License-Identifier: BSD-3-Clause */
/* slab_test.c - slabs against a model: it is known which bytes are held, every allocation is filled with a
 * mark of its own, and all lists are verified repeatedly. Other threads free; children do both. */
#include "base/slab.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/model_ops.h"
#include "base/random.h"

#define RANGE        ((size_t)1 << 28) /* used when zmalloc has not started the layer */
#define HELD         20000
#define VERIFY_EVERY 5000
#define THREADS      3
#define BASKET       64 /* allocations handed over at once */

struct held {
    unsigned char *p;
    size_t size;
    unsigned char mark;
};

static struct held held[HELD];
static size_t held_bytes;

static void slabTestFill(struct held *h, size_t size) {
    *h = (struct held){slabAlloc(size), size, (unsigned char)randomBelow(256)};
    assert_non_null(h->p);
    memset(h->p, h->mark, size);
    held_bytes += slabRound(size);
}

static bool isWhole(const struct held *h) {
    for (size_t i = 0; i < h->size; i++)
        if (h->p[i] != h->mark) return false;
    return true;
}

static void slabTestGive(struct held *h) {
    assert_true(isWhole(h));
    held_bytes -= slabRound(h->size);
    slabFree(h->p);
    h->p = NULL;
}

static void giveAll(void) {
    for (size_t i = 0; i < HELD; i++)
        if (held[i].p) slabTestGive(&held[i]);
}

/* Few sizes are frequent, any is possible. */
static size_t pickSize(void) {
    switch (randomBelow(4)) {
    case 0: return 1 + randomBelow(SLAB_MAX);
    case 1: return 24;
    case 2: return 40 + randomBelow(20);
    default: return 1 + randomBelow(64);
    }
}

static size_t activeBytes(void) {
    struct slabStats stats;
    slabGetStats(&stats);
    return stats.active;
}

static bool slabTestTend(int64_t passed_ms) {
    static int64_t now_ms = 1000;
    return slabMaintain(now_ms += passed_ms);
}

/* ---- Alone ---- */

static void sizesAndPlaces(void **state) {
    (void)state;
    for (size_t size = 1; size <= SLAB_MAX; size++) {
        char *a = slabAlloc(size), *b = slabAlloc(size);
        size_t bytes = slabBytesOf(slabOf(a));
        assert_true(slabHas(a) && slabHas(b) && slabOf(b)->class == slabOf(a)->class);
        assert_int_equal(bytes, (size + 7) / 8 * 8);
        assert_true(a + bytes <= b || b + bytes <= a);
        assert_int_equal((uintptr_t)a % (bytes & -bytes), 0);
        slabFree(a);
        assert_ptr_equal(slabAlloc(size), a); /* the latest is still in the cache */
        slabFree(a);
        slabFree(b);
    }
    slabVerify();
    char apart[8];
    assert_false(slabHas(apart) || slabHas(NULL) || slabHas(malloc));
}

/* Makes the number of held allocations grow and shrink in turn. */
static void randomOrder(void **state) {
    (void)state;
    uint64_t before = slabOwnerBytes();
    for (uint64_t n = modelOps(), i = 0; i < n; i++) {
        struct held *h = &held[randomBelow(HELD)];
        bool grows = i / (HELD * 4) % 2 == 0;
        if (h->p && (!grows || randomBelow(4) == 0))
            slabTestGive(h);
        else if (!h->p && (grows || randomBelow(4) == 0))
            slabTestFill(h, pickSize());
        assert_true(slabOwnerBytes() == before + held_bytes);
        if (i % VERIFY_EVERY == 0) slabVerify();
    }
    giveAll();
    slabVerify();
    assert_true(slabOwnerBytes() == before);
}

/* All slabs except the current one of each class go to the pool, and return to the system in time. */
static void emptySlabsGoBack(void **state) {
    (void)state;
    slabTestTend(0);
    slabPurge(true);
    size_t active = activeBytes();
    for (size_t i = 0; i < HELD; i++) slabTestFill(&held[i], 100);
    assert_true(activeBytes() >= active + HELD * 104 - SLAB_BYTES);
    giveAll();
    assert_true(activeBytes() <= active + SLAB_BYTES);
    slabTestTend(0);
    assert_true(activeBytes() <= active);
    struct slabStats stats;
    slabGetStats(&stats);
    size_t resident = stats.resident;
    assert_true(resident >= HELD * 104 - SLAB_BYTES);
    assert_false(slabTestTend(SLAB_DECAY_MS - 1));
    slabPurge(false);
    slabGetStats(&stats);
    assert_true(stats.resident == resident);
    assert_true(slabTestTend(1));
    slabPurge(false);
    slabGetStats(&stats);
    assert_true(stats.resident <= resident - HELD * 104 + 2 * SLAB_BYTES);
    assert_false(slabTestTend(0));
    slabVerify();
    for (size_t i = 0; i < HELD; i++) slabTestFill(&held[i], 200); /* the same slabs with another class */
    slabVerify();
    giveAll();
}

/* Each scattered allocation is moved if slabShouldMove says so; then the rest fits into few slabs. */
static void scatteredOnesMove(void **state) {
    (void)state;
    size_t sizes[] = {16, 24, 104, 360};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        size_t active = activeBytes(), size = sizes[s];
        for (size_t i = 0; i < HELD; i++) slabTestFill(&held[i], size);
        for (size_t i = 0; i < HELD; i++)
            if (i % 5 || randomBelow(2)) slabTestGive(&held[i]);
        for (int pass = 0; pass < 4; pass++) {
            for (size_t i = 0; i < HELD; i++) {
                if (!held[i].p || !slabShouldMove(held[i].p)) continue;
                struct held now = held[i];
                now.p = slabAlloc(size);
                memcpy(now.p, held[i].p, size);
                slabFree(held[i].p);
                held[i] = now;
            }
        }
        slabVerify();
        assert_true(activeBytes() <= active + held_bytes * 5 / 4 + 3 * SLAB_BYTES);
        giveAll();
    }
}

/* ---- Other threads ---- */

struct basket {
    struct basket *next;
    size_t count;
    struct held of[BASKET];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct basket *baskets;
static bool over;
static uint64_t freed_elsewhere;

static struct basket *takeBasket(bool *end) {
    pthread_mutex_lock(&lock);
    struct basket *b = baskets;
    if (b) baskets = b->next;
    *end = over && !b;
    pthread_mutex_unlock(&lock);
    return b;
}

static void *slabTestFreeing(void *broken) {
    bool end = false;
    while (!end) {
        struct basket *b = takeBasket(&end);
        if (!b) continue;
        for (size_t i = 0; i < b->count; i++) {
            if (!isWhole(&b->of[i])) __atomic_store_n((bool *)broken, true, __ATOMIC_RELAXED);
            slabFree(b->of[i].p);
        }
        free(b);
    }
    __atomic_add_fetch(&freed_elsewhere, slab_remote_bytes, __ATOMIC_RELAXED);
    return NULL;
}

static void slabTestHandOver(struct basket *b) {
    pthread_mutex_lock(&lock);
    b->next = baskets;
    baskets = b;
    pthread_mutex_unlock(&lock);
}

static struct basket *newBasket(void) {
    struct basket *b = malloc(sizeof *b);
    assert_non_null(b);
    b->count = 0;
    return b;
}

static void putIn(struct basket **b, struct held *h) {
    (*b)->of[(*b)->count++] = *h;
    held_bytes -= slabRound(h->size);
    h->p = NULL;
    if ((*b)->count < BASKET) return;
    slabTestHandOver(*b);
    *b = newBasket();
}

static void startThreads(pthread_t *threads, bool *broken) {
    over = *broken = false;
    freed_elsewhere = 0;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, slabTestFreeing, broken), 0);
}

static void endThreads(const pthread_t *threads, struct basket *last, const bool *broken) {
    slabTestHandOver(last);
    pthread_mutex_lock(&lock);
    over = true;
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    assert_false(*broken);
}

/* One step of the owner, which frees half of the allocations itself. */
static void slabTestStep(uint64_t i, struct basket **b) {
    struct held *h = &held[randomBelow(HELD)];
    if (!h->p)
        slabTestFill(h, pickSize());
    else if (randomBelow(2))
        slabTestGive(h);
    else
        putIn(b, h);
    if (i % 1000 == 0) slabTestTend(100);
}

static void othersFree(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    bool broken;
    uint64_t before = slabOwnerBytes();
    startThreads(threads, &broken);
    struct basket *b = newBasket();
    for (uint64_t n = modelOps(), i = 0; i < n; i++) {
        slabTestStep(i, &b);
        if (i % 10000 == 0) slabPurge(false);
    }
    endThreads(threads, b, &broken);
    assert_true(slabOwnerBytes() - freed_elsewhere == before + held_bytes);
    slabVerify();
    giveAll();
    slabTestTend(0);
    slabVerify();
    assert_true(slabOwnerBytes() - freed_elsewhere == before);
}

/* Another thread frees everything, as FLUSHALL ASYNC does. */
static void allIsFreedElsewhere(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    bool broken;
    slabTestTend(0);
    size_t active = activeBytes();
    for (size_t i = 0; i < HELD; i++) slabTestFill(&held[i], 48);
    struct basket *b = newBasket();
    startThreads(threads, &broken);
    for (size_t i = 0; i < HELD; i++) putIn(&b, &held[i]);
    endThreads(threads, b, &broken);
    slabVerify();
    slabTestTend(0);
    slabVerify();
    assert_true(activeBytes() <= active + SLAB_BYTES);
}

static void *freeOneOfEach(void *of) {
    for (void **p = of; *p; p++) slabFree(*p);
    return NULL;
}

/* A slab in which others have freed, and which becomes empty before the owner reaches it in the list, must
 * not be in the pool as well. */
static void emptyBeforeItsTurn(void **state) {
    (void)state;
    enum { EACH = SLAB_BYTES / SLAB_MAX, SLABS = SLAB_DRAIN_MAX + 20 };
    static void *all[SLABS][EACH], *one[SLABS + 1];
    for (int i = 0; i < SLABS; i++)
        for (int k = 0; k < EACH; k++) all[i][k] = slabAlloc(SLAB_MAX);
    struct slab *s = slabOf(all[SLABS - 1][EACH - 1]); /* the slab that is allocated from now */
    int rest = EACH - s->used;
    for (int k = 0; k < rest; k++) assert_ptr_equal(slabOf(slabAlloc(SLAB_MAX)), s);
    for (int i = 0; i < SLABS; i++) one[i] = all[SLABS - 1 - i][EACH - 1];
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, freeOneOfEach, one), 0);
    pthread_join(thread, NULL);
    void *again = slabAlloc(SLAB_MAX), *next = slabAlloc(SLAB_MAX);
    assert_ptr_equal(slabOf(again), s);
    assert_true(slabOf(next) != s);
    for (char *p = (char *)((uintptr_t)again & ~(SLAB_BYTES - 1)), *end = p + SLAB_BYTES; p < end;
         p += SLAB_MAX)
        slabFree(p);
    slabVerify();
    slabTestTend(0);
    slabVerify();
    slabFree(next);
    for (int i = 0; i < SLABS; i++)
        for (int k = 0; k < EACH - 1; k++)
            if (slabOf(all[i][k]) != s) slabFree(all[i][k]);
    slabTestTend(0);
    slabVerify();
}

/* ---- Children ---- */

/* Runs `fn` in a child and returns how it ended; 0: without an error. */
static int inChild(void (*fn)(void)) {
    fflush(stdout);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (!freopen("/dev/null", "w", stderr)) _exit(1);
        alarm(60);
        fn();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void useMemory(void) {
    slabVerify();
    for (int i = 0; i < 20000; i++) {
        struct held *h = &held[randomBelow(HELD)];
        if (h->p && !isWhole(h)) _exit(1);
        if (h->p)
            slabFree(h->p), h->p = NULL;
        else
            slabTestFill(h, pickSize());
    }
    slabTestTend(0);
    slabVerify();
}

static void *slabTestPurging(void *end) {
    while (!__atomic_load_n((bool *)end, __ATOMIC_RELAXED)) slabPurge(true);
    return NULL;
}

static bool inValgrind(void) {
    const char *preloaded = getenv("LD_PRELOAD");
    return preloaded && strstr(preloaded, "vgpreload");
}

/* Children are forked wherever the other threads are, with the lock or without. */
static void childrenAllocateAndFree(void **state) {
    (void)state;
    if (inValgrind()) {
        print_message("skipped: in a child, valgrind takes for lost what only the other threads knew\n");
        skip();
    }
    pthread_t threads[THREADS], purger;
    bool broken, end = false;
    startThreads(threads, &broken);
    assert_int_equal(pthread_create(&purger, NULL, slabTestPurging, &end), 0);
    struct basket *b = newBasket();
    for (uint64_t i = 0; i < 200000; i++) {
        slabTestStep(i, &b);
        if (i % 10000 == 0) assert_int_equal(inChild(useMemory), 0);
    }
    __atomic_store_n(&end, true, __ATOMIC_RELAXED);
    pthread_join(purger, NULL);
    endThreads(threads, b, &broken);
    giveAll();
    slabTestTend(0);
    slabVerify();
}

static void freeTwice(void) {
    void *p = slabAlloc(40);
    slabFree(p);
    slabFree(p);
}

static void freeTwiceWithOthersBetween(void) {
    void *p = slabAlloc(40), *q = slabAlloc(40);
    slabCheckFree(slabOf(p), p);
    slabFree(p);
    slabFree(q);
    slabCheckFree(slabOf(p), p);
}

static void freeTheMiddle(void) {
    char *p = slabAlloc(40);
    slabCheckFree(slabOf(p), p + 8);
}

static void wrongFreesAreNoticed(void **state) {
    (void)state;
    void (*wrong[])(void) = {freeTwice, freeTwiceWithOthersBetween, freeTheMiddle};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int status = inChild(wrong[i]);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    }
}

/* A small range is used up; otherwise the system refuses more memory. */
static void slabTestTakeAll(void) {
    struct rlimit little = {16 << 20, 16 << 20};
    if (slab_heap.size > RANGE) setrlimit(RLIMIT_DATA, &little);
    void *p, *list = NULL;
    while ((p = slabAlloc(SLAB_MAX))) {
        *(void **)p = list;
        list = p;
    }
    slabVerify();
    while (list) {
        p = list;
        list = *(void **)p;
        slabFree(p);
    }
    slabVerify();
    if (!slabAlloc(SLAB_MAX) || !slabAlloc(8)) _exit(1);
}

static void noMoreMemory(void **state) {
    (void)state;
    assert_int_equal(inChild(slabTestTakeAll), 0);
}

int main(void) {
    modelSeed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizesAndPlaces),       cmocka_unit_test(randomOrder),
        cmocka_unit_test(emptySlabsGoBack),     cmocka_unit_test(scatteredOnesMove),
        cmocka_unit_test(othersFree),           cmocka_unit_test(allIsFreedElsewhere),
        cmocka_unit_test(emptyBeforeItsTurn),   cmocka_unit_test(childrenAllocateAndFree),
        cmocka_unit_test(wrongFreesAreNoticed), cmocka_unit_test(noMoreMemory),
    };
    if (!slab_heap.size && !slabStart(RANGE)) {
        print_message("skipped: no range of addresses\n");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
