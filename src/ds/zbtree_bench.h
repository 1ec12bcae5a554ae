/* SPDX-License-Identifier: BSD-3-Clause */
/* zbtree_bench.h - the benchmark of zbtree_test.c (--bench), which includes it: the same work for the B+ tree
 * and the skiplist. */
#pragma once

/* ---- Benchmark: the same work for both indexes, each with its search for members ---- */

struct zbtModelList {
    zskiplist order;
    hashtable members;
};
static struct str zbtreeTestNodeMember(const void *node) {
    return zslGetNodeElement(node);
}
static const struct hashtableType listType = {.entryKey = zbtreeTestNodeMember};

static void *listCreate(void) {
    struct zbtModelList *s = zmallocAligned(64, sizeof *s);
    zslInit(&s->order);
    hashtableInit(&s->members, &listType);
    return s;
}
static void *listInsert(void *s, struct str member, double score) {
    struct zbtModelList *l = s;
    uint64_t hash = hashBytes(member.ptr, member.len);
    if (!hashtableFindHashed(&l->members, member, hash))
        hashtableAddUnchecked(&l->members, zslInsert(&l->order, zscoreOf(score), member), hash);
    return s;
}
static double listScore(void *s, struct str member) {
    return zslGetNodeScore(hashtableFind(&((struct zbtModelList *)s)->members, member)).value;
}
static uint64_t listRank(void *s, struct str member) {
    struct zbtModelList *l = s;
    return zslGetRank(&l->order, hashtableFind(&l->members, member));
}
static double listAtRank(void *s, uint64_t rank) {
    return zslGetNodeScore(zslGetByRank(&((struct zbtModelList *)s)->order, rank)).value;
}
static double listSeek(void *s, double score) {
    struct zscoreRange r = {.min = score, .max = INFINITY};
    return zslGetNodeScore(zslFirstInScoreRange(&((struct zbtModelList *)s)->order, &r, NULL)).value;
}
static double listWalk(void *s) {
    double sum = 0;
    for (zskiplistNode *n = zslGetFirst(&((struct zbtModelList *)s)->order); n; n = zslGetNext(n))
        sum += zslGetNodeScore(n).value + zslGetNodeElement(n).ptr[0];
    return sum;
}
static void *listUpdate(void *s, struct str member, double score) {
    struct zbtModelList *l = s;
    zslUpdateScore(&l->order, hashtableFind(&l->members, member), zscoreOf(score));
    return s;
}
static void *listPop(void *s) {
    struct zbtModelList *l = s;
    zskiplistNode *n = zslGetFirst(&l->order);
    struct str member = zslGetNodeElement(n);
    hashtableRemoveEntry(&l->members, n, hashBytes(member.ptr, member.len));
    zslDelete(&l->order, n);
    return s;
}
static void *listErase(void *s, struct str member) {
    struct zbtModelList *l = s;
    uint64_t hash = hashBytes(member.ptr, member.len);
    zskiplistNode *n = hashtableFindHashed(&l->members, member, hash);
    hashtableRemoveEntry(&l->members, n, hash);
    zslDelete(&l->order, n);
    return s;
}
static void listFree(void *s) {
    struct zbtModelList *l = s;
    hashtableDestroy(&l->members);
    zslClear(&l->order);
    zfree(l);
}

static struct zbtPos treeFind(void *s, struct str member, uint64_t *hash) {
    *hash = hashBytes(member.ptr, member.len);
    return zbtFind(s, member, *hash);
}
static void *treeCreate(void) {
    return zbtCreate(0);
}
static void *treeInsert(void *s, struct str member, double score) {
    uint64_t hash;
    return treeFind(s, member, &hash).leaf ? s : zbtInsert(s, zscoreOf(score), member, hash);
}
static double treeScore(void *s, struct str member) {
    uint64_t hash;
    return zbtValue(treeFind(s, member, &hash));
}
static uint64_t treeRank(void *s, struct str member) {
    uint64_t hash;
    return zbtRank(s, treeFind(s, member, &hash));
}
static double treeAtRank(void *s, uint64_t rank) {
    struct zbtPos p = {NULL, 0};
    zbtAtRank(s, rank, &p);
    return zbtValue(p);
}
static double treeSeek(void *s, double score) {
    struct zscoreRange r = {.min = score, .max = INFINITY};
    struct zbtPos p = {NULL, 0};
    uint64_t rank_found;
    zbtSeekScore(s, &r, false, &p, &rank_found);
    return zbtValue(p);
}
static double treeWalk(void *s) {
    double sum = 0;
    struct zbtPos p = {NULL, 0};
    for (bool more = zbtAtRank(s, 0, &p); more; more = zbtStep(&p, false))
        sum += zbtValue(p) + zbtMember(p).ptr[0];
    return sum;
}
static void *treeUpdate(void *s, struct str member, double score) {
    uint64_t hash;
    struct zbtPos p = treeFind(s, member, &hash);
    return zbtValue(p) == score ? s : zbtUpdate(s, p, zscoreOf(score), hash);
}
static void *treePop(void *s) {
    struct zbtPos p = {NULL, 0};
    zbtAtRank(s, 0, &p);
    struct str member = zbtMember(p);
    return zbtErase(s, p, hashBytes(member.ptr, member.len));
}
static void *treeErase(void *s, struct str member) {
    uint64_t hash;
    struct zbtPos p = treeFind(s, member, &hash);
    return zbtErase(s, p, hash);
}
static void treeFree(void *s) {
    zbtFree(s);
}

struct side {
    const char *name;
    void *(*create)(void);
    void *(*insert)(void *s, struct str member, double score);
    double (*score)(void *s, struct str member);
    uint64_t (*rank)(void *s, struct str member);
    double (*atRank)(void *s, uint64_t rank);
    double (*seek)(void *s, double score);
    double (*walk)(void *s);
    void *(*update)(void *s, struct str member, double score);
    void *(*pop)(void *s);
    void *(*erase)(void *s, struct str member);
    void (*free)(void *s);
};
static const struct side sides[2] = {
    {"skiplist", listCreate, listInsert, listScore, listRank, listAtRank, listSeek, listWalk, listUpdate,
     listPop, listErase, listFree},
    {"btree", treeCreate, treeInsert, treeScore, treeRank, treeAtRank, treeSeek, treeWalk, treeUpdate,
     treePop, treeErase, treeFree},
};

enum zbtTestWork {
    IN_ORDER,
    FREE,
    AT_RANDOM,
    SCORE,
    RANK,
    AT_RANK,
    SEEK,
    WALK,
    UPDATE,
    ERASE_HALF,
    POP,
    WORKS
};
static const char *const work_names[WORKS] = {
    "insert in order", "free", "insert at random", "score",      "rank",         "by rank",
    "first in range",  "walk", "update, far away", "erase half", "pop the first"};

static double zbtreeTestNow(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

struct bench {
    const struct side *side;
    size_t sets, members, *order;
    void **set;
    double sink;
};

static void doWork(struct bench *b, enum zbtTestWork work, size_t k) {
    char buf[32];
    void **s = &b->set[k / b->members];
    size_t m = k % b->members;
    struct str member = zbtreeTestMemberName(buf, m);
    switch (work) {
    case IN_ORDER:
    case AT_RANDOM: *s = b->side->insert(*s, member, (double)m); break;
    case SCORE: b->sink += b->side->score(*s, member); break;
    case RANK: b->sink += (double)b->side->rank(*s, member); break;
    case AT_RANK: b->sink += b->side->atRank(*s, m); break;
    case SEEK: b->sink += b->side->seek(*s, (double)m); break;
    case UPDATE: *s = b->side->update(*s, member, (double)(k * 7919 % b->members)); break;
    case ERASE_HALF:
        if (m % 2) *s = b->side->erase(*s, member);
        break;
    case POP:
        if (m % 2) *s = b->side->pop(*s);
        break;
    default: break;
    }
}

static double timeWork(struct bench *b, enum zbtTestWork work) {
    size_t total = b->sets * b->members;
    double t = zbtreeTestNow();
    if (work == IN_ORDER || work == POP)
        for (size_t k = 0; k < total; k++) doWork(b, work, k);
    else if (work == FREE)
        for (size_t i = 0; i < b->sets; i++) b->side->free(b->set[i]), b->set[i] = b->side->create();
    else if (work == WALK)
        for (size_t i = 0; i < b->sets; i++) b->sink += b->side->walk(b->set[i]);
    else
        for (size_t i = 0; i < total; i++) doWork(b, work, b->order[i]);
    return (zbtreeTestNow() - t) / (double)total;
}

static void zbtreeTestBench(size_t n_sets, size_t members) {
    size_t total = n_sets * members;
    double ns[2][WORKS], bytes[2][2];
    size_t *order = shuffledUpTo(total);
    for (int i = 0; i < 2; i++) {
        struct bench b = {&sides[i], n_sets, members, order, zmalloc(n_sets * sizeof(void *)), 0};
        size_t before = zmallocUsedMemory();
        for (size_t k = 0; k < n_sets; k++) b.set[k] = b.side->create();
        for (int w = 0; w < WORKS; w++) {
            ns[i][w] = timeWork(&b, w);
            if (w == IN_ORDER || w == AT_RANDOM)
                bytes[i][w == AT_RANDOM] = (double)(zmallocUsedMemory() - before) / (double)total;
        }
        for (size_t k = 0; k < n_sets; k++) b.side->free(b.set[k]);
        zfree(b.set);
        if (b.sink == 42) printf(" ");
    }
    printf("%zu x %zu members                skiplist     btree\n", n_sets, members);
    for (int w = 0; w < WORKS; w++) printf("  %-22s %10.1f %9.1f ns\n", work_names[w], ns[0][w], ns[1][w]);
    for (int w = 0; w < 2; w++)
        printf("  %-22s %10.1f %9.1f bytes per member\n", w ? "  at random" : "size in order", bytes[0][w],
               bytes[1][w]);
    zfree(order);
}
